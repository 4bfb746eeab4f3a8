// Changes colours as Pillow's ImageEnhance and HSV conversion do, pixel for pixel.
#pragma once

#include "base/image.h"
#include "pixels/draw.h"

namespace penstock {

/// Changes 8-bit pixels in place. Alpha (the second of two channels, the fourth of four) stays; grey has no saturation
/// and no hue. Throws `bad_argument` for 16-bit pixels.
void recolor(ImageView image, const ColorDraw& color);

}  // namespace penstock
