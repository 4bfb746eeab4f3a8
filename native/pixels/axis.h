// One axis of a resize: which source samples make an output sample, and with which weights. The arithmetic is Pillow's,
// step by step, so that pixels are equal to its.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pixels/geometry.h"

namespace penstock {

/// Weights are integers, 1 << 22 for 1: a sum of products with 8-bit samples, and a sign, fit 32 bits.
constexpr int kWeightBits = 22;
/// Taps come in groups of so many, the last one filled up with weights of 0.
constexpr std::uint32_t kGroupTaps = 4;

/// Requested resize along one axis.
struct Axis {
    double begin = 0;  ///< the resized interval, in source samples; a whole crop is [0, length)
    double end = 0;
    std::uint32_t length = 0;  ///< source samples; taps beyond are left out
    std::uint32_t size = 0;    ///< output samples of the interval
    std::uint32_t first = 0;   ///< of which only [first, first + count) are wanted
    std::uint32_t count = 0;
    Filter filter = Filter::bilinear;
    bool source_flipped = false;  ///< the source is mirrored first
    bool flipped = false;         ///< the wanted outputs are mirrored last
};

/// Source samples [begin, end).
struct Span {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

/// A fraction as an integer weight.
[[nodiscard]] std::int32_t to_weight(double fraction) noexcept;

/// The source samples that an axis reads.
[[nodiscard]] Span source_span(const Axis& axis) noexcept;

/// Taps of every wanted output, counted from source sample `origin` (which `source_span` covers).
class AxisTable {
  public:
    /// Weights in groups, whose first tap is a multiple of `alignment` (1 or 4).
    void build_weights(const Axis& axis, std::uint32_t origin, std::uint32_t alignment);
    /// Weights as fractions, `max_taps()` apart; `groups()` are counts of taps then.
    void build_fractions(const Axis& axis, std::uint32_t origin);
    /// Builds an axis without weights: `first()` is the only tap.
    void build_nearest(const Axis& axis, std::uint32_t origin);

    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    [[nodiscard]] const std::uint32_t* first() const noexcept { return first_.data(); }
    [[nodiscard]] const std::uint32_t* groups() const noexcept { return groups_.data(); }
    [[nodiscard]] std::uint32_t max_groups() const noexcept { return max_groups_; }
    [[nodiscard]] std::uint32_t max_taps() const noexcept { return max_taps_; }
    [[nodiscard]] std::int32_t* weights() noexcept { return weights_.data(); }
    [[nodiscard]] const std::int32_t* weights(std::uint32_t output) const noexcept {
        return weights_.data() + std::size_t{output} * max_groups_ * kGroupTaps;
    }
    [[nodiscard]] const double* fractions(std::uint32_t output) const noexcept {
        return fractions_.data() + std::size_t{output} * max_taps_;
    }
    [[nodiscard]] std::size_t num_groups() const noexcept { return std::size_t{count_} * max_groups_; }

  private:
    void place(const Axis& axis, std::uint32_t output, Span taps, std::uint32_t origin) noexcept;

    std::uint32_t count_ = 0;
    std::uint32_t max_groups_ = 0;
    std::uint32_t max_taps_ = 0;
    std::vector<std::uint32_t> first_;
    std::vector<std::uint32_t> groups_;
    std::vector<std::int32_t> weights_;
    std::vector<double> fractions_;
};

}  // namespace penstock
