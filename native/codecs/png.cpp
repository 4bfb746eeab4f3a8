// `png`: the codec's face to the contract. The container is in png_chunks, pixels come out in png_decode and go in in
// png_encode. Gamma, colour profiles and text are not looked at; of an animation the default image is decoded.
#include <cstring>
#include <string>

#include "base/error.h"
#include "codecs/builtin.h"
#include "codecs/exif.h"
#include "codecs/png_chunks.h"
#include "codecs/png_decode.h"
#include "codecs/png_encode.h"
#include "codecs/png_pixels.h"

namespace penstock {

namespace {

constexpr std::int64_t kDefaultLevel = 6;

std::string_view color_name(png::ColorType color) {
    switch (color) {
        case png::ColorType::grey: return "grey";
        case png::ColorType::rgb: return "rgb";
        case png::ColorType::palette: return "palette";
        case png::ColorType::grey_alpha: return "grey+alpha";
        case png::ColorType::rgb_alpha: return "rgb+alpha";
    }
    return "";
}

ImageInfo describe(const png::Chunks& chunks) {
    ImageInfo info;
    info.shape = png::decoded_shape(chunks);
    info.depth = chunks.header.depth;
    info.orientation = exif_orientation(chunks.exif);
    info.palette = chunks.header.color == png::ColorType::palette;
    info.color = color_name(chunks.header.color);
    info.variant = chunks.header.interlaced ? "interlaced" : "";
    return info;
}

class PngCodec final : public Codec {
  public:
    std::string_view name() const noexcept override { return "png"; }

    bool sniff(ByteView data) const noexcept override {
        return data.size() >= png::kSignature.size() &&
               std::memcmp(data.data(), png::kSignature.data(), png::kSignature.size()) == 0;
    }

    ImageInfo inspect(ByteView data) const override { return describe(png::read_description(data)); }

    // All rows are inflated at once, out of the pieces of the file joined to one.
    [[nodiscard]] std::size_t working_bytes(const ImageInfo& info) const noexcept override {
        return 2 * (info.shape.bytes() + info.shape.height) + Codec::working_bytes(info);
    }

    void decode(ByteView data, const ImageInfo& info, const DecodeOptions& options, ImageView out) const override {
        const png::Chunks chunks = png::read_chunks(data, options.verify);
        check_same_image(name(), describe(chunks), info);
        png::decode(chunks, options, out);
    }

    ByteBuffer encode(ConstImageView pixels, const Parameters& parameters) const override {
        const std::int64_t level = parameters.integer("level", kDefaultLevel);
        if (level < 0 || level > png::kMaxLevel) {
            throw Error(ErrorCode::bad_parameter, "level=" + std::to_string(level) + " is not from 0 to 12", "format",
                        "for example png:level=6");
        }
        return png::encode(pixels, static_cast<int>(level));
    }
};

}  // namespace

const Codec& png_codec() noexcept {
    static const PngCodec codec;
    return codec;
}

}  // namespace penstock
