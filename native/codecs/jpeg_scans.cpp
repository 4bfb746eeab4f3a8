#include "codecs/jpeg_scans.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "codecs/jpeg_segments.h"

namespace penstock::jpeg {

std::size_t end_of_scan(ByteView data, std::size_t position) noexcept {
    while (position + 1 < data.size()) {
        const void* found = std::memchr(&data[position], 0xFF, data.size() - position - 1);
        if (found == nullptr) break;
        position = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - data.data());
        const std::uint8_t next = data[position + 1];
        const bool goes_on = next == 0 || (next >= kRst0 && next <= kRst7);
        if (!goes_on && next != 0xFF) return position;
        position += goes_on ? 2 : 1;
    }
    return data.size();
}

std::vector<std::size_t> scan_ends(ByteView data) {
    std::vector<std::size_t> ends;
    MarkerWalk walk(data);
    while (walk.position() < data.size()) {
        const Segment segment = walk.next();
        if (segment.marker == kEoi) break;
        if (segment.marker != kSos) continue;
        ends.push_back(end_of_scan(data, walk.position()));
        walk.move_to(ends.back());
    }
    return ends;
}

ScanGroups::ScanGroups(std::string_view text) {
    if (text == "all") return;
    std::size_t count = 0;
    for (const char letter : text) {
        if (letter == '+') {
            counts_.push_back(count);
            count = 0;
        } else {
            count = 10 * count + static_cast<std::size_t>(letter - '0');
        }
    }
    counts_.push_back(count);
}

std::vector<std::size_t> ScanGroups::piece_lengths(ByteView data) const {
    std::vector<std::size_t> ends = scan_ends(data);
    if (!counts_.empty()) {
        std::vector<std::size_t> grouped;
        const std::size_t num_scans = ends.size();
        for (const std::size_t count : counts_) grouped.push_back(ends[std::min(count, num_scans) - 1]);
        ends = std::move(grouped);
        // The first group that has every scan takes the end mark too; those behind it are empty.
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            if (counts_[i] >= num_scans) ends[i] = data.size();
        }
    }
    ends.back() = data.size();
    std::adjacent_difference(ends.begin(), ends.end(), ends.begin());
    return ends;
}

}  // namespace penstock::jpeg
