// `sluice`: the coefficients of a JPEG, coded for vector instructions; restores the JPEG byte for byte. Format:
// spec/sluice.md.
//
// sluice_model.h           tokens, classes, neighbours
// sluice_tables.h          probabilities, and which of them this process knows
// sluice.h                 the layout as types, and the seam to the tile code
// sluice_file.cpp          header, offsets, quantisation: all lengths checked
// sluice_decode_plain.cpp  one tile, the one to read; sluice_decode_simd.h is its twin for vectors
// sluice_symbols.cpp       symbols of a tile; sluice_encode.cpp and sluice_train.cpp use them
// sluice_layers.h          two layers: a prefix of the file is a coarser image
// sluice_pixels.h          regions and scales
// sluice_transcode.h       from JPEG and back
#include "codecs/sluice.h"

#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"
#include "codecs/builtin.h"
#include "codecs/jpeg.h"
#include "codecs/sluice_pixels.h"
#include "codecs/sluice_transcode.h"

namespace penstock {

namespace {

class SluiceCodec final : public Codec {
  public:
    std::string_view name() const noexcept override { return "sluice"; }

    bool sniff(ByteView data) const noexcept override {
        return data.size() >= 4 && std::memcmp(data.data(), "SLUI", 4) == 0;
    }

    ImageInfo inspect(ByteView data) const override { return info_of(sluice::read_header(data)); }

    bool can_scale(std::uint32_t scale) const noexcept override {
        return scale == 1 || scale == 2 || scale == 4 || scale == 8;
    }

    std::size_t working_bytes(const ImageInfo& info) const noexcept override {
        return sluice::pixel_working_bytes(info.shape.width, info.shape.height, info.shape.channels);
    }

    void decode(ByteView data, const ImageInfo& info, const DecodeOptions& options, ImageView out) const override {
        const sluice::Header header = sluice::read_header(data);
        check_same_image(name(), info_of(header), info);
        const sluice::Index index(data, header, options.verify);
        const PixelShape whole = decoded_shape(info, options);
        const Region region = options.region.value_or(Region{0, 0, whole.height, whole.width});
        sluice::PixelReader reader(data, header, index, options);
        const std::uint64_t num_decoded = reader.read(region, out);
        if (options.counters != nullptr) *options.counters = {header.layout.tiles(), num_decoded};
    }

    ByteBuffer encode(ConstImageView pixels, const Parameters& parameters) const override {
        const std::string quality(parameters.text("q", "95"));
        const std::string subsampling(parameters.text("subsampling", "420"));
        const ByteBuffer coded = jpeg::encode(pixels, Parameters({{"q", quality}, {"subsampling", subsampling}}));
        sluice::TranscodeOptions options;
        options.layer_bits = sluice::layer_bits_of(parameters);
        return sluice::from_jpeg(coded.view(), options);
    }

  private:
    static ImageInfo info_of(const sluice::Header& header) {
        ImageInfo info;
        const bool grey = header.layout.num_components == 1;
        info.shape = {header.layout.height, header.layout.width, static_cast<std::uint8_t>(grey ? 1 : 3), 1};
        info.orientation = header.orientation;
        info.lossless = false;
        info.color = grey ? "grey" : "rgb";
        return info;
    }
};

}  // namespace

const Codec& sluice_codec() noexcept {
    static const SluiceCodec codec;
    return codec;
}

}  // namespace penstock
