// Runs one stage of a draw: reads the pixels it covers and hands finished rows, padding included, to a sink.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/image.h"
#include "pixels/operations.h"
#include "pixels/resize.h"

namespace penstock {

/// Working memory of a stage.
struct StageScratch {
    ResizeScratch resize;
    std::vector<std::uint32_t> rows;     ///< source row of every output row
    std::vector<std::uint32_t> columns;  ///< source column of every output column
    std::vector<std::uint8_t> fill;      ///< one pixel of padding
};

/// One pixel of a fill for pixels of `shape`: its values cut to integers within the range of samples.
void set_fill(const Fill& fill, PixelShape shape, std::vector<std::uint8_t>& pixel);

/// Returns the region that a stage reads of its input of `size`, decoded at 1 / `scale`; at least one pixel.
[[nodiscard]] Region stage_region(const Stage& stage, Filter filter, ImageSize size, std::uint32_t scale);

/// Runs the stage on `image`, which is `covered` of an input of `size` decoded at 1 / `scale`.
void run_stage(const Stage& stage, Filter filter, const Fill& fill, ConstImageView image, Region covered,
               ImageSize size, std::uint32_t scale, StageScratch& scratch, RowSink& sink);

/// One direction of a stage as numbers. Output i is the sum, over t < `taps`, of weight [t][i] times sample first[i] +
/// t of what the stage reads; a copy is one tap of weight 1.
struct SideTable {
    std::uint32_t taps = 1;
    std::vector<std::int32_t> first;    ///< kNoSource: padding
    std::vector<std::int32_t> weights;  ///< of 8-bit samples, 1 << kWeightBits for 1
    std::vector<double> fractions;      ///< of 16-bit samples
};
constexpr std::int32_t kNoSource = -1;

/// Tables of a stage, for code that computes it elsewhere: first along x, then along y, each rounded and clamped to
/// samples as in `resize`.
struct StageTables {
    SideTable rows;
    SideTable columns;
    std::array<std::uint16_t, 4> fill{};  ///< of every channel of the input
};

/// The tables of a stage that reads `covered` of an input of `size` with samples of `sample_bytes`.
[[nodiscard]] StageTables stage_tables(const Stage& stage, Filter filter, const Fill& fill, Region covered,
                                       ImageSize size, std::uint8_t sample_bytes);

}  // namespace penstock
