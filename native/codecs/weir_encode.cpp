// Encodes a whole Weir file: header, tables, tiles.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/weir.h"

namespace penstock::weir {

namespace {

constexpr std::uint64_t kMaxNarrowOffset = 0xffffffff;

TileShape shape_of_tile(const Header& header, std::uint64_t index) {
    const auto left = static_cast<std::uint32_t>(index % header.across() * kTileSide);
    const auto top = static_cast<std::uint32_t>(index / header.across() * kTileSide);
    TileShape shape{header.profile, header.shape.channels, header.shape.sample_bytes, 0, 0};
    shape.width = static_cast<std::uint8_t>(std::min(kTileSide, header.shape.width - left));
    shape.height = static_cast<std::uint8_t>(std::min(kTileSide, header.shape.height - top));
    return shape;
}

void put_header(const Header& header, std::uint8_t* out) {
    std::memset(out, 0, kHeaderBytes);
    std::memcpy(out, "WEIR", 4);
    out[4] = 1;
    out[5] = static_cast<std::uint8_t>(header.profile);
    out[6] = header.shape.channels;
    out[7] = static_cast<std::uint8_t>(8 * header.shape.sample_bytes);
    std::memcpy(out + 8, &header.shape.width, 4);
    std::memcpy(out + 12, &header.shape.height, 4);
    out[16] = 6;
    out[17] = 6;
    out[18] = header.wide_offsets ? 1 : 0;
    std::memcpy(out + 20, &header.metadata_bytes, 4);
    std::memcpy(out + 24, &header.table_crc, 4);
    const std::uint32_t crc = crc32c({out, 28});
    std::memcpy(out + 28, &crc, 4);
}

}  // namespace

ByteBuffer encode_image(ConstImageView pixels, Profile profile, int effort) {
    Header header;
    header.profile = profile;
    header.shape = pixels.shape;
    // Incompressible tiles grow by less than a tenth.
    header.wide_offsets = pixels.shape.bytes() / 10 * 11 + header.tiles() * 128 > kMaxNarrowOffset;
    const EncodeTile encode_tile = active_encode_tile();
    ByteBuffer out(header.tiles_begin());
    for (std::uint64_t i = 0; i < header.tiles(); ++i) {
        EncodeJob job{shape_of_tile(header, i), nullptr, pixels.row_stride, effort};
        job.pixels =
            pixels.row(i / header.across() * kTileSide) + i % header.across() * kTileSide * job.shape.pixel_bytes();
        const std::uint64_t begin = out.size();
        out.resize(begin + kMaxTileBytes);
        const std::size_t size = encode_tile(job, out.data() + begin);
        out.resize(begin + size);
        const std::uint32_t crc = crc32c({out.data() + begin, size});
        std::memcpy(out.data() + kHeaderBytes + header.offset_bytes() * i, &begin, header.offset_bytes());
        std::memcpy(out.data() + header.checksums_begin() + 4 * i, &crc, 4);
    }
    const std::uint64_t end = out.size();
    std::memcpy(out.data() + kHeaderBytes + header.offset_bytes() * header.tiles(), &end, header.offset_bytes());
    const std::uint64_t begin = header.tiles_begin();
    header.table_crc = crc32c({out.data() + kHeaderBytes, begin - kHeaderBytes});
    put_header(header, out.data());
    return out;
}

}  // namespace penstock::weir
