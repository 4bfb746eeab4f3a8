// Runs one warp of a draw: reads an image and hands finished rows, the fill outside of the input included, to a sink.
#pragma once

#include <cstdint>
#include <vector>

#include "base/image.h"
#include "pixels/operations.h"
#include "pixels/resize.h"
#include "pixels/warp_map.h"

namespace penstock {

/// Working memory of a warp.
struct WarpScratch {
    std::vector<std::uint8_t> fill;      ///< one pixel
    std::vector<std::uint32_t> columns;  ///< input column of every output column, for scales
};

/// Warps `image`, the whole input, with `filter` (that of the warp, or nearest for masks).
///
/// 8-bit results equal Pillow's `Image.transform` bit for bit; 16-bit ones have the same arithmetic. Pixels outside of
/// the input get the fill, without blending. Allocates nothing once `scratch` has grown.
void run_warp(const Warp& warp, Filter filter, const Fill& fill, ConstImageView image, WarpScratch& scratch,
              RowSink& sink);

}  // namespace penstock
