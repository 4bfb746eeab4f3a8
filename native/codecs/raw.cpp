// `raw`: a 32-byte header and the pixels, row by row, so that a mapped file is an image without a copy.
//
//   0  4  magic "PRAW"
//   4  1  version, 1
//   5  1  channels, 1 to 4
//   6  1  bits per sample, 8 or 16
//   7  1  zero
//   8  4  width          12  4  height        (little-endian, as every number)
//  16  8  XXH3-64 of the pixel bytes
//  24  8  zero
//  32     height x width x channels samples, interleaved, little-endian
#include <array>
#include <bit>
#include <cstring>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "codecs/builtin.h"

namespace penstock {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers and pixels are stored as they lie in memory");

constexpr std::size_t kHeaderBytes = 32;
constexpr std::array<std::uint8_t, 4> kMagic{'P', 'R', 'A', 'W'};

std::uint32_t load_u32(const std::uint8_t* bytes) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

class RawCodec final : public Codec {
  public:
    std::string_view name() const noexcept override { return "raw"; }

    bool sniff(ByteView data) const noexcept override {
        return data.size() >= kMagic.size() && std::memcmp(data.data(), kMagic.data(), kMagic.size()) == 0;
    }

    ImageInfo inspect(ByteView data) const override {
        if (data.size() < kHeaderBytes) {
            throw Error(ErrorCode::truncated,
                        "raw data of " + std::to_string(data.size()) + " bytes is shorter than its 32-byte header",
                        at_byte("raw", data.size()), "the file is cut off: restore it from its source");
        }
        const std::uint8_t version = data[4];
        const std::uint8_t channels = data[5];
        const std::uint8_t bits = data[6];
        if (!sniff(data) || version != 1 || channels < 1 || channels > 4 || (bits != 8 && bits != 16)) {
            throw Error(ErrorCode::corrupt,
                        "raw header is not valid (version " + std::to_string(version) + ", channels " +
                            std::to_string(channels) + ", bits " + std::to_string(bits) + ")",
                        at_byte("raw", 4), "the file is damaged or newer than this version of penstock");
        }
        static constexpr std::array<std::string_view, 5> colors{"", "grey", "grey+alpha", "rgb", "rgb+alpha"};
        ImageInfo info;
        info.shape = {load_u32(&data[12]), load_u32(&data[8]), channels, static_cast<std::uint8_t>(bits / 8)};
        info.depth = bits;
        info.color = colors[channels];
        return info;
    }

    void decode(ByteView data, const ImageInfo& info, const DecodeOptions& options, ImageView out) const override {
        const std::size_t stride = info.shape.row_bytes();
        if (data.size() - kHeaderBytes != info.shape.bytes()) {
            const bool shorter = data.size() - kHeaderBytes < info.shape.bytes();
            throw Error(shorter ? ErrorCode::truncated : ErrorCode::corrupt,
                        "raw data holds " + std::to_string(data.size() - kHeaderBytes) +
                            " pixel bytes, its header says " + std::to_string(info.shape.bytes()),
                        at_byte("raw", data.size()), "the file is damaged: restore it from its source");
        }
        const std::uint8_t* pixels = data.data() + kHeaderBytes;
        // A region is meant to cost its own bytes only, so the hash is checked where every byte is read
        // anyway.
        if (options.verify && !options.region) check_hash(data, info.shape.bytes());
        const Region region = options.region.value_or(Region{0, 0, info.shape.height, info.shape.width});
        const std::size_t pixel_bytes = std::size_t{info.shape.channels} * info.shape.sample_bytes;
        for (std::uint32_t y = 0; y < region.height; ++y) {
            std::memcpy(out.row(y), pixels + (region.y + y) * stride + region.x * pixel_bytes,
                        region.width * pixel_bytes);
        }
        if (options.counters != nullptr) *options.counters = {info.shape.height, region.height};
    }

    ByteBuffer encode(ConstImageView pixels, const Parameters&) const override {
        const PixelShape& shape = pixels.shape;
        ByteBuffer out(kHeaderBytes + shape.bytes());
        std::uint8_t* header = out.data();
        std::memset(header, 0, kHeaderBytes);
        std::memcpy(header, kMagic.data(), kMagic.size());
        header[4] = 1;
        header[5] = shape.channels;
        header[6] = static_cast<std::uint8_t>(shape.sample_bytes * 8);
        std::memcpy(header + 8, &shape.width, 4);
        std::memcpy(header + 12, &shape.height, 4);
        for (std::uint32_t y = 0; y < shape.height; ++y) {
            std::memcpy(header + kHeaderBytes + y * shape.row_bytes(), pixels.row(y), shape.row_bytes());
        }
        const std::uint64_t hash = XXH3_64bits(header + kHeaderBytes, shape.bytes());
        std::memcpy(header + 16, &hash, 8);
        return out;
    }

  private:
    static void check_hash(ByteView data, std::size_t pixel_bytes) {
        std::uint64_t stored = 0;
        std::memcpy(&stored, data.data() + 16, 8);
        if (XXH3_64bits(data.data() + kHeaderBytes, pixel_bytes) != stored) {
            throw Error(ErrorCode::checksum, "pixels do not match their checksum", "pixel data of the raw image",
                        "the file is damaged: restore it from its source");
        }
    }
};

}  // namespace

const Codec& raw_codec() noexcept {
    static const RawCodec codec;
    return codec;
}

}  // namespace penstock
