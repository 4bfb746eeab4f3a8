// One segment of Sluice: a byte for the number of groups, two for the blocks of the last one, then the segment. With
// the highest bit of the first byte set, a tile of two layers: bits 5 and 6 are the bits of the second one, and two
// bytes are the length of the first segment. Whatever the bytes are, every SIMD path gives the same coefficients or
// refuses, whatever lies behind the segment.
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/cpu.h"
#include "codecs/sluice.h"
#include "codecs/sluice_layers.h"
#include "codecs/sluice_transcode.h"
#include "harness.h"

namespace {

using namespace penstock;
using namespace penstock::fuzz;

constexpr std::size_t kShapeBytes = 3;
constexpr std::size_t kLengthBytes = 2;
constexpr std::size_t kFewGroups = 6;
constexpr std::array<std::uint8_t, 2> kFillers{0x00, 0xff};  // behind the segment

/// The segments of a tile, and the bits that the second one adds; 0: there is none.
struct Segments {
    ByteView first;
    ByteView second;
    unsigned layer_bits = 0;
};

Segments segments_of(std::uint8_t kind, ByteView data) {
    if ((kind & 0x80) == 0 || data.size() < kLengthBytes) return {data, {}, 0};
    const std::size_t length = data[0] | std::size_t{data[1]} << 8;
    const ByteView both = data.subspan(kLengthBytes);
    const ByteView first = both.first(length < both.size() ? length : both.size());
    return {first, both.subspan(first.size()), 1 + (kind >> 5 & 3U) % sluice::kMaxLayerBits};
}

std::vector<sluice::TileGroup> groups_of(ByteView shape) {
    std::vector<sluice::TileGroup> groups(1 + (shape[0] & 31) % kFewGroups);
    for (std::size_t g = 0; g < groups.size(); ++g)
        groups[g] = {static_cast<std::uint8_t>(g % 3), 0, 0, ~std::uint64_t{0}};
    const std::uint64_t row = (2U << shape[1] % 8) - 1;
    groups.back().active = row * 0x0101010101010101ULL & ~std::uint64_t{0} >> (56 - 8 * (shape[2] % 8));
    return groups;
}

/// A tile on the active path.
class Tile {
  public:
    explicit Tile(const std::vector<sluice::TileGroup>& groups)
        : groups_(groups),
          out_(std::make_unique<jpeg::CoefficientGroup[]>(groups.size())),
          scratch_(std::make_unique<sluice::GroupScratch[]>(groups.size())) {}

    /// Decodes a segment of layer 1, or adds one of layer 2; false if it is refused.
    bool add(ByteView segment, const sluice::TableSet& tables, unsigned refinement_bits, std::uint8_t filler) {
        // Not a byte more than a decoder may touch.
        std::vector<std::uint8_t> padded(segment.begin(), segment.end());
        padded.resize(segment.size() + sluice::kSegmentSlack, filler);
        std::size_t num_lanes = 0;
        for (const sluice::TileGroup& group : groups_) {
            num_lanes += static_cast<std::size_t>(std::popcount(group.active));
        }
        sluice::TileJob job;
        if (sluice::parse_segment(ByteView(padded).first(segment.size()), num_lanes, job.parts) !=
            sluice::TileFault::none) {
            return false;
        }
        job.tables = &tables.decode();
        job.groups = groups_.data();
        job.num_groups = groups_.size();
        job.out = out_.get();
        job.scratch = scratch_.get();
        const sluice::TileFault fault = refinement_bits == 0
                                            ? sluice::active_decode_tile()(job)
                                            : sluice::active_layer_decoders().refine(job, refinement_bits);
        return fault == sluice::TileFault::none;
    }

    /// Does without layer 2.
    void widen(unsigned bits) { sluice::active_layer_decoders().widen(out_.get(), groups_.size(), bits); }

    /// Adds the coefficients of the active lanes.
    void list(std::vector<std::int16_t>& values) const {
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const jpeg::CoefficientGroup& group = out_[g];
            if (group.num_positions < 1 || group.num_positions > 64) fail("gives an impossible number of positions");
            for (std::size_t lane = 0; lane < 64; ++lane) {
                if ((groups_[g].active >> lane & 1) == 0) continue;
                for (int k = 0; k < 64; ++k) {
                    const bool wide = (group.wide_positions >> k & 1) != 0;
                    const std::int16_t value = wide ? group.wide[k][lane] : group.narrow[k][lane];
                    values.push_back(k < group.num_positions ? value : std::int16_t{0});
                }
            }
        }
    }

  private:
    const std::vector<sluice::TileGroup>& groups_;
    std::unique_ptr<jpeg::CoefficientGroup[]> out_;
    std::unique_ptr<sluice::GroupScratch[]> scratch_;
};

/// Coefficients on the active path, or nothing if a segment is refused.
std::optional<std::vector<std::int16_t>> decode(const Segments& segments, const std::vector<sluice::TileGroup>& groups,
                                                std::uint8_t filler) {
    std::vector<std::int16_t> values;
    const unsigned bits = segments.layer_bits;
    const sluice::TableSet& tables = bits == 0 ? sluice::default_tables() : sluice::default_layered_tables(bits);
    Tile tile(groups);
    if (!tile.add(segments.first, tables, 0, filler)) return std::nullopt;
    if (bits != 0) {
        Tile coarse(groups);
        if (!coarse.add(segments.first, tables, 0, filler)) fail("refuses what it decoded before");
        coarse.widen(bits);
        coarse.list(values);
        if (!tile.add(segments.second, tables.refinement(), bits, filler)) return values;
    }
    tile.list(values);
    return values;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < kShapeBytes) return 0;
    const std::vector<sluice::TileGroup> groups = groups_of({bytes, kShapeBytes});
    const Segments segments = segments_of(bytes[0], {bytes + kShapeBytes, size - kShapeBytes});
    force_simd_path(SimdPath::portable);
    const auto expected = decode(segments, groups, kFillers[0]);
    for (const SimdPath path : simd_paths()) {
        force_simd_path(path);
        for (const std::uint8_t filler : kFillers) {
            sluice::force_gather(filler == 0 ? 0 : 1);
            const auto found = decode(segments, groups, filler);
            if (found.has_value() != expected.has_value()) fail("one SIMD path refuses what another accepts");
            if (found != expected) fail("a path, or what lies behind the segment, changes coefficients");
        }
    }
    return 0;
}
