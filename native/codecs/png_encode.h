// PNG out of pixels: filter each row, deflate in one shot.
#pragma once

#include "base/buffer.h"
#include "base/image.h"

namespace penstock::png {

/// Highest compression level; 0 stores, 6 is the usual balance.
inline constexpr int kMaxLevel = 12;

/// Encodes 8- or 16-bit pixels of 1 to 4 channels as grey, grey+alpha, RGB or RGBA.
[[nodiscard]] ByteBuffer encode(ConstImageView pixels, int level);

}  // namespace penstock::png
