// Merges requests into reads. Pure arithmetic, so that reads can be predicted without reading.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

/// Bytes [offset, offset + length) of one file, named by its number.
struct Extent {
    std::uint32_t file = 0;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;

    [[nodiscard]] std::uint64_t end() const noexcept { return offset + length; }
    friend bool operator==(const Extent&, const Extent&) = default;
};

/// One read, and the wishes it serves: `order[begin]` … `order[end - 1]` of its plan.
struct PlannedRead {
    Extent extent;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

struct ReadPlan {
    std::vector<std::uint32_t> order;  ///< wishes by place on disk
    std::vector<PlannedRead> reads;    ///< disjoint, unless a wish is larger than `max_bytes`
};

/// The extent grown to multiples of `alignment`, a power of two.
[[nodiscard]] Extent aligned(const Extent& extent, std::uint64_t alignment) noexcept;

/// Joins wishes whose aligned extents touch or overlap into one read of at most `max_bytes`.
///
/// Nothing is read that no aligned wish covers, so the bytes read are those of the union. A wish above `max_bytes` is
/// a read of its own.
[[nodiscard]] ReadPlan plan_reads(std::span<const Extent> wishes, std::uint64_t alignment, std::uint64_t max_bytes);

}  // namespace penstock
