// `pnm`: PBM, PGM and PPM, as text (P1 to P3) or bytes (P4 to P6), and PAM (P7) with 1 to 4 channels; read as sources.
// Samples are stretched so that the file's largest value becomes 255, or 65535 if it is above 255, rounded to the
// nearest; bitmaps become 0 and 255. A sample above the largest value is refused. Of several images the first is
// decoded. Nothing is written.
#include <cstring>
#include <string>

#include "base/error.h"
#include "codecs/builtin.h"
#include "codecs/indexed.h"
#include "codecs/pnm_header.h"

namespace penstock {

namespace {

using Byte = std::uint8_t;

constexpr const char* kRestore = "the file is damaged: restore it from its source";

// Stretches samples of one image and writes them.
class SampleWriter {
  public:
    explicit SampleWriter(const pnm::Header& header)
        : max_value_(header.max_value), top_(header.sample_bytes() == 2 ? 65535 : 255), bitmap_(header.is_bitmap()) {}

    [[nodiscard]] bool is_copy() const { return max_value_ == 255; }

    Byte* write(std::uint32_t sample, Byte* out) const {
        if (sample > max_value_) {
            throw Error(
                ErrorCode::corrupt,
                "sample " + std::to_string(sample) + " is above the largest value " + std::to_string(max_value_),
                "pixels of the pnm data", kRestore);
        }
        if (bitmap_) sample = 1 - sample;  // 1 is black
        const std::uint32_t value =
            static_cast<std::uint32_t>((std::uint64_t{sample} * top_ + max_value_ / 2) / max_value_);
        if (top_ == 255) {
            *out = static_cast<Byte>(value);
            return out + 1;
        }
        const auto wide = static_cast<std::uint16_t>(value);
        std::memcpy(out, &wide, 2);
        return out + 2;
    }

  private:
    std::uint32_t max_value_;
    std::uint32_t top_;
    bool bitmap_;
};

void decode_text(ByteView data, const pnm::Header& header, const Region& region, ImageView out) {
    pnm::TextReader text(data, header.pixel_offset);
    const SampleWriter writer(header);
    const std::size_t row_samples = std::size_t{header.width} * header.channels;
    const std::size_t begin = std::size_t{region.x} * header.channels;
    const std::size_t end = begin + std::size_t{region.width} * header.channels;
    for (std::uint32_t y = 0; y < region.y + region.height; ++y) {
        Byte* target = y < region.y ? nullptr : out.row(y - region.y);
        for (std::size_t i = 0; i < row_samples; ++i) {
            const std::uint32_t sample = header.kind == '1' ? text.bit() : text.number();
            if (target != nullptr && i >= begin && i < end) target = writer.write(sample, target);
        }
    }
}

void decode_samples(const SampleWriter& writer, const Byte* from, std::size_t sample_bytes, std::size_t count,
                    Byte* out) {
    if (writer.is_copy()) {
        std::memcpy(out, from, count);
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t sample = sample_bytes == 2 ? from[2 * i] << 8U | from[2 * i + 1] : from[i];
        out = writer.write(sample, out);
    }
}

void decode_bytes(ByteView data, const pnm::Header& header, const Region& region, ImageView out) {
    constexpr PixelTable bitmap_table{{{255}, {0}}};
    const std::size_t sample_bytes = header.sample_bytes();
    const std::size_t row_samples = std::size_t{header.width} * header.channels;
    const std::size_t row_bytes = header.is_bitmap() ? (row_samples + 7) / 8 : row_samples * sample_bytes;
    if ((data.size() - header.pixel_offset) / row_bytes < header.height) {
        throw Error(ErrorCode::truncated, "pnm data ends before its last row", at_byte("pnm", data.size()), kRestore);
    }
    const SampleWriter writer(header);
    for (std::uint32_t y = 0; y < region.height; ++y) {
        const Byte* row = data.data() + header.pixel_offset + (region.y + y) * row_bytes;
        if (header.is_bitmap()) {
            look_up_pixels(bitmap_table, 1, row, 1, region.x, region.width, out.row(y));
        } else {
            decode_samples(writer, row + std::size_t{region.x} * header.channels * sample_bytes, sample_bytes,
                           std::size_t{region.width} * header.channels, out.row(y));
        }
    }
}

ImageInfo describe(const pnm::Header& header) {
    static constexpr std::array<std::string_view, 5> colors{"", "grey", "grey+alpha", "rgb", "rgb+alpha"};
    ImageInfo info;
    info.shape = {header.height, header.width, static_cast<Byte>(header.channels), header.sample_bytes()};
    info.depth = header.max_value == 1 ? std::uint8_t{1} : static_cast<Byte>(header.sample_bytes() * 8);
    info.color = colors[header.channels];
    info.variant = header.is_text() ? "text" : "";
    return info;
}

class PnmCodec final : public Codec {
  public:
    std::string_view name() const noexcept override { return "pnm"; }

    bool sniff(ByteView data) const noexcept override { return pnm::is_pnm(data); }

    ImageInfo inspect(ByteView data) const override { return describe(pnm::read_header(data)); }

    void decode(ByteView data, const ImageInfo& info, const DecodeOptions& options, ImageView out) const override {
        const pnm::Header header = pnm::read_header(data);
        check_same_image(name(), describe(header), info);
        const Region region = options.region.value_or(Region{0, 0, header.height, header.width});
        if (header.is_text()) {
            decode_text(data, header, region, out);
        } else {
            decode_bytes(data, header, region, out);
        }
        if (options.counters != nullptr) {
            *options.counters = {header.height, header.is_text() ? region.y + region.height : region.height};
        }
    }

    ByteBuffer encode(ConstImageView, const Parameters&) const override {
        throw Error(ErrorCode::unsupported, "codec 'pnm' is read-only", "encode", "choose png or weir");
    }
};

}  // namespace

const Codec& pnm_codec() noexcept {
    static const PnmCodec codec;
    return codec;
}

}  // namespace penstock
