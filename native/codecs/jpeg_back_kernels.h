// What the paths of the processor do each in their own way for jpeg_back.h. A path's file calls nothing that is inline
// elsewhere (docs/decisions/0001): raw pointers and counts only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codecs/jpeg_group.h"

namespace penstock::jpeg {

/// Lanes that a kernel transforms in one call: half of a group.
inline constexpr std::size_t kHalfBlocks = 32;
inline constexpr std::size_t kHalfRuns = 4;

/// What a kernel may read and write beyond the end of a scratch row.
inline constexpr std::size_t kScratchSlack = 64;

/// Lanes [32 * half, 32 * half + 32) of `group` to samples, as `inverse_dct` does; null in `runs`: not wanted.
using InverseDct = void (*)(const CoefficientGroup& group, unsigned half, const std::uint16_t* quant,
                            std::uint8_t* const* runs, std::size_t stride) noexcept;

struct BackKernels {
    /// By the logarithm of the block's size: 1, 2, 4, 8 samples.
    InverseDct inverse_dct[4];

    /// Moves the first `num_positions` positions of eight quads (32 blocks) into the first half of `group.wide`, and
    /// leaves zeros behind. Up to eight positions more may be moved.
    void (*take_quads)(std::int16_t* quads, CoefficientGroup& group, std::size_t num_positions) noexcept;

    /// Rows of `count` samples to interleaved pixels. Inputs may be read up to `kScratchSlack` further; `out` is
    /// written to the byte.
    void (*ycc_to_rgb)(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::uint8_t* out,
                       std::size_t count) noexcept;
    void (*interleave)(const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b, std::uint8_t* out,
                       std::size_t count) noexcept;

    /// Scratch rows from here on: `kScratchSlack` bytes further may be read and written.
    ///
    /// sums[i] = samples[i]
    void (*widen)(const std::uint8_t* samples, std::uint16_t* sums, std::size_t count) noexcept;
    /// sums[i] = 3 * near[i] + far[i]
    void (*blend_rows)(const std::uint8_t* near, const std::uint8_t* far, std::uint16_t* sums,
                       std::size_t count) noexcept;
    /// out[i] = (3 * near[i] + far[i] + bias) / 4
    void (*blend_down)(const std::uint8_t* near, const std::uint8_t* far, unsigned bias, std::uint8_t* out,
                       std::size_t count) noexcept;
    /// out[2 * i] = (3 * sums[i] + sums[i - 1] + 1) / 4, out[2 * i + 1] = (3 * sums[i] + sums[i + 1] + 2) / 4
    void (*spread_across)(const std::uint16_t* sums, std::uint8_t* out, std::size_t count) noexcept;
    /// out[2 * i] = (3 * sums[i] + sums[i - 1] + 8) / 16, out[2 * i + 1] = (3 * sums[i] + sums[i + 1] + 7) / 16
    void (*spread_both)(const std::uint16_t* sums, std::uint8_t* out, std::size_t count) noexcept;
};

extern const BackKernels kBackPlain;
extern const BackKernels kBackBaseline;
extern const BackKernels kBackAvx2;
extern const BackKernels kBackAvx512;
extern const BackKernels kBackNeon;

/// Those of the active SIMD path.
[[nodiscard]] const BackKernels& active_back_kernels() noexcept;

}  // namespace penstock::jpeg
