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

namespace {

// One read for each file, or for each run of records that touch; `serve(fetch, i)` notes that it serves the i-th id.
template <typename Serve>
std::vector<Fetch> plan(const std::shared_ptr<Batch>& batch, const SampleTable& table,
                        const std::vector<std::uint64_t>& ids, const ReadGrid& grid, Serve serve) {
    std::vector<Extent> wishes;
    for (const std::uint64_t id : ids) wishes.push_back(record_extent(table, id));
    std::vector<Fetch> fetches;
    if (table.fields.front().is_whole_file()) {
        for (std::size_t i = 0; i < ids.size(); ++i) serve(fetches.emplace_back(Fetch{batch, wishes[i], {}, {}}), i);
        return fetches;
    }
    const ReadPlan plan = plan_reads(wishes, grid.alignment, grid.max_bytes);
    for (const PlannedRead& read : plan.reads) {
        Fetch& fetch = fetches.emplace_back(Fetch{batch, read.extent, {}, {}});
        for (std::uint32_t i = read.begin; i < read.end; ++i) serve(fetch, plan.order[i]);
    }
    return fetches;
}

}  // namespace

std::vector<Fetch> plan_fetches(const std::shared_ptr<Batch>& batch, const SampleTable& table,
                                const std::vector<std::uint32_t>& positions, const ReadGrid& grid) {
    std::vector<std::uint64_t> ids;
    for (const std::uint32_t position : positions) ids.push_back(batch->wish().ids[position]);
    return plan(batch, table, ids, grid, [&](Fetch& fetch, std::size_t i) { fetch.positions.push_back(positions[i]); });
}

std::vector<Fetch> plan_ahead(const std::shared_ptr<Batch>& batch, const SampleTable& table,
                              const std::vector<std::uint64_t>& ids, const ReadGrid& grid) {
    return plan(batch, table, ids, grid, [&](Fetch& fetch, std::size_t i) { fetch.ahead.push_back(ids[i]); });
}

}  // namespace penstock
