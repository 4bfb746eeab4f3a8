// Sluice inside: the layout of spec/sluice.md as types, and the seam between the codec and the code that decodes and
// encodes one tile. Only sluice*.cpp include this.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"
#include "codecs/jpeg_back.h"
#include "codecs/jpeg_coefficients.h"
#include "codecs/jpeg_group.h"
#include "codecs/sluice_model.h"
#include "codecs/sluice_tables.h"

namespace penstock::sluice {

using jpeg::Color;
using jpeg::Sampling;

static_assert(std::endian::native == std::endian::little, "numbers are stored as they lie in memory");

inline constexpr std::size_t kHeaderBytes = 48;

// Layout ---------------------------------------------------------------------------------------------------------

/// A group of a tile: which component, where its first block is, and which lanes hold blocks.
struct TileGroup {
    std::uint8_t component = 0;
    std::uint32_t block_x = 0;
    std::uint32_t block_y = 0;
    std::uint64_t active = 0;
};

/// Describes how blocks become groups and tiles.
struct Layout {
    struct Component {
        std::uint8_t across = 1;  ///< groups of a unit, each way
        std::uint8_t down = 1;
        std::uint32_t blocks_wide = 0;
        std::uint32_t blocks_high = 0;
    };

    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::uint8_t num_components = 1;
    std::array<Component, 3> components{};
    std::uint8_t max_across = 1;
    std::uint8_t max_down = 1;
    std::uint8_t units_across = 1;
    std::uint8_t units_down = 1;

    [[nodiscard]] std::uint32_t tile_width() const noexcept { return 64U * max_across * units_across; }
    [[nodiscard]] std::uint32_t tile_height() const noexcept { return 64U * max_down * units_down; }
    [[nodiscard]] std::uint32_t tiles_across() const noexcept { return (width + tile_width() - 1) / tile_width(); }
    [[nodiscard]] std::uint32_t tiles_down() const noexcept { return (height + tile_height() - 1) / tile_height(); }
    [[nodiscard]] std::uint32_t tiles() const noexcept { return tiles_across() * tiles_down(); }
    /// Groups of a tile that lies inside the image.
    [[nodiscard]] std::size_t max_groups() const noexcept;
    /// Fills in the groups of tile (x, y), kMaxGroups at most; gives their number.
    std::size_t groups_of(std::uint32_t tile_x, std::uint32_t tile_y, TileGroup* groups) const noexcept;
};

/// Lays out an image with tiles of so many units. The sampling factors are those of `components`.
[[nodiscard]] Layout lay_out(std::uint32_t width, std::uint32_t height, std::span<const Sampling> sampling,
                             std::uint8_t units_across, std::uint8_t units_down) noexcept;

// File -----------------------------------------------------------------------------------------------------------

/// The first 48 bytes, checked.
struct Header {
    Layout layout;
    Color color = Color::grey;
    std::array<Sampling, 3> sampling{};
    std::uint8_t orientation = 1;
    std::uint8_t num_layers = 1;
    std::uint8_t layer_bits = 0;  ///< that the second layer adds
    bool has_tables = false;
    std::uint64_t table_set = 0;
    std::uint32_t segments_begin = 0;
    std::uint32_t restoration_bytes = 0;
    std::uint32_t tables_crc = 0;

    [[nodiscard]] std::uint32_t num_segments() const noexcept { return num_layers * layout.tiles(); }
    [[nodiscard]] std::uint64_t checksums_begin() const noexcept {
        return kHeaderBytes + 4 * (std::uint64_t{num_segments()} + 1);
    }
    [[nodiscard]] std::uint64_t quantization_begin() const noexcept {
        return checksums_begin() + 4 * std::uint64_t{num_segments()};
    }
};

/// Parses and checks the header; needs its 48 bytes only.
[[nodiscard]] Header read_header(ByteView data);

/// Reads the parts between header and segments. Keeps a view of `data`.
class Index {
  public:
    /// Checks that all parts are there and fit; with `verify`, their checksum too.
    Index(ByteView data, const Header& header, bool verify);

    /// The bytes of a segment; refuses offsets that do not ascend or reach outside of the segments. Those of the second
    /// layer follow those of all tiles of the first.
    [[nodiscard]] ByteView segment(std::uint32_t index) const;
    [[nodiscard]] std::uint32_t checksum(std::uint32_t index) const noexcept;
    /// Layers that are in the data: fewer than the header says if it is a prefix.
    [[nodiscard]] unsigned num_layers() const noexcept { return num_layers_; }
    [[nodiscard]] const jpeg::QuantTable& quantization(std::size_t component) const noexcept {
        return quantization_[component];
    }
    /// The table set of the file. Throws `unsupported` if it is not in the file and not known.
    [[nodiscard]] const TableSet& tables() const noexcept { return *tables_; }
    /// Restoration data after its checksum; empty if the file has no such part. Throws `checksum`.
    [[nodiscard]] ByteView restoration() const;

  private:
    [[nodiscard]] std::uint32_t offset(std::uint32_t index) const noexcept;
    void check_length();
    [[nodiscard]] std::size_t read_quantization();
    void read_tables(std::size_t at);

