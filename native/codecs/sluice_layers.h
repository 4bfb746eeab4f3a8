// Two layers of Sluice: the seam to the code that adds layer 2 to a tile, or does without it, and the symbols of layer
// 2 for the encoder. spec/sluice.md, "Two layers". Only sluice*.cpp include this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "codecs/sluice.h"

namespace penstock::sluice {

inline constexpr unsigned kNumLayers = 2;
inline constexpr std::uint8_t kCoarseLimit = 7;    // of a magnitude of layer 1, as contexts count it
inline constexpr std::uint8_t kRefinedLimit = 31;  // of the whole magnitude; seven of them fit a byte

/// Number that a decoder of a prefix adds to the magnitude of a coefficient of layer 1.
constexpr unsigned coarse_offset(unsigned bits) { return ((1U << bits) - 1) / 2; }

/// Largest magnitude of layer 1 whose whole magnitude fits a byte of `CoefficientGroup::narrow`.
constexpr int max_narrow(unsigned bits) { return 127 >> bits; }

// Decoding -------------------------------------------------------------------------------------------------------

/// Adds layer 2 to a tile: `job.out` holds layer 1, all else in `job` belongs to layer 2. On a fault the output is
/// undefined. Every path gives the same coefficients and accepts the same segments.
using RefineTile = TileFault (*)(const TileJob& job, unsigned bits) noexcept;

TileFault refine_tile_plain(const TileJob& job, unsigned bits) noexcept;
TileFault refine_tile_avx2(const TileJob& job, unsigned bits) noexcept;
TileFault refine_tile_avx512(const TileJob& job, unsigned bits) noexcept;
/// The same, with table look-ups by gather instructions.
TileFault refine_tile_avx2_gather(const TileJob& job, unsigned bits) noexcept;
TileFault refine_tile_avx512_gather(const TileJob& job, unsigned bits) noexcept;

/// Gives the coefficients of layer 1 the magnitudes that they have without layer 2.
using WidenGroups = void (*)(jpeg::CoefficientGroup* groups, std::size_t num_groups, unsigned bits) noexcept;

void widen_groups_plain(jpeg::CoefficientGroup* groups, std::size_t num_groups, unsigned bits) noexcept;
void widen_groups_avx2(jpeg::CoefficientGroup* groups, std::size_t num_groups, unsigned bits) noexcept;
void widen_groups_avx512(jpeg::CoefficientGroup* groups, std::size_t num_groups, unsigned bits) noexcept;

/// Those of the active SIMD path.
struct LayerDecoders {
    RefineTile refine = refine_tile_plain;
    WidenGroups widen = widen_groups_plain;
};
[[nodiscard]] LayerDecoders active_layer_decoders() noexcept;

// Encoding -------------------------------------------------------------------------------------------------------

/// The image of layer 1: all coefficients but DC without their lowest bits.
[[nodiscard]] jpeg::CoefficientImage coarse_image(const jpeg::CoefficientImage& image, unsigned bits);

/// Lists the symbols of layer 2 of tiles; keeps its memory from tile to tile.
class RefinementWalk {
  public:
    RefinementWalk(const jpeg::CoefficientImage& image, const Layout& layout, unsigned bits);
    ~RefinementWalk();

    const TileSymbols& walk(std::uint32_t tile_x, std::uint32_t tile_y);

  private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace penstock::sluice
