// One segment of Sluice: a byte for the number of groups, two for the blocks of the last one, then the segment.
// Whatever the bytes are, every SIMD path gives the same coefficients or refuses, whatever lies behind the segment.
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/cpu.h"
#include "codecs/sluice.h"
#include "codecs/sluice_transcode.h"
#include "harness.h"

namespace {

using namespace penstock;
using namespace penstock::fuzz;

constexpr std::size_t kShapeBytes = 3;
constexpr std::size_t kFewGroups = 6;
constexpr std::array<std::uint8_t, 2> kFillers{0x00, 0xff};  // behind the segment

std::vector<sluice::TileGroup> groups_of(ByteView shape) {
    std::vector<sluice::TileGroup> groups(1 + shape[0] % kFewGroups);
    for (std::size_t g = 0; g < groups.size(); ++g)
        groups[g] = {static_cast<std::uint8_t>(g % 3), 0, 0, ~std::uint64_t{0}};
    const std::uint64_t row = (2U << shape[1] % 8) - 1;
    groups.back().active = row * 0x0101010101010101ULL & ~std::uint64_t{0} >> (56 - 8 * (shape[2] % 8));
    return groups;
}

/// Coefficients of the active lanes on the active path, or nothing if the segment is refused.
std::optional<std::vector<std::int16_t>> decode(ByteView segment, const std::vector<sluice::TileGroup>& groups,
                                                std::uint8_t filler) {
    // Not a byte more than a decoder may touch.
    std::vector<std::uint8_t> padded(segment.begin(), segment.end());
    padded.resize(segment.size() + sluice::kSegmentSlack, filler);
    const auto out = std::make_unique<jpeg::CoefficientGroup[]>(groups.size());
    const auto scratch = std::make_unique<sluice::GroupScratch[]>(groups.size());
    std::size_t num_lanes = 0;
    for (const sluice::TileGroup& group : groups) num_lanes += static_cast<std::size_t>(std::popcount(group.active));
    sluice::TileJob job;
    if (sluice::parse_segment(ByteView(padded).first(segment.size()), num_lanes, job.parts) !=
        sluice::TileFault::none) {
        return std::nullopt;
    }
    job.tables = &sluice::default_tables().decode();
    job.groups = groups.data();
    job.num_groups = groups.size();
    job.out = out.get();
    job.scratch = scratch.get();
    if (sluice::active_decode_tile()(job) != sluice::TileFault::none) return std::nullopt;
    std::vector<std::int16_t> values;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const int num_positions = out[g].num_positions;
        if (num_positions < 1 || num_positions > 64) fail("gives an impossible number of positions");
        for (std::size_t lane = 0; lane < 64; ++lane) {
            if ((groups[g].active >> lane & 1) == 0) continue;
            for (int k = 0; k < 64; ++k) {
                const bool wide = (out[g].wide_positions >> k & 1) != 0;
                const std::int16_t value = wide ? out[g].wide[k][lane] : out[g].narrow[k][lane];
                values.push_back(k < num_positions ? value : std::int16_t{0});
            }
        }
    }
    return values;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < kShapeBytes) return 0;
    const std::vector<sluice::TileGroup> groups = groups_of({bytes, kShapeBytes});
    const ByteView segment(bytes + kShapeBytes, size - kShapeBytes);
    force_simd_path(SimdPath::portable);
    const auto expected = decode(segment, groups, kFillers[0]);
    for (const SimdPath path : simd_paths()) {
        force_simd_path(path);
        for (const std::uint8_t filler : kFillers) {
            sluice::force_gather(filler == 0 ? 0 : 1);
            const auto found = decode(segment, groups, filler);
            if (found.has_value() != expected.has_value()) fail("one SIMD path refuses what another accepts");
            if (found != expected) fail("a path, or what lies behind the segment, changes coefficients");
        }
    }
    return 0;
}
