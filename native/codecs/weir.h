// Weir inside: the layout of spec/weir.md as types, and the seam between the codec and the code that decodes and
// encodes one tile. Only weir*.cpp include this.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "base/image.h"

namespace penstock::weir {

static_assert(std::endian::native == std::endian::little, "numbers and samples are stored as they lie in memory");

inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::uint32_t kTileSide = 64;
inline constexpr std::uint32_t kLanes = 64;
inline constexpr std::uint32_t kGroupRows = 4;
inline constexpr std::uint32_t kMaxGroups = kTileSide / kGroupRows;
inline constexpr std::uint32_t kBlocks = 8;      // in a row
inline constexpr std::uint32_t kBlockLanes = 8;  // in a block
inline constexpr std::uint32_t kChunkLines = 8;
inline constexpr std::uint32_t kMaxPlanes = 4;
inline constexpr std::uint8_t kFirstCode = 4;
inline constexpr std::uint32_t kMaxQuotient = 15;
inline constexpr std::uint32_t kNumModes = 8;

enum class Profile : std::uint8_t { fast = 0, dense = 1 };

/// C of the specification: fast 8 or 16, dense 9 or 17.
[[nodiscard]] constexpr std::uint32_t highest_code(Profile profile, std::uint32_t sample_bytes) noexcept {
    return 8 * sample_bytes + (profile == Profile::dense ? 1 : 0);
}

// File -----------------------------------------------------------------------------------------------------------

/// The first 32 bytes, checked.
struct Header {
    Profile profile = Profile::fast;
    PixelShape shape;
    bool wide_offsets = false;
    std::uint32_t metadata_bytes = 0;
    std::uint32_t table_crc = 0;

    [[nodiscard]] std::uint64_t across() const noexcept { return (std::uint64_t{shape.width} + 63) / 64; }
    [[nodiscard]] std::uint64_t down() const noexcept { return (std::uint64_t{shape.height} + 63) / 64; }
    [[nodiscard]] std::uint64_t tiles() const noexcept { return across() * down(); }
    [[nodiscard]] std::uint64_t offset_bytes() const noexcept { return wide_offsets ? 8 : 4; }
    [[nodiscard]] std::uint64_t checksums_begin() const noexcept {
        return kHeaderBytes + offset_bytes() * (tiles() + 1);
    }
    [[nodiscard]] std::uint64_t metadata_begin() const noexcept { return checksums_begin() + 4 * tiles(); }
    [[nodiscard]] std::uint64_t tiles_begin() const noexcept { return metadata_begin() + metadata_bytes; }
};

/// Parses and checks the header; needs its 32 bytes only.
[[nodiscard]] Header read_header(ByteView data);

/// The tables behind the header. Keeps a view of `data`.
class Index {
  public:
    /// Checks that the tables are there and where tiles begin and end; with `verify`, their checksum too.
    Index(ByteView data, const Header& header, bool verify);

    /// The bytes of a tile; refuses offsets that do not ascend or reach outside the file.
    [[nodiscard]] ByteView tile(std::uint64_t index) const;
    [[nodiscard]] std::uint32_t checksum(std::uint64_t index) const noexcept;

  private:
    [[nodiscard]] std::uint64_t offset(std::uint64_t index) const noexcept;

    ByteView data_;
    Header header_;
};

/// Returns the content of the first metadata entry with this tag; empty if it does not exist. Refuses entries that do
/// not fit.
[[nodiscard]] ByteView find_metadata(ByteView data, const Header& header, std::string_view tag);

// Tile -----------------------------------------------------------------------------------------------------------

/// Properties that all tiles of an image share, and the size of this tile (1 to 64 each way).
struct TileShape {
    Profile profile = Profile::fast;
    std::uint8_t channels = 1;
    std::uint8_t sample_bytes = 1;
    std::uint8_t width = kTileSide;
    std::uint8_t height = kTileSide;

    [[nodiscard]] std::uint32_t groups() const noexcept { return (height + kGroupRows - 1) / kGroupRows; }
    /// Rows of codes: rows (fast) or groups (dense).
    [[nodiscard]] std::uint32_t lines() const noexcept { return profile == Profile::fast ? height : groups(); }
    [[nodiscard]] std::size_t pixel_bytes() const noexcept { return std::size_t{channels} * sample_bytes; }
};

/// Reason why a tile was refused.
enum class TileFault : std::uint8_t {
    none,
    head,     ///< flags that do not exist
    lengths,  ///< the parts do not fill the tile
    mode,     ///< above 7
    code,     ///< above the highest one
    control,  ///< control is longer or shorter than its length
    payload,  ///< so is the payload
    unary,    ///< so is a unary stream
};

/// Parts of a tile. `parse_tile` has checked that they fill the tile exactly, that flags and modes exist, and that a
/// constant plane has no unary stream.
struct TileParts {
    std::uint8_t transform = 0;
    std::uint8_t constant = 0;  ///< bit p: plane p is constant
    std::array<std::uint16_t, kMaxPlanes> base{};
    ByteView modes;  ///< of the planes that are not constant
    ByteView control;
    ByteView payload;
    std::array<ByteView, kMaxPlanes> unary;

