#include "engine/fetch.h"

#include <algorithm>
#include <utility>

namespace penstock {

Extent record_extent(const SampleTable& table, std::uint64_t id) {
    const FieldColumns& first = table.fields.front();
    if (first.is_whole_file()) return {first.file_of(id), 0, 0};
    Extent extent{first.file_of(id), first.offset[id], first.length[id]};
    for (const FieldColumns& field : table.fields) {
        const std::uint64_t end = std::max(extent.end(), field.offset[id] + field.length[id]);
        extent.offset = std::min(extent.offset, field.offset[id]);
        extent.length = end - extent.offset;
    }
    return extent;
}

std::vector<Fetch> plan_fetches(const std::shared_ptr<Batch>& batch, const SampleTable& table,
                                const std::vector<std::uint32_t>& positions, std::uint64_t alignment,
                                std::uint64_t max_bytes) {
    std::vector<Fetch> fetches;
    const std::vector<std::uint64_t>& ids = batch->wish().ids;
    if (table.fields.front().is_whole_file()) {
        for (const std::uint32_t position : positions) {
            fetches.push_back({batch, record_extent(table, ids[position]), {position}});
        }
        return fetches;
    }
    std::vector<Extent> wishes;
    for (const std::uint32_t position : positions) wishes.push_back(record_extent(table, ids[position]));
    const ReadPlan plan = plan_reads(wishes, alignment, max_bytes);
    for (const PlannedRead& read : plan.reads) {
        Fetch fetch{batch, read.extent, {}};
        for (std::uint32_t i = read.begin; i < read.end; ++i) fetch.positions.push_back(positions[plan.order[i]]);
        fetches.push_back(std::move(fetch));
    }
    return fetches;
}

}  // namespace penstock
