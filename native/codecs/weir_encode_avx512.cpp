// The tile encoder for AVX-512 and BMI2.
#if defined(__x86_64__)
#include <immintrin.h>

#include "codecs/weir_encode_tile.h"

namespace penstock::weir {

namespace {

struct Avx512Ops : PlainOps, Vectors<64> {
    static constexpr std::size_t kBytes = 64;
    using Vectors<64>::Lanes8;
    using Vectors<64>::Lanes16;
    using Vectors<64>::Words;
    using Vectors<64>::Numbers;
    using Vectors<64>::same;

    PENSTOCK_INLINE Lanes8 average_up(Lanes8 a, Lanes8 b) noexcept {
        return (Lanes8)_mm512_avg_epu8((__m512i)a, (__m512i)b);
    }
    PENSTOCK_INLINE Lanes16 average_up(Lanes16 a, Lanes16 b) noexcept {
        return (Lanes16)_mm512_avg_epu16((__m512i)a, (__m512i)b);
    }

    // Zigzag is linear in the bits of a byte: bit 0 is the sign, bit i is bit i - 1 plus the sign.
    PENSTOCK_INLINE Lanes8 zigzag(Lanes8 v) noexcept {
        const __m512i matrix = _mm512_set1_epi64(static_cast<long long>(0x808182848890a0c0));
        return (Lanes8)_mm512_gf2p8affine_epi64_epi8((__m512i)v, matrix, 0);
    }
    PENSTOCK_INLINE Lanes16 zigzag(Lanes16 v) noexcept { return (v + v) ^ (Lanes16)_mm512_srai_epi16((__m512i)v, 15); }

    PENSTOCK_INLINE Numbers sums(Lanes8 v) noexcept {
        return (Numbers)_mm512_sad_epu8((__m512i)v, _mm512_setzero_si512());
    }
    PENSTOCK_INLINE Numbers sums(Lanes16 v) noexcept {
        const __m512i zero = _mm512_setzero_si512();
        const __m512i low = _mm512_sad_epu8((__m512i)(v & 0xff), zero);
        const __m512i high = _mm512_sad_epu8((__m512i)(v >> 8), zero);
        return (Numbers)_mm512_add_epi64(low, _mm512_slli_epi64(high, 8));
    }

    PENSTOCK_INLINE Numbers widths(Lanes8 v) noexcept {
        Words any = (Words)v;
        any |= any >> 32;
        any |= any >> 16;
        any |= any >> 8;
        return (Numbers)byte_widths((__m512i)(any & 0xff));
    }
    PENSTOCK_INLINE Numbers widths(Lanes16 v) noexcept {
        Words any = (Words)v | (Words)swap_halves((Numbers)v);
        any |= any >> 32;
        any |= any >> 16;
        const __m512i both = byte_widths((__m512i)(any & 0xffff));
        const __m512i low = _mm512_and_si512(both, _mm512_set1_epi32(0xff));
        const __m512i high = _mm512_srli_epi32(both, 8);
        return (Numbers)_mm512_mask_add_epi32(low, _mm512_test_epi32_mask(high, high), high, _mm512_set1_epi32(8));
    }

    PENSTOCK_INLINE Numbers swap_halves(Numbers v) noexcept {
        return (Numbers)_mm512_shuffle_epi32((__m512i)v, _MM_PERM_BADC);
    }

    PENSTOCK_INLINE std::uint64_t at_least(const std::uint8_t* bytes, std::uint32_t bound) noexcept {
        return _mm512_cmpge_epu8_mask(load_as<__m512i>(bytes), _mm512_set1_epi8(static_cast<char>(bound)));
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
    PENSTOCK_INLINE __m512i byte_widths(__m512i v) noexcept {
        const __m128i low_table = _mm_setr_epi8(0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4);
        const __m128i high_table = _mm_setr_epi8(0, 5, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8);
        const __m512i nibble = _mm512_set1_epi8(15);
        const __m512i low = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(low_table), _mm512_and_si512(v, nibble));
        const __m512i high =
            _mm512_shuffle_epi8(_mm512_broadcast_i32x4(high_table), _mm512_and_si512(_mm512_srli_epi16(v, 4), nibble));
        return _mm512_max_epu8(low, high);
    }
};

}  // namespace

std::size_t encode_tile_avx512(const EncodeJob& job, std::uint8_t* out) noexcept {
    return encode_tile_with<Avx512Ops>(job, out);
}

}  // namespace penstock::weir
#endif
