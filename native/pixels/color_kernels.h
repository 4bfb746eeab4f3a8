// Changes of colour of 8-bit rows, by instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

/// All work in place on `pixels` pixels of `channels` samples, of which the first three, or the only colour, change.
struct ColorKernels {
    /// Every colour goes from its grey to itself. Three channels or four.
    void (*saturate)(std::uint8_t* row, std::size_t pixels, std::size_t channels, float factor);
    /// Hues go round by `shift` of 256. Three channels or four.
    void (*turn_hue)(std::uint8_t* row, std::size_t pixels, std::size_t channels, std::uint8_t shift);
    /// The sum of all greys; changes nothing. Three channels or four.
    std::uint64_t (*sum_greys)(const std::uint8_t* row, std::size_t pixels, std::size_t channels);
};

extern const ColorKernels kColorPlain;
extern const ColorKernels kColorAvx2;
extern const ColorKernels kColorAvx512;

}  // namespace penstock
