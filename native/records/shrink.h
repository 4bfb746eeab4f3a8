// Images made smaller on their way into a dataset.
#pragma once

#include <cstdint>

#include "base/buffer.h"

namespace penstock {

/// How large an image may be; 0 is no limit. Nothing is ever enlarged, and the ratio of the sides stays.
struct SizeLimit {
    std::uint32_t max_side = 0;    ///< of the longer side
    std::uint32_t short_side = 0;  ///< of the shorter side
};

/// The shape that an image gets; its own if it is small enough.
[[nodiscard]] PixelShape limited(const PixelShape& shape, const SizeLimit& limit) noexcept;

/// The image in another size: Lanczos as Pillow does it, or the nearest pixel where values are no colours.
[[nodiscard]] OwnedImage shrink(const OwnedImage& image, const PixelShape& shape, bool nearest);

}  // namespace penstock
