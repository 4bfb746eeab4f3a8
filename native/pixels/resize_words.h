// Resize of 16-bit samples, in double precision as Pillow does it.
#pragma once

#include "pixels/resize.h"

namespace penstock {

/// Resizes like `resize`, for 16-bit samples.
void resize_words(ConstImageView source, const Axis& vertical, std::uint32_t top, const Axis& horizontal,
                  std::uint32_t left, ResizeScratch& scratch, RowSink& sink);

}  // namespace penstock
