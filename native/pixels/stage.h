// Runs one stage of a draw: reads the pixels it covers and hands finished rows, padding included, to a sink.
#pragma once

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

/// What a stage reads of its input of `size`, which is decoded at 1 / `scale`. At least one pixel.
[[nodiscard]] Region stage_region(const Stage& stage, Filter filter, ImageSize size, std::uint32_t scale);

/// Runs the stage on `image`, which is `covered` of an input of `size` decoded at 1 / `scale`.
void run_stage(const Stage& stage, Filter filter, const Fill& fill, ConstImageView image, Region covered,
               ImageSize size, std::uint32_t scale, StageScratch& scratch, RowSink& sink);

}  // namespace penstock
