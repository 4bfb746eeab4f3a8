#include "engine/pieces.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"
#include "engine/own_sample.h"

namespace penstock {

namespace {

void copy(const SampleTable& table, std::uint64_t id, const Extent& part, const SampleBytes& block, std::uint8_t* out) {
    const ByteView found = block.part(part.offset, part.length);
    if (found.size() < part.length) {
        throw Error(ErrorCode::read_failed, "the file ends before the record does",
                    table.files.path(part.file) + ": record of sample " + std::to_string(id),
                    "the shard is damaged: restore it, or build it again");
    }
    std::memcpy(out, found.data(), found.size());
}

}  // namespace

std::uint32_t pieces_for(const SampleTable& table, std::uint64_t id, std::uint32_t fidelity) {
    const BlockColumns& blocks = table.blocks;
    const auto available = static_cast<std::uint32_t>(blocks.piece_begin[id + 1] - blocks.piece_begin[id]);
    if (fidelity == 0) return available;
    const std::vector<std::uint32_t>& scans = blocks.scans[table.fields.front().codec[id]];
    const auto found = std::ranges::lower_bound(scans, fidelity);
    return std::min(static_cast<std::uint32_t>(found - scans.begin()) + 1, available);
}

Extent block_extent(const SampleTable& table, std::uint64_t id, PieceRange pieces) {
    const std::uint64_t first = table.blocks.edge_begin[table.blocks.of_sample[id]];
    const std::uint64_t begin = table.blocks.edges[first + pieces.begin];
    return {table.fields.front().file_of(id), begin, table.blocks.edges[first + pieces.end] - begin};
}

std::size_t pieces_bytes(const SampleTable& table, std::uint64_t id, PieceRange pieces) {
    const std::uint64_t first = table.blocks.piece_begin[id];
    std::size_t sum = 0;
    for (std::uint32_t i = pieces.begin; i < pieces.end; ++i) sum += table.blocks.piece_length[first + i];
    return sum;
}

std::size_t other_bytes(const SampleTable& table, std::uint64_t id) {
    std::size_t sum = 0;
    for (std::size_t i = 1; i < table.fields.size(); ++i) sum += table.fields[i].length[id];
    return sum;
}

std::vector<Extent> field_parts(const SampleTable& table, std::uint64_t id) {
    std::vector<Extent> parts;
    for (std::size_t i = 1; i <= table.fields.size(); ++i) {
        const FieldColumns& field = table.fields[i % table.fields.size()];  // the picture last
        parts.push_back({field.file_of(id), field.offset[id], field.length[id]});
    }
    return parts;
}

void copy_pieces(const SampleTable& table, std::uint64_t id, PieceRange pieces, const SampleBytes& block,
                 std::uint8_t* out) {
    const std::uint64_t first = table.blocks.piece_begin[id];
    const std::uint32_t file = table.fields.front().file_of(id);
    for (std::uint32_t i = pieces.begin; i < pieces.end; ++i) {
        const Extent piece{file, table.blocks.piece_offset[first + i], table.blocks.piece_length[first + i]};
        copy(table, id, piece, block, out);
        out += piece.length;
    }
}

ByteBuffer join_sample(const SampleTable& table, std::uint64_t id, std::uint32_t num_pieces, const SampleBytes& block) {
    const PieceRange pieces{0, num_pieces};
    ByteBuffer joined(other_bytes(table, id) + pieces_bytes(table, id, pieces) + kSamplePadding);
    std::uint8_t* out = joined.data();
    for (std::size_t i = 1; i < table.fields.size(); ++i) {
        const FieldColumns& field = table.fields[i];
        copy(table, id, {field.file_of(id), field.offset[id], field.length[id]}, block, out);
        out += field.length[id];
    }
    copy_pieces(table, id, pieces, block, out);
    return joined;
}

ByteBuffer extend_sample(const SampleTable& table, std::uint64_t id, const SampleBytes& joined,
                         std::uint32_t num_pieces, const SampleBytes& block) {
    const PieceRange missing{joined.num_joined, num_pieces};
    ByteBuffer extended(joined.data.size() + pieces_bytes(table, id, missing) + kSamplePadding);
    std::memcpy(extended.data(), joined.data.data(), joined.data.size());
    copy_pieces(table, id, missing, block, extended.data() + joined.data.size());
    return extended;
}

std::vector<Extent> sample_parts(const SampleTable& table, std::uint64_t id, std::uint32_t num_pieces) {
    std::vector<Extent> parts;
    for (std::size_t i = 1; i < table.fields.size(); ++i) {
        const FieldColumns& field = table.fields[i];
        parts.push_back({field.file_of(id), field.offset[id], field.length[id]});
    }
    const std::uint64_t first = table.blocks.piece_begin[id];
    for (std::uint32_t i = 0; i < num_pieces; ++i) {
        parts.push_back({table.fields.front().file_of(id), table.blocks.piece_offset[first + i],
                         table.blocks.piece_length[first + i]});
    }
    return parts;
}

}  // namespace penstock
