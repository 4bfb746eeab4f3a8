// PNG un-filtering on AVX2: wider preparation, blends instead of three logical operations.
#if defined(__x86_64__)
#include <immintrin.h>

#include "codecs/png_unfilter_kernels.h"
#include "codecs/png_unfilter_wide.h"

namespace penstock::png {

namespace {

struct Avx2 {
    using Wide = Wide32;
    static constexpr bool kShuffles = true;

    static __m128i select(__m128i mask, __m128i yes, __m128i no) { return _mm_blendv_epi8(no, yes, mask); }

    template <std::size_t kDistance>
    static __m128i repeat_pixel(__m128i v) {
        return repeat_pixel_by_shuffle<kDistance>(v);
    }
};

}  // namespace

Unfilter unfilter_avx2(std::size_t distance) noexcept { return vector_kernels_for<Avx2>(distance); }

}  // namespace penstock::png
#endif
