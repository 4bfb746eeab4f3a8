#include "storage/extents.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace penstock {

Extent aligned(const Extent& extent, std::uint64_t alignment) noexcept {
    const std::uint64_t begin = extent.offset / alignment * alignment;
    const std::uint64_t end = (extent.end() + alignment - 1) / alignment * alignment;
    return {extent.file, begin, end - begin};
}

ReadPlan plan_reads(std::span<const Extent> wishes, std::uint64_t alignment, std::uint64_t max_bytes) {
    ReadPlan plan;
    plan.order.resize(wishes.size());
    std::iota(plan.order.begin(), plan.order.end(), 0u);
    std::ranges::sort(plan.order, {}, [&](std::uint32_t wish) {
        return std::make_tuple(wishes[wish].file, wishes[wish].offset, wish);
    });
    for (std::uint32_t i = 0; i < plan.order.size(); ++i) {
        const Extent wish = aligned(wishes[plan.order[i]], alignment);
        if (!plan.reads.empty()) {
            PlannedRead& last = plan.reads.back();
            const std::uint64_t end = std::max(last.extent.end(), wish.end());
            const bool touches = last.extent.file == wish.file && wish.offset <= last.extent.end();
            if (touches && end - last.extent.offset <= max_bytes) {
                last.extent.length = end - last.extent.offset;
                last.end = i + 1;
                continue;
            }
        }
        plan.reads.push_back({wish, i, i + 1});
    }
    return plan;
}

}  // namespace penstock
