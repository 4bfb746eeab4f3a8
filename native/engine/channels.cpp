#include "engine/channels.h"

#include <cstring>

namespace penstock {

namespace {

// Pillow's weights, in 65536ths.
template <typename Sample>
Sample luma(const Sample* rgb) noexcept {
    const std::uint64_t sum =
        std::uint64_t{19595} * rgb[0] + std::uint64_t{38470} * rgb[1] + std::uint64_t{7471} * rgb[2];
    return static_cast<Sample>((sum + 0x8000) >> 16);
}

template <typename Sample>
void convert_row(const Sample* from, std::size_t from_channels, Sample* to, std::size_t to_channels,
                 std::size_t width) noexcept {
    const bool from_grey = from_channels <= 2;
    for (std::size_t x = 0; x < width; ++x, from += from_channels, to += to_channels) {
        if (to_channels == 1) {
            to[0] = from_grey ? from[0] : luma(from);
        } else {
            for (std::size_t c = 0; c < to_channels; ++c) to[c] = from[from_grey ? 0 : c];
        }
    }
}

}  // namespace

void convert_channels(ConstImageView pixels, ImageView out) noexcept {
    for (std::size_t y = 0; y < out.shape.height; ++y) {
        if (pixels.shape.channels == out.shape.channels) {
            std::memcpy(out.row(y), pixels.row(y), out.shape.row_bytes());
        } else if (out.shape.sample_bytes == 2) {
            convert_row(reinterpret_cast<const std::uint16_t*>(pixels.row(y)), pixels.shape.channels,
                        reinterpret_cast<std::uint16_t*>(out.row(y)), out.shape.channels, out.shape.width);
        } else {
            convert_row(pixels.row(y), pixels.shape.channels, out.row(y), out.shape.channels, out.shape.width);
        }
    }
}

}  // namespace penstock