    [[nodiscard]] bool all_constant(std::uint32_t channels) const noexcept { return constant == (1U << channels) - 1; }
};

[[nodiscard]] TileFault parse_tile(ByteView tile, const TileShape& shape, TileParts& parts) noexcept;

/// Bytes a tile decoder may read past the end of the tile; what it finds there has no influence on the result.
/// Sized so that a decoder may check its position once for each chunk of control (34 levels x 4 planes x 8 bytes)
/// instead of at every level.
inline constexpr std::size_t kTileSlack = 1280;

/// One tile to decode.
struct TileJob {
    TileShape shape;  ///< a smaller width than the tile has writes so much of each row
    TileParts parts;  ///< at least one plane is not constant; kTileSlack bytes are readable after the tile
    std::uint8_t* out = nullptr;
    std::size_t row_stride = 0;             ///< in bytes
    std::uint32_t wanted_rows = kTileSide;  ///< the rows below are not written; a decoder stops before it checks them

    [[nodiscard]] std::uint32_t wanted_groups() const noexcept {
        return std::min(shape.groups(), (wanted_rows + kGroupRows - 1) / kGroupRows);
    }
    [[nodiscard]] bool wants_all() const noexcept { return wanted_groups() == shape.groups(); }
    /// Rows of a group that are there and wanted.
    [[nodiscard]] std::uint32_t rows_to_write(std::uint32_t group) const noexcept {
        return std::min(kGroupRows, std::min<std::uint32_t>(shape.height, wanted_rows) - group * kGroupRows);
    }
};

/// Decodes a tile: writes shape.width x shape.height pixels, or fewer rows if fewer are wanted, and nothing beside
/// them.
///
/// Checks what `parse_tile` has not: codes, and that control, payload and unary streams are used up exactly. On a
/// fault the output may be written partly. Every path gives the same pixels and accepts the same tiles (which fault
/// is reported, if there are several, may differ).
using DecodeTile = TileFault (*)(const TileJob& job) noexcept;

TileFault decode_tile_plain(const TileJob& job) noexcept;
TileFault decode_tile_avx2(const TileJob& job) noexcept;
TileFault decode_tile_avx512(const TileJob& job) noexcept;
TileFault decode_tile_neon(const TileJob& job) noexcept;

/// The tile of a job whose planes are all constant.
void fill_tile(const TileJob& job) noexcept;

/// One tile to encode.
struct EncodeJob {
    TileShape shape;
    const std::uint8_t* pixels = nullptr;
    std::size_t row_stride = 0;  ///< in bytes
    int effort = 0;              ///< 1 to 3
};

/// Largest size of a tile, and the number of bytes that an encoder may write.
inline constexpr std::size_t kMaxTileBytes = 70 * 1024;

/// Encodes a tile to `out`, which has room for kMaxTileBytes; gives its length. Every path writes the same bytes.
using EncodeTile = std::size_t (*)(const EncodeJob& job, std::uint8_t* out) noexcept;

std::size_t encode_tile_plain(const EncodeJob& job, std::uint8_t* out) noexcept;
std::size_t encode_tile_avx2(const EncodeJob& job, std::uint8_t* out) noexcept;
std::size_t encode_tile_avx512(const EncodeJob& job, std::uint8_t* out) noexcept;
std::size_t encode_tile_neon(const EncodeJob& job, std::uint8_t* out) noexcept;

/// The encoder and the decoder of the active SIMD path.
[[nodiscard]] EncodeTile active_encode_tile() noexcept;
[[nodiscard]] DecodeTile active_decode_tile() noexcept;

// Image ----------------------------------------------------------------------------------------------------------

inline constexpr int kDefaultEffort = 2;

/// A whole file. `effort` trades time for size: 1 tries half of the modes, 2 all of them by an estimate, 3 by what they
/// really take.
[[nodiscard]] ByteBuffer encode_image(ConstImageView pixels, Profile profile, int effort);

}  // namespace penstock::weir
