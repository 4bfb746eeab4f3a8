// The tile encoder for AVX2 and BMI2.
#if defined(__x86_64__)
#include <immintrin.h>

#include "codecs/weir_encode_tile.h"

namespace penstock::weir {

namespace {

struct Avx2Ops : PlainOps, Vectors<32> {
    static constexpr std::size_t kBytes = 32;
    using Vectors<32>::Lanes8;
    using Vectors<32>::Lanes16;
    using Vectors<32>::Words;
    using Vectors<32>::Numbers;
    using Vectors<32>::same;

    PENSTOCK_INLINE Lanes8 average_up(Lanes8 a, Lanes8 b) noexcept {
        return (Lanes8)_mm256_avg_epu8((__m256i)a, (__m256i)b);
    }
    PENSTOCK_INLINE Lanes16 average_up(Lanes16 a, Lanes16 b) noexcept {
        return (Lanes16)_mm256_avg_epu16((__m256i)a, (__m256i)b);
    }

    PENSTOCK_INLINE Lanes8 zigzag(Lanes8 v) noexcept {
        return (v + v) ^ (Lanes8)_mm256_cmpgt_epi8(_mm256_setzero_si256(), (__m256i)v);
    }
    PENSTOCK_INLINE Lanes16 zigzag(Lanes16 v) noexcept { return (v + v) ^ (Lanes16)_mm256_srai_epi16((__m256i)v, 15); }

    PENSTOCK_INLINE Numbers sums(Lanes8 v) noexcept {
        return (Numbers)_mm256_sad_epu8((__m256i)v, _mm256_setzero_si256());
    }
    PENSTOCK_INLINE Numbers sums(Lanes16 v) noexcept {
        const __m256i zero = _mm256_setzero_si256();
        const __m256i low = _mm256_sad_epu8((__m256i)(v & 0xff), zero);
        const __m256i high = _mm256_sad_epu8((__m256i)(v >> 8), zero);
        return (Numbers)_mm256_add_epi64(low, _mm256_slli_epi64(high, 8));
    }

    PENSTOCK_INLINE Numbers widths(Lanes8 v) noexcept {
        Words any = (Words)v;
        any |= any >> 32;
        any |= any >> 16;
        any |= any >> 8;
        return (Numbers)byte_widths((__m256i)(any & 0xff));
    }
    PENSTOCK_INLINE Numbers widths(Lanes16 v) noexcept {
        Words any = (Words)v | (Words)swap_halves((Numbers)v);
        any |= any >> 32;
        any |= any >> 16;
        const Numbers both = (Numbers)byte_widths((__m256i)(any & 0xffff));
        const Numbers high = both >> 8;
        return (Numbers)_mm256_max_epi32((__m256i)(both & 0xff), (__m256i)(high + ((high > 0) & 8)));
    }

    PENSTOCK_INLINE Numbers swap_halves(Numbers v) noexcept {
        return (Numbers)_mm256_shuffle_epi32((__m256i)v, 0b01001110);
    }

    PENSTOCK_INLINE std::uint64_t at_least(const std::uint8_t* bytes, std::uint32_t bound) noexcept {
        const __m256i low = _mm256_set1_epi8(static_cast<char>(bound));
        const auto mask = [low](__m256i v) {
            return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(v, low), v)));
        };
        return mask(load_as<__m256i>(bytes)) | std::uint64_t{mask(load_as<__m256i>(bytes + 32))} << 32;
    }

    PENSTOCK_INLINE std::uint64_t gather_bits(std::uint64_t bits, std::uint64_t mask) noexcept {
        return _pext_u64(bits, mask);
    }
    PENSTOCK_INLINE std::uint64_t pack_bytes(std::uint64_t lanes, std::uint32_t width) noexcept {
        return _pext_u64(lanes, 0x0101010101010101 * ((std::uint64_t{1} << width) - 1));
    }
    PENSTOCK_INLINE std::uint64_t pack_words(std::uint64_t lanes, std::uint32_t width) noexcept {
        return _pext_u64(lanes, 0x0001000100010001 * ((std::uint64_t{1} << width) - 1));
    }

  private:
    // The bit width of each byte, from its two halves.
    PENSTOCK_INLINE __m256i byte_widths(__m256i v) noexcept {
        const __m128i low_table = _mm_setr_epi8(0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4);
        const __m128i high_table = _mm_setr_epi8(0, 5, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8);
        const __m256i nibble = _mm256_set1_epi8(15);
        const __m256i low = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(low_table), _mm256_and_si256(v, nibble));
        const __m256i high = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(high_table),
                                                 _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble));
        return _mm256_max_epu8(low, high);
    }
};

}  // namespace

std::size_t encode_tile_avx2(const EncodeJob& job, std::uint8_t* out) noexcept {
    return encode_tile_with<Avx2Ops>(job, out);
}

}  // namespace penstock::weir
#endif
