#include "engine/fetch.h"

#include <algorithm>
#include <utility>

#include "engine/piece_join.h"
#include "engine/pieces.h"

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
    std::vector<Fetch> fetches;
    if (table.fields_apart) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            Fetch& fetch = fetches.emplace_back(Fetch{batch, {table.fields.front().file_of(ids[i]), 0, 0}});
            fetch.parts = field_parts(table, ids[i]);
            serve(fetch, i);
        }
        return fetches;
    }
    for (const std::uint64_t id : ids) wishes.push_back(record_extent(table, id));
    if (table.fields.front().is_whole_file()) {
        for (std::size_t i = 0; i < ids.size(); ++i) serve(fetches.emplace_back(Fetch{batch, wishes[i]}), i);
        return fetches;
    }
    const ReadPlan plan = plan_reads(wishes, grid.alignment, grid.max_bytes);
    for (const PlannedRead& read : plan.reads) {
        Fetch& fetch = fetches.emplace_back(Fetch{batch, read.extent});
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

std::vector<Fetch> plan_blocks_ahead(const std::shared_ptr<Batch>& batch, const SampleTable& table,
                                     std::vector<BlockWish> wishes) {
    const auto part_of = [&](const BlockWish& wish) {
        return std::pair(table.blocks.of_sample[wish.id], wish.first_piece);
    };
    std::ranges::stable_sort(wishes, {}, part_of);
    std::vector<Fetch> fetches;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
        if (i == 0 || part_of(wishes[i]) != part_of(wishes[i - 1])) {
            const std::uint32_t end = pieces_for(table, wishes[i].id, batch->wish().fidelity);
            Fetch& fetch = fetches.emplace_back();
            fetch.batch = batch;
            fetch.extent = block_extent(table, wishes[i].id, {wishes[i].first_piece, end});
            fetch.first_piece = wishes[i].first_piece;
            fetch.num_pieces = end;
        }
        fetches.back().ahead.push_back(wishes[i].id);
    }
    return fetches;
}

std::vector<Fetch> plan_alone(const std::shared_ptr<Batch>& batch, const SampleTable& table, std::uint32_t position) {
    const std::uint64_t id = batch->wish().ids[position];
    const std::uint32_t num_pieces = pieces_for(table, id, batch->wish().fidelity);
    std::vector<Extent> parts = sample_parts(table, id, num_pieces);
    std::size_t bytes = 0;
    for (const Extent& part : parts) bytes += part.length;
    const auto is_empty = [](const Extent& part) { return part.length == 0; };
    const auto num_parts = parts.size() - static_cast<std::size_t>(std::ranges::count_if(parts, is_empty));
    const auto join = std::make_shared<PieceJoin>(bytes, num_parts);
    std::vector<Fetch> fetches;
    std::size_t at = 0;
    for (const Extent& part : parts) {
        if (!is_empty(part)) {
            Fetch& fetch = fetches.emplace_back();
            fetch.batch = batch;
            fetch.extent = part;
            fetch.positions = {position};
            fetch.num_pieces = num_pieces;
            fetch.join = join;
            fetch.join_at = at;
        }
        at += part.length;
    }
    return fetches;
}

}  // namespace penstock
