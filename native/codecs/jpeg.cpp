// `jpeg`: the codec's face. Decoding, encoding and transcoding have a file each, on libjpeg-turbo.
#include "codecs/jpeg.h"

#include "codecs/builtin.h"
#include "codecs/jpeg_header.h"

namespace penstock {

namespace {

std::string_view color_name(jpeg::Color color) {
    switch (color) {
        case jpeg::Color::grey: return "grey";
        case jpeg::Color::cmyk: return "cmyk";
        case jpeg::Color::ycck: return "ycck";
        default: return "rgb";
    }
}

class JpegCodec final : public Codec {
  public:
    std::string_view name() const noexcept override { return "jpeg"; }

    bool sniff(ByteView data) const noexcept override {
        return data.size() >= 3 && data[0] == 0xFF && data[1] == 0xD8 && data[2] == 0xFF;
    }

    ImageInfo inspect(ByteView data) const override { return jpeg::inspect(data); }

    bool can_scale(std::uint32_t scale) const noexcept override {
        return scale == 1 || scale == 2 || scale == 4 || scale == 8;
    }

    [[nodiscard]] std::size_t working_bytes(const ImageInfo& info) const noexcept override {
        return jpeg::working_bytes(info);
    }

    void decode(ByteView data, const ImageInfo& info, const DecodeOptions& options, ImageView out) const override {
        jpeg::decode(data, info, options, jpeg::Scans::all, out);
    }

    ByteBuffer encode(ConstImageView pixels, const Parameters& parameters) const override {
        return jpeg::encode(pixels, parameters);
    }
};

}  // namespace

ImageInfo jpeg::inspect(ByteView data) {
    const Header header = read_header(data);
    ImageInfo info;
    info.shape = {header.height, header.width, static_cast<std::uint8_t>(header.num_components == 1 ? 1 : 3), 1};
    info.depth = 8;
    info.orientation = header.orientation;
    info.lossless = false;
    info.color = color_name(header.color);
    info.buffered = header.progressive || !header.interleaved;
    info.variant = header.progressive ? "progressive" : "baseline";
    return info;
}

const Codec& jpeg_codec() noexcept {
    static const JpegCodec codec;
    return codec;
}

}  // namespace penstock
