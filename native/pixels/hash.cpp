#include "pixels/hash.h"

#define XXH_INLINE_ALL  // a stream's state on the stack: no allocation, no failure
#include <xxhash.h>

#include <bit>
#include <cstring>

namespace penstock {

static_assert(std::endian::native == std::endian::little, "samples are hashed as they lie in memory");

PixelHash hash_pixels(const ConstImageView& pixels) {
    const PixelShape& shape = pixels.shape;
    std::array<std::uint8_t, 256> prefix{};
    const std::array<std::uint32_t, 4> numbers{shape.height, shape.width, shape.channels, 8u * shape.sample_bytes};
    std::memcpy(prefix.data(), numbers.data(), sizeof numbers);
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, prefix.data(), prefix.size());
    if (pixels.row_stride == shape.row_bytes()) {
        XXH3_128bits_update(&state, pixels.data, shape.bytes());
    } else {
        for (std::size_t y = 0; y < shape.height; ++y) {
            XXH3_128bits_update(&state, pixels.row(y), shape.row_bytes());
        }
    }
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
    PixelHash hash;
    std::memcpy(hash.data(), canonical.digest, hash.size());
    return hash;
}

}  // namespace penstock
