// Sharpening and blurs of 8-bit images: Pillow's, to the bit, and torchvision's Gaussian, within one level.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"

namespace penstock {

/// Working memory of a blur.
struct BlurScratch {
    ByteBuffer image;
    ByteBuffer rows;
    std::vector<std::uint32_t> sums;
    std::vector<float> floats;
    std::vector<float> weights;
    std::vector<const float*> taps;
};

/// Blends an image with its smoothed self, as Pillow's ImageEnhance.Sharpness; alpha stays. Images of less than three
/// rows or columns stay as they are.
void sharpen(ImageView image, float factor, BlurScratch& scratch);

/// Pillow's GaussianBlur(sigma): three boxes along rows, then three along columns. Every channel changes.
void pillow_blur(ImageView image, float sigma, BlurScratch& scratch);

/// torchvision's GaussianBlur with `kernel` rows and columns. Every channel changes. Throws `bad_argument` if half of
/// the kernel does not fit the image, as torchvision does.
void gaussian_blur(ImageView image, double sigma, std::array<std::uint32_t, 2> kernel, BlurScratch& scratch);

}  // namespace penstock
