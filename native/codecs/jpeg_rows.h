// Where MCU rows begin, as `jpeg:restart` keeps it in the file: spec/jpeg.md. A hint that is checked before it counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"

namespace penstock::jpeg {

/// A scan with fewer bytes keeps no offsets, and libjpeg's own decoder is done before our tables are built.
inline constexpr std::size_t kLeastScanBytes = 4096;

/// Whether an APPn segment is the one that keeps them.
[[nodiscard]] bool is_row_segment(std::uint8_t marker, ByteView content) noexcept;

/// Offsets of the rows behind the first, counted from the scan. A view: the file must outlive it.
class RowOffsets {
  public:
    /// None.
    RowOffsets() = default;

    /// Those of a file whose first scan begins with `scan` (to the end of the data) and has `num_rows` MCU rows, each
    /// a restart interval. Empty unless there is one for every row but the first, in order, each behind the marker that
    /// is due. Cost: the header's walk, and two bytes of the scan for every row.
    RowOffsets(ByteView file, ByteView scan, std::size_t num_rows);

    [[nodiscard]] bool has(std::size_t row) const noexcept { return row - 1 < entries_.size() / kEntryBytes; }
    /// Of a row that it has: 1 and on.
    [[nodiscard]] std::size_t operator[](std::size_t row) const noexcept;

  private:
    static constexpr std::size_t kEntryBytes = 4;

    ByteView entries_;
};

/// Where every MCU row begins in the file, if it keeps that and is believed; else nothing. What a decoder goes by.
[[nodiscard]] std::vector<std::size_t> row_offsets(ByteView file);

/// The file, which we wrote with a marker every row, with its offsets; as it is where they are of no use.
[[nodiscard]] ByteBuffer with_row_offsets(ByteBuffer file);

}  // namespace penstock::jpeg
