// Images made smaller on their way into a dataset.
#pragma once

#include <cstdint>

#include "base/buffer.h"

namespace penstock {

/// Largest size of an image; 0 means unlimited. Images are never enlarged, and keep the ratio of their sides.
struct SizeLimit {
    std::uint32_t max_side = 0;    ///< of the longer side
    std::uint32_t short_side = 0;  ///< of the shorter side
};

/// The shape that an image gets; its own if it is small enough.
[[nodiscard]] PixelShape limited(const PixelShape& shape, const SizeLimit& limit) noexcept;

/// Resizes an image: Lanczos as in Pillow, or the nearest pixel if values are not colours.
[[nodiscard]] OwnedImage shrink(const OwnedImage& image, const PixelShape& shape, bool nearest);

}  // namespace penstock
