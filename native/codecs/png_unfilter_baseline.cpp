// PNG un-filtering on SSE2, which every x86-64 processor has.
#if defined(__x86_64__)
#include "codecs/png_unfilter_kernels.h"
#include "codecs/png_unfilter_wide.h"

namespace penstock::png {

namespace {

struct Baseline {
    using Wide = Wide16;
    static constexpr bool kShuffles = false;

    static __m128i select(__m128i mask, __m128i yes, __m128i no) {
        return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
    }

    template <std::size_t kDistance>
    static __m128i repeat_pixel(__m128i v) {
        if constexpr (kDistance == 4) return _mm_shuffle_epi32(v, 0xff);
        const int pair = _mm_extract_epi16(v, 7);
        return kDistance == 1 ? _mm_set1_epi8(static_cast<char>(pair >> 8)) : _mm_set1_epi16(static_cast<short>(pair));
    }
};

}  // namespace

Unfilter unfilter_baseline(std::size_t distance) noexcept { return vector_kernels_for<Baseline>(distance); }

}  // namespace penstock::png
#endif