    ByteView data_;
    const Header& header_;
    std::uint64_t segments_end_ = 0;
    unsigned num_layers_ = 1;
    std::array<jpeg::QuantTable, 3> quantization_{};
    std::shared_ptr<const TableSet> tables_;
};

/// Where the first layer of a file ends. Needs the bytes before the first segment only. Throws as `read_header` does.
[[nodiscard]] std::size_t first_layer_end(ByteView data);

/// A whole file from its parts. Segments are as in the file, tables say how many layers there are.
struct FileParts {
    const jpeg::CoefficientImage& image;
    const Layout& layout;
    const TableSet& tables;
    bool store_tables = false;
    std::vector<ByteBuffer> segments;
    ByteView restoration;
};

/// Throws `unsupported` if the file would exceed 4 GiB.
[[nodiscard]] ByteBuffer write_file(const FileParts& parts);

// Tile -----------------------------------------------------------------------------------------------------------

/// Reasons to refuse a segment.
enum class TileFault : std::uint8_t {
    none,
    lengths,  ///< the parts do not fill the segment
    state,    ///< a state below 65,536
    words,    ///< too few or too many words
    raw,      ///< too few or too many raw bits
    escape,   ///< a magnitude that is too large
    counts,   ///< a block has more or fewer coefficients than it says
    end,      ///< states do not end where an encoder begins
};

/// Bytes behind a segment that a tile decoder may read; they have no influence on the result. Decoders check their
/// position for every 64 words and for the raw bits of every group and position (at most 2 + 2 x 25 planes).
inline constexpr std::size_t kSegmentSlack = 1024;

/// Places of the parts of a segment.
struct SegmentParts {
    std::array<std::uint32_t, kNumStates> states;
    const std::uint8_t* words = nullptr;
    const std::uint8_t* words_end = nullptr;
    const std::uint8_t* raw = nullptr;
    std::size_t raw_bytes = 0;
    std::size_t num_states = 0;
};

[[nodiscard]] TileFault parse_segment(ByteView segment, std::size_t num_active_lanes, SegmentParts& parts) noexcept;

/// Working memory of a tile decoder for one group.
struct alignas(64) GroupScratch {
    std::uint8_t magnitudes[kPositions + 1]
                           [kLanes];  ///< of each position, as contexts count them; the last row is zero
    std::uint8_t remaining[kLanes];
    std::uint64_t alive;
};

/// One tile to decode. Groups have at least one active lane.
struct TileJob {
    const DecodeTables* tables = nullptr;
    SegmentParts parts;  ///< kSegmentSlack bytes are readable behind the segment
    const TileGroup* groups = nullptr;
    std::size_t num_groups = 0;
    jpeg::CoefficientGroup* out = nullptr;  ///< one for each group
    GroupScratch* scratch = nullptr;        ///< one for each group
};

/// Decodes a tile. On a fault the output is undefined. Every path gives the same coefficients and accepts the same
/// segments; which fault is reported, if there are several, may differ.
using DecodeTile = TileFault (*)(const TileJob& job) noexcept;

TileFault decode_tile_plain(const TileJob& job) noexcept;
TileFault decode_tile_avx2(const TileJob& job) noexcept;
TileFault decode_tile_avx512(const TileJob& job) noexcept;
TileFault decode_tile_neon(const TileJob& job) noexcept;
/// The same, with table look-ups by gather instructions, which are faster than single loads on Intel's processors.
TileFault decode_tile_avx2_gather(const TileJob& job) noexcept;
TileFault decode_tile_avx512_gather(const TileJob& job) noexcept;

/// The decoder of the active SIMD path, with the look-ups that suit this processor.
[[nodiscard]] DecodeTile active_decode_tile() noexcept;

// Encoding -------------------------------------------------------------------------------------------------------

/// Symbols and raw bits of one tile, in the order of decoding.
struct TileSymbols {
    unsigned first_pair = kPositions;
    std::size_t num_states = 0;
    std::vector<std::uint16_t> contexts;  ///< as in the context map, both classes
    std::vector<std::uint8_t> symbols;
    std::vector<std::uint32_t> step_ends;  ///< in symbols
    std::vector<std::uint8_t> raw;
    std::array<std::uint16_t, kNumStates> payload{};
};

/// Lists the symbols of tiles; keeps its memory from tile to tile.
class SymbolWalk {
  public:
    SymbolWalk(const jpeg::CoefficientImage& image, const Layout& layout, unsigned first_pair);
    ~SymbolWalk();

    /// Throws `unsupported` for a coefficient or DC difference above kMaxMagnitude.
    const TileSymbols& walk(std::uint32_t tile_x, std::uint32_t tile_y);

  private:
    class State;
    std::unique_ptr<State> state_;
};

/// A segment of these symbols.
[[nodiscard]] ByteBuffer encode_segment(const TileSymbols& symbols, const TableSet& tables);

/// A whole file. `restoration` may be empty.
[[nodiscard]] ByteBuffer encode_image(const jpeg::CoefficientImage& image, ByteView restoration, const TableSet& tables,
                                      bool store_tables);

/// The units of a tile that files of this sampling get.
[[nodiscard]] Layout default_layout(const jpeg::CoefficientImage& image);

/// Trains tables on images: counts symbols by context, then joins contexts of like statistics into shared tables.
class TableTrainer {
  public:
    /// With `layer_bits`, for files of two layers.
    explicit TableTrainer(unsigned first_pair, unsigned layer_bits = 0);

    void add(const jpeg::CoefficientImage& image);
    /// Adds all that another trainer, of the same first pair, has seen. Order does not matter.
    void add(const TableTrainer& other);
    /// A table set. Contexts and symbols that never occurred stay possible.
    [[nodiscard]] ByteBuffer finish() const;

  private:
    unsigned first_pair_;
    unsigned layer_bits_;
    std::vector<std::uint32_t> counts_;      ///< by [context][symbol]
    std::vector<std::uint32_t> refinement_;  ///< the same of the second layer
};

}  // namespace penstock::sluice
