#include "records/rows.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"

namespace penstock {

namespace {

template <typename Number>
void append(ByteBuffer& out, Number number) {
    out.append(&number, sizeof number);
}

std::string one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

std::string lines_of(const ShardNotes& notes) {
    std::string lines;
    for (const auto& [tag, count] : notes.metadata_kept) lines += "kept " + tag + " " + std::to_string(count) + "\n";
    for (const auto& [tag, count] : notes.metadata_dropped) {
        lines += "dropped " + tag + " " + std::to_string(count) + "\n";
    }
    for (const Skip& skip : notes.skips) {
        lines += "skipped " + std::to_string(skip.id) + " " + one_line(skip.reason) + "\n";
    }
    for (const Skip& fallback : notes.fallbacks) {
        lines += "fallback " + std::to_string(fallback.id) + " " + one_line(fallback.reason) + "\n";
    }
    return lines;
}

}  // namespace

ByteBuffer serialise(const ShardNotes& notes) {
    const std::string lines = lines_of(notes);
    ByteBuffer out;
    out.append("PENROWS2", 8);
    append(out, notes.num_samples);
    append(out, notes.shard_bytes);
    append(out, static_cast<std::uint32_t>(notes.rows.size()));
    append(out, static_cast<std::uint32_t>(notes.num_records));
    append(out, notes.shard_checksum);
    append(out, static_cast<std::uint32_t>(lines.size()));
    out.append(notes.rows.data(), notes.rows.size() * sizeof(Row));
    out.append(notes.pieces.data(), notes.pieces.size() * sizeof(Piece));
    out.append(lines.data(), lines.size());
    append(out, crc32c(out.view()));
    return out;
}

}  // namespace penstock
