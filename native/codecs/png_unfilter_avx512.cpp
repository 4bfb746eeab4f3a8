// PNG un-filtering with AVX-512's three-operand logic, which makes a selection one cycle: a Paeth pixel depends on its
// left neighbour through three cycles instead of five. Vectors stay at 32 bytes: nothing here is wide enough for 64.
#if defined(__x86_64__)
#include <immintrin.h>

#include "codecs/png_unfilter_kernels.h"
#include "codecs/png_unfilter_wide.h"

namespace penstock::png {

namespace {

struct Avx512 {
    using Wide = Wide32;
    static constexpr bool kShuffles = true;

    static __m128i select(__m128i mask, __m128i yes, __m128i no) {
#if defined(PENSTOCK_PNG_PLAIN_SELECT)
        return Wide16::select({mask}, {yes}, {no}).v;
#else
        return _mm_ternarylogic_epi32(mask, yes, no, 0xca);
#endif
    }

    template <std::size_t kDistance>
    static __m128i repeat_pixel(__m128i v) {
        return repeat_pixel_by_shuffle<kDistance>(v);
    }
};

}  // namespace

Unfilter unfilter_avx512(std::size_t distance) noexcept { return vector_kernels_for<Avx512>(distance); }

}  // namespace penstock::png
#endif
