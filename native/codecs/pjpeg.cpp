// `pjpeg`: progressive JPEGs that may end after any scan. The bytes are a JPEG's, so content alone never says `pjpeg`:
// who wants a coarser image of fewer scans asks for this codec by name. Everything is done by the parts of `jpeg`.
#include <string>
#include <utility>
#include <vector>

#include "codecs/builtin.h"
#include "codecs/jpeg.h"

namespace penstock {

namespace {

class PjpegCodec final : public Codec {
  public:
    std::string_view name() const noexcept override { return "pjpeg"; }

    bool sniff(ByteView) const noexcept override { return false; }

    ImageInfo inspect(ByteView data) const override { return jpeg::inspect(data); }

    bool can_scale(std::uint32_t scale) const noexcept override {
        return scale == 1 || scale == 2 || scale == 4 || scale == 8;
    }

    std::size_t working_bytes(const ImageInfo& info) const noexcept override { return jpeg::working_bytes(info); }

    void decode(ByteView data, const ImageInfo& info, const DecodeOptions& options, ImageView out) const override {
        jpeg::decode(data, info, options, jpeg::Scans::any, out);
    }

    ByteBuffer encode(ConstImageView pixels, const Parameters& parameters) const override {
        const std::string quality(parameters.text("q", "95"));
        const std::string subsampling(parameters.text("subsampling", "420"));
        return jpeg::encode(
            pixels,
            Parameters({{"q", quality}, {"subsampling", subsampling}, {"progressive", "true"}, {"optimize", "true"}}));
    }
};

}  // namespace

const Codec& pjpeg_codec() noexcept {
    static const PjpegCodec codec;
    return codec;
}

}  // namespace penstock
