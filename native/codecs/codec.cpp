#include "codecs/codec.h"

#include <charconv>

#include "base/error.h"

namespace penstock {

std::string_view Parameters::text(std::string_view key, std::string_view fallback) const {
    for (const auto& [name, value] : items_) {
        if (name == key) return value;
    }
    return fallback;
}

std::int64_t Parameters::integer(std::string_view key, std::int64_t fallback) const {
    const std::string_view value = text(key, "");
    if (value.empty()) return fallback;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size()) {
        throw Error(ErrorCode::bad_parameter, std::string(key) + "=" + std::string(value) + " is not a whole number",
                    "format", "write it as " + std::string(key) + "=N");
    }
    return number;
}

// Codecs that go row by row, or tile by tile, hold a few rows.
std::size_t Codec::working_bytes(const ImageInfo& info) const noexcept { return 64 * info.shape.row_bytes(); }

PixelShape Codec::decoded_shape(const ImageInfo& info, const DecodeOptions& options) const {
    PixelShape shape = info.shape;
    shape.width = (shape.width + options.scale - 1) / options.scale;
    shape.height = (shape.height + options.scale - 1) / options.scale;
    if (options.palette_indices && info.palette) {
        shape.channels = 1;
        shape.sample_bytes = 1;
    }
    return shape;
}

void check_same_image(std::string_view codec, const ImageInfo& now, const ImageInfo& planned) {
    if (now.shape == planned.shape && now.palette == planned.palette) return;
    throw Error(ErrorCode::corrupt, std::string(codec) + " header changed while the image was decoded",
                "header of the " + std::string(codec) + " data", "decode a copy, or stop writing to the memory");
}

std::string at_byte(std::string_view codec, std::size_t offset) {
    return "byte " + std::to_string(offset) + " of the " + std::string(codec) + " data";
}

}  // namespace penstock
