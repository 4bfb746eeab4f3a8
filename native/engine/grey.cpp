#include "engine/grey.h"

#include <cstdint>

namespace penstock {

namespace {

// Pillow's weights, in 65536ths.
template <typename Sample>
void grey_row(const Sample* pixel, std::size_t channels, Sample* out, std::size_t width) noexcept {
    for (std::size_t x = 0; x < width; ++x, pixel += channels) {
        const std::uint64_t sum =
            std::uint64_t{19595} * pixel[0] + std::uint64_t{38470} * pixel[1] + std::uint64_t{7471} * pixel[2];
        out[x] = static_cast<Sample>((sum + 0x8000) >> 16);
    }
}

}  // namespace

void to_grey(ConstImageView pixels, ImageView out) noexcept {
    for (std::size_t y = 0; y < out.shape.height; ++y) {
        if (out.shape.sample_bytes == 2) {
            grey_row(reinterpret_cast<const std::uint16_t*>(pixels.row(y)), pixels.shape.channels,
                     reinterpret_cast<std::uint16_t*>(out.row(y)), out.shape.width);
        } else {
            grey_row(pixels.row(y), pixels.shape.channels, out.row(y), out.shape.width);
        }
    }
}

}  // namespace penstock
