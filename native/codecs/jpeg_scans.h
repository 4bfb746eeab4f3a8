// Where the scans of a progressive JPEG end, and the pieces that a list of scan counts cuts it into.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/image.h"

namespace penstock::jpeg {

/// The marker (its 0xFF) that ends the entropy-coded bytes from `position` on, or the end of the data.
[[nodiscard]] std::size_t end_of_scan(ByteView data, std::size_t position) noexcept;

/// The byte behind each scan, in order: the first that is a marker again and no restart. Tables between two scans
/// belong to the one that follows, everything before the first to the first.
///
/// Throws `truncated` or `corrupt` as a header's walk does; a file that ends after a scan without its end mark is fine.
[[nodiscard]] std::vector<std::size_t> scan_ends(ByteView data);

/// Scan counts such as "1+2+5+10", ascending, or "all" for every scan apart, as text that is already validated.
class ScanGroups {
  public:
    explicit ScanGroups(std::string_view text);

    /// Lengths of the pieces of a file, first to last, adding up to its size: one for each group, empty where the file
    /// has no scan of it. The last one holds all that is left, the end mark included. "all" gives a piece for every
    /// scan.
    [[nodiscard]] std::vector<std::size_t> piece_lengths(ByteView data) const;

  private:
    std::vector<std::size_t> counts_;  // empty: every scan
};

}  // namespace penstock::jpeg
