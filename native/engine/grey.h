// Colours to grey, as Pillow's `convert("L")` weighs them.
#pragma once

#include "base/image.h"

namespace penstock {

/// Writes the luma (ITU-R 601-2) of pixels with 3 or 4 channels to `out`, of the same size and sample type with one.
void to_grey(ConstImageView pixels, ImageView out) noexcept;

}  // namespace penstock
