// Choosing and applying PNG's row filters when encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::png {

/// Filters the rows of one image, in order. For each it takes the filter whose bytes, read as signed numbers, have the
/// smallest sum of magnitudes: the usual guess at what deflates best.
class RowFilter {
  public:
    RowFilter(std::size_t row_bytes, std::size_t distance);

    /// Returns the memory for the next row, in stored form (16-bit samples big-endian). Fill it before calling
    /// `filter`.
    [[nodiscard]] std::uint8_t* row() noexcept { return current_.data() + kMargin; }

    /// Writes the filter type and the filtered row: `row_bytes` + 1 bytes.
    void filter(std::uint8_t* out);

  private:
    static constexpr std::size_t kMargin = 8;  // zeros left of a row, as many as the largest distance

    std::size_t row_bytes_;
    std::size_t distance_;
    std::vector<std::uint8_t> current_;
    std::vector<std::uint8_t> above_;
    std::vector<std::uint8_t> candidate_;
};

}  // namespace penstock::png
