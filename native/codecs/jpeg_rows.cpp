#include "codecs/jpeg_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "codecs/jpeg_header.h"
#include "codecs/jpeg_segments.h"

namespace penstock::jpeg {

namespace {

constexpr std::string_view kName{"PENROWS\1", 8};
constexpr std::size_t kMaxContentBytes = 65533;

// The first segment of ours before the first scan, without its name; empty if there is none.
ByteView find_entries(ByteView file) {
    MarkerWalk walk(file);
    for (Segment segment = walk.next(); segment.marker != kSos && segment.marker != kEoi; segment = walk.next()) {
        if (is_row_segment(segment.marker, segment.content)) return segment.content.subspan(kName.size());
    }
    return {};
}

Segment find_scan(ByteView file) {
    MarkerWalk walk(file);
    Segment segment = walk.next();
    while (segment.marker != kSos) segment = walk.next();
    return segment;
}

// MCUs, across and down.
std::pair<std::size_t, std::size_t> grid_of(const Header& header) {
    std::size_t across = 1;
    std::size_t down = 1;
    for (std::size_t i = 0; i < header.num_components && header.num_components > 1; ++i) {
        across = std::max<std::size_t>(across, header.sampling[i].across);
        down = std::max<std::size_t>(down, header.sampling[i].down);
    }
    return {(header.width + 8 * across - 1) / (8 * across), (header.height + 8 * down - 1) / (8 * down)};
}

void append_big_endian(ByteBuffer& out, std::size_t value, int num_bytes) {
    for (int shift = 8 * (num_bytes - 1); shift >= 0; shift -= 8) {
        out.push_back(static_cast<std::uint8_t>(value >> shift));
    }
}

}  // namespace

bool is_row_segment(std::uint8_t marker, ByteView content) noexcept {
    return marker == kApp9 && content.size() >= kName.size() &&
           std::memcmp(content.data(), kName.data(), kName.size()) == 0;
}

RowOffsets::RowOffsets(ByteView file, ByteView scan, std::size_t num_rows) {
    const ByteView found = find_entries(file);
    if (found.empty() || found.size() != kEntryBytes * (num_rows - 1)) return;
    entries_ = found;
    std::size_t before = 1;
    for (std::size_t row = 1; row < num_rows; ++row) {
        const std::size_t offset = (*this)[row];
        if (offset <= before || offset > scan.size() || scan[offset - 2] != 0xFF ||
            scan[offset - 1] != kRst0 + ((row - 1) & 7)) {
            entries_ = {};
            return;
        }
        before = offset;
    }
}

std::size_t RowOffsets::operator[](std::size_t row) const noexcept {
    const std::uint8_t* entry = entries_.data() + kEntryBytes * (row - 1);
    return std::size_t{entry[0]} << 24 | std::size_t{entry[1]} << 16 | std::size_t{entry[2]} << 8 | entry[3];
}

std::vector<std::size_t> row_offsets(ByteView file) {
    const Header header = read_header(file);
    const auto [num_columns, num_rows] = grid_of(header);
    const ByteView scan_head = find_scan(file).content;
    const bool may_have = !header.progressive && !header.arithmetic && header.restart_interval == num_columns &&
                          !scan_head.empty() && scan_head[0] == header.num_components && num_rows > 1;
    if (!may_have) return {};
    const RowOffsets kept(file, file.subspan(header.scan_begin), num_rows);
    if (!kept.has(1)) return {};
    std::vector<std::size_t> rows{header.scan_begin};
    for (std::size_t row = 1; row < num_rows; ++row) rows.push_back(header.scan_begin + kept[row]);
    return rows;
}

ByteBuffer with_row_offsets(ByteBuffer file) {
    constexpr std::size_t kEntryBytes = 4;
    if (read_header(file.view()).progressive) return file;
    const std::vector<std::size_t> rows = restart_offsets(file.view());
    const std::size_t scan_bytes = file.size() - rows.front();
    const std::size_t content_bytes = kName.size() + kEntryBytes * (rows.size() - 1);
    if (rows.size() < 2 || scan_bytes < kLeastScanBytes || content_bytes > kMaxContentBytes ||
        scan_bytes > std::numeric_limits<std::uint32_t>::max()) {
        return file;
    }
    const std::size_t place = find_scan(file.view()).begin - 2;  // its marker: we write no fill bytes
    ByteBuffer out;
    out.reserve(file.size() + content_bytes + 4);
    out.append(file.data(), place);
    out.push_back(0xFF);
    out.push_back(kApp9);
    append_big_endian(out, content_bytes + 2, 2);
    out.append(kName.data(), kName.size());
    for (std::size_t row = 1; row < rows.size(); ++row) append_big_endian(out, rows[row] - rows.front(), kEntryBytes);
    out.append(file.data() + place, file.size() - place);
    return out;
}

}  // namespace penstock::jpeg
