// The hash by which a dataset remembers pixels: spec/dataset.md, "The hash of pixels".
#pragma once

#include <array>
#include <cstdint>

#include "base/image.h"

namespace penstock {

using PixelHash = std::array<std::uint8_t, 16>;

/// XXH3-128 of shape, depth and samples. Equal images have equal hashes, however their rows are strided.
[[nodiscard]] PixelHash hash_pixels(const ConstImageView& pixels);

}  // namespace penstock
