// Random fields with the spectrum of photographs: power falls with a power of the frequency.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace penstock::synth {

/// A field of mean about 0 and deviation about 1 that repeats seamlessly; both sides are powers of two.
class Field {
  public:
    /// Sides are the least powers of two that cover `width` and `height`, at most 2048: larger images see it repeat,
    /// which surfaces with offsets of their own hide. Each octave has `persistence` times the
    /// amplitude of the coarser one: 1 gives power ~ f^-2, 0.7 gives f^-3. `key.stream` and the 15 after it are used.
    Field(std::uint32_t width, std::uint32_t height, float persistence, RandomKey key);

    [[nodiscard]] std::uint32_t width() const noexcept { return width_; }
    [[nodiscard]] std::uint32_t height() const noexcept { return height_; }
    /// Row `y` modulo the height.
    [[nodiscard]] const float* row(std::uint32_t y) const noexcept {
        return values_.data() + std::size_t{y & (height_ - 1)} * width_;
    }

  private:
    std::uint32_t width_;
    std::uint32_t height_;
    std::vector<float> values_;
};

}  // namespace penstock::synth
