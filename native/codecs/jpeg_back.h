// The back half of a JPEG decoder: from quantised coefficients to pixels. Inverse DCT, upsampling and colour give
// exactly what libjpeg-turbo gives with its defaults (JDCT_ISLOW, fancy upsampling), at scales 1, 1/2, 1/4 and 1/8.
//
// Exactly means: the pixels of its vector code on x86-64, for any coefficients, crafted ones included. Its code for
// other processors gives the same for images made from 8-bit pixels; they may differ where sums exceed 16 bits. Nothing
// here allocates, throws or keeps state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/image.h"
#include "codecs/jpeg_group.h"
#include "codecs/jpeg_header.h"

namespace penstock::jpeg {

/// How samples of a component become as many as the image has pixels.
enum class Upsampling : std::uint8_t {
    none,
    fancy_across,  ///< h2v1, triangle filter
    fancy_down,    ///< h1v2, triangle filter
    fancy_both,    ///< h2v2, triangle filter
    replicate,     ///< any other whole ratio
};

/// A component of an image at a scale.
struct ComponentGeometry {
    Sampling sampling;
    std::uint8_t block_size = 8;  ///< samples that a block gives each way: 8, 4, 2 or 1
    Upsampling upsampling = Upsampling::none;
    std::uint8_t expand_across = 1;  ///< pixels for each sample, 1 to 4
    std::uint8_t expand_down = 1;
    std::uint32_t width = 0;  ///< samples of the whole image; what blocks have beyond it is padding that nothing reads
    std::uint32_t height = 0;
    std::uint32_t blocks_across = 0;  ///< blocks with at least one sample of the image
    std::uint32_t blocks_down = 0;
};

/// An image at a scale.
struct ImageGeometry {
    std::uint32_t width = 0;  ///< pixels, scaled
    std::uint32_t height = 0;
    std::uint32_t scale = 1;
    Color color = Color::grey;
    std::uint8_t num_components = 1;
    std::uint32_t mcu_width = 8;  ///< pixels of an MCU, scaled
    std::uint32_t mcu_height = 8;
    std::uint32_t mcus_across = 0;
    std::uint32_t mcus_down = 0;
    std::array<ComponentGeometry, 3> components{};
};

/// What a frame header says about an image: its size, unscaled, and one entry of `sampling` for each component.
struct FrameLayout {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    Color color = Color::grey;
    std::span<const Sampling> sampling;
};

/// Lays out an image at `scale` (1, 2, 4, 8) as libjpeg-turbo does.
///
/// Nothing for what libjpeg-turbo refuses or this file leaves to it: other than one or three components, CMYK, sampling
/// factors outside 1 to 4, ratios that are not whole, more than ten blocks in an MCU.
[[nodiscard]] std::optional<ImageGeometry> geometry_of(const FrameLayout& frame, std::uint32_t scale) noexcept;

/// Samples of a component, half-open.
struct SampleWindow {
    std::uint32_t x_begin = 0;
    std::uint32_t x_end = 0;
    std::uint32_t y_begin = 0;
    std::uint32_t y_end = 0;
};

/// The samples of `component` that `write_pixels` reads for `region` (pixels of the scaled image).
///
/// Without upsampling: those of the region. Replicated: those that cover the region. By a triangle filter: one more on
/// each side in the direction of the filter. All limited to the component's `width` and `height`: past the edge of the
/// image, and only there, the last sample is repeated.
[[nodiscard]] SampleWindow samples_for(const ComponentGeometry& component, const Region& region) noexcept;

/// Bytes that vector code may read beyond the last sample of a row that it needs, and throws away.
inline constexpr std::size_t kPlaneSlack = 64;

/// A part of a component's samples. It must hold `samples_for` the region that it is used for, and `kPlaneSlack` bytes
/// behind the last sample of every such row must be readable.
struct PlaneView {
    const std::uint8_t* samples = nullptr;  ///< sample (x, y) of the component
    std::size_t stride = 0;
    std::uint32_t x = 0;
    std::uint32_t y = 0;
};

/// Upsamples and converts `region` (pixels of the scaled image, within it) into `out`, whose first byte is the region's
/// first pixel: one byte a pixel for grey, else three. `planes` has one entry for each component.
///
/// The pixels are those of the whole decode. Writes nothing outside of the region. Safe from many threads.
void write_pixels(const ImageGeometry& geometry, std::span<const PlaneView> planes, const Region& region,
                  std::uint8_t* out, std::size_t row_stride) noexcept;

/// A quantisation table in zigzag order.
using QuantTable = std::array<std::uint16_t, 64>;

inline constexpr std::size_t kRunBlocks = 8;
inline constexpr std::size_t kGroupRuns = kGroupBlocks / kRunBlocks;

/// Where the samples of each run of eight lanes go: `block_size` rows of 8 * `block_size` samples, the blocks side by
/// side. A null pointer: that run is not wanted.
struct RunTargets {
    std::array<std::uint8_t*, kGroupRuns> runs{};
    std::size_t stride = 0;
};

/// Dequantises the blocks of `group` and transforms them back to samples of `block_size` (8, 4, 2, 1) each way.
///
/// Writes whole runs: planes have room for a multiple of 8 * `block_size` samples in each row.
void inverse_dct(const CoefficientGroup& group, const QuantTable& quant, unsigned block_size,
                 const RunTargets& out) noexcept;

/// Targets of a group of 8x8 blocks whose first sample goes to `out`, block rows [begin, end) only.
[[nodiscard]] inline RunTargets tile_targets(std::uint8_t* out, std::size_t stride, unsigned block_size,
                                             std::size_t begin, std::size_t end) noexcept {
    RunTargets targets;
    targets.stride = stride;
    for (std::size_t row = begin; row < end; ++row) targets.runs[row] = out + row * block_size * stride;
    return targets;
}

}  // namespace penstock::jpeg
