// Sharpening and blurs of 8-bit rows, by instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

/// A box of 2 * `radius` + 1 samples of weight `whole` between two of weight `edge`, in units of 2^-24.
struct BoxWeights {
    std::uint32_t radius = 0;
    std::uint32_t whole = 0;
    std::uint32_t edge = 0;
};

/// All work on rows of `samples` samples, of `channels` a pixel.
struct NeighborKernels {
    /// Blends what a 3x3 smoothing makes of the inner pixels of a row with the row itself: its first and its last pixel
    /// stay. `keeps_alpha`: the last channel stays, too. `out` differs from the rows.
    void (*sharpen)(const std::uint8_t* const* rows, std::size_t samples, std::size_t channels, bool keeps_alpha,
                    float factor, std::uint8_t* out);
    /// A box along a row with `radius` + 1 more pixels on both sides.
    void (*box_row)(const std::uint8_t* padded, std::size_t samples, std::size_t channels, const BoxWeights& weights,
                    std::uint8_t* out);
    /// One row of a box along columns. `sums` has the sums of the rows within the radius; afterwards those of the next
    /// row. `before` and `behind` are the rows at the edges, `leaving` is the first row within the radius.
    void (*box_column)(std::uint32_t* sums, const std::uint8_t* before, const std::uint8_t* behind,
                       const std::uint8_t* leaving, std::size_t samples, const BoxWeights& weights, std::uint8_t* out);
    /// Weighs `taps` neighbours along a row with taps / 2 more pixels on both sides.
    void (*weigh_row)(const std::uint8_t* padded, std::size_t samples, std::size_t channels, const float* weights,
                      std::size_t taps, float* out);
    /// Weighs `taps` rows; rounds to the nearest level, halves to even.
    void (*weigh_column)(const float* const* rows, std::size_t samples, const float* weights, std::size_t taps,
                         std::uint8_t* out);
};

extern const NeighborKernels kNeighborPlain;
extern const NeighborKernels kNeighborAvx2;
extern const NeighborKernels kNeighborAvx512;

}  // namespace penstock
