// Changes of colour that are a table of 256 levels a channel, as Pillow computes them.
#pragma once

#include <array>
#include <cstdint>

#include "base/image.h"
#include "pixels/table_kernels.h"

namespace penstock {

using Levels = std::array<std::uint8_t, 256>;

[[nodiscard]] Levels identity_levels() noexcept;
[[nodiscard]] Levels inverted_levels() noexcept;
/// Levels from `from` to themselves by `factor`: brightness from 0, contrast from the mean.
[[nodiscard]] Levels blended_levels(int from, float factor) noexcept;
/// Keeps the upper `bits` of levels; 0 gives black.
[[nodiscard]] Levels posterized_levels(int bits) noexcept;
/// Inverts levels of at least `threshold`.
[[nodiscard]] Levels solarized_levels(double threshold) noexcept;
/// Adds to levels below `threshold`.
[[nodiscard]] Levels solarize_added_levels(int add, double threshold) noexcept;
/// Spreads the levels between `low` and `high` over all.
[[nodiscard]] Levels stretched_levels(int low, int high) noexcept;
/// Spreads levels by how often they occur.
[[nodiscard]] Levels equalized_levels(const std::array<std::uint32_t, 256>& counts) noexcept;

/// Tables that wait to be looked up. Consecutive ones become one.
class TableStack {
  public:
    void clear() noexcept { waiting_ = false; }
    [[nodiscard]] bool waiting() const noexcept { return waiting_; }
    [[nodiscard]] const ByteTables& tables() const noexcept { return tables_; }

    /// Appends one table for all colours of pixels with `channels` channels; alpha stays.
    void append(const Levels& levels, std::size_t channels) noexcept;
    /// Appends a table for every colour.
    void append(const std::array<Levels, 3>& levels, std::size_t channels) noexcept;
    /// Changes an image by what waits.
    void apply(ImageView image) noexcept;

  private:
    ByteTables tables_{};
    bool waiting_ = false;
};

/// The number of channels that are colours: alpha is the second of two, or the fourth of four.
[[nodiscard]] constexpr std::size_t num_colors(std::size_t channels) noexcept { return channels >= 3 ? 3 : 1; }

}  // namespace penstock
