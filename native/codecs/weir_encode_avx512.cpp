// The tile encoder for AVX-512 and BMI2.
#if defined(__x86_64__)

#include <immintrin.h>

#include "codecs/weir_encode_tile.h"

namespace penstock::weir {

namespace {

struct Avx512Ops : PlainOps {
    struct Two {
        __m512i v[2];
    };

    PENSTOCK_INLINE Lanes8 average_up(const Lanes8& a, const Lanes8& b) noexcept {
        return (Lanes8)_mm512_avg_epu8((__m512i)a, (__m512i)b);
    }
    PENSTOCK_INLINE Lanes16 average_up(const Lanes16& a, const Lanes16& b) noexcept {
        const auto x = __builtin_bit_cast(Two, a);
        const auto y = __builtin_bit_cast(Two, b);
        return __builtin_bit_cast(Lanes16, Two{{_mm512_avg_epu16(x.v[0], y.v[0]), _mm512_avg_epu16(x.v[1], y.v[1])}});
    }

    // Zigzag is linear in the bits of a byte: bit 0 is the sign, bit i is bit i - 1 plus the sign.
    PENSTOCK_INLINE Lanes8 zigzag(const Lanes8& lanes) noexcept {
        const __m512i matrix = _mm512_set1_epi64(static_cast<long long>(0x808182848890a0c0));
        return (Lanes8)_mm512_gf2p8affine_epi64_epi8((__m512i)lanes, matrix, 0);
    }
    PENSTOCK_INLINE Lanes16 zigzag(const Lanes16& lanes) noexcept {
        auto x = __builtin_bit_cast(Two, lanes);
        for (__m512i& v : x.v) v = _mm512_xor_si512(_mm512_add_epi16(v, v), _mm512_srai_epi16(v, 15));
        return __builtin_bit_cast(Lanes16, x);
    }

    PENSTOCK_INLINE Blocks block_sums(const Lanes8& lanes) noexcept {
        return (Blocks)_mm512_sad_epu8((__m512i)lanes, _mm512_setzero_si512());
    }
    PENSTOCK_INLINE Blocks block_sums(const Lanes16& lanes) noexcept {
        const auto x = __builtin_bit_cast(Two, lanes);
        const auto add = [](__m512i a, __m512i b) { return _mm512_add_epi64(a, b); };
        return (Blocks)join(quarter_sums(x.v[0]), quarter_sums(x.v[1]), add);
    }

    PENSTOCK_INLINE Blocks block_widths(const Lanes8& lanes) noexcept {
        auto v = (__m512i)lanes;
        v = _mm512_or_si512(v, _mm512_srli_epi64(v, 32));
        v = _mm512_or_si512(v, _mm512_srli_epi64(v, 16));
        v = _mm512_or_si512(v, _mm512_srli_epi64(v, 8));
        return (Blocks)byte_widths(_mm512_and_si512(v, _mm512_set1_epi64(0xff)));
    }
    PENSTOCK_INLINE Blocks block_widths(const Lanes16& lanes) noexcept {
        const auto x = __builtin_bit_cast(Two, lanes);
        __m512i v = join(x.v[0], x.v[1], [](__m512i a, __m512i b) { return _mm512_or_si512(a, b); });
        v = _mm512_or_si512(v, _mm512_srli_epi64(v, 32));
        v = _mm512_or_si512(v, _mm512_srli_epi64(v, 16));
        const __m512i widths = byte_widths(_mm512_and_si512(v, _mm512_set1_epi64(0xffff)));
        const __m512i high = _mm512_srli_epi64(widths, 8);
        const __m512i low = _mm512_and_si512(widths, _mm512_set1_epi64(0xff));
        return (Blocks)_mm512_mask_add_epi64(low, _mm512_test_epi64_mask(high, high), high, _mm512_set1_epi64(8));
    }

    PENSTOCK_INLINE std::uint64_t at_least(const std::uint8_t* bytes, std::uint32_t bound) noexcept {
        return _mm512_cmpge_epu8_mask(_mm512_loadu_si512(bytes), _mm512_set1_epi8(static_cast<char>(bound)));
    }

    PENSTOCK_INLINE std::uint64_t gather_bits(std::uint64_t bits, std::uint64_t mask) noexcept {
        return _pext_u64(bits, mask);
    }
    PENSTOCK_INLINE std::uint64_t pack_bytes(std::uint64_t lanes, std::uint32_t width) noexcept {
        return _pext_u64(lanes, 0x0101010101010101 * ((1U << width) - 1));
    }
    PENSTOCK_INLINE std::uint64_t pack_words(std::uint64_t lanes, std::uint32_t width) noexcept {
        return _pext_u64(lanes, 0x0001000100010001 * ((std::uint64_t{1} << width) - 1));
    }

  private:
    // Sums of four lanes of two bytes, in each eighth.
    PENSTOCK_INLINE __m512i quarter_sums(__m512i v) noexcept {
        const __m512i zero = _mm512_setzero_si512();
        const __m512i low = _mm512_sad_epu8(_mm512_and_si512(v, _mm512_set1_epi16(0xff)), zero);
        const __m512i high = _mm512_sad_epu8(_mm512_srli_epi16(v, 8), zero);
        return _mm512_add_epi64(low, _mm512_slli_epi64(high, 8));
    }

    // Joins neighbouring eighths by `op`: sixteen of them become eight, in order.
    template <typename Op>
    PENSTOCK_INLINE __m512i join(__m512i a, __m512i b, Op op) noexcept {
        const __m512i mixed = op(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
        return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), mixed);
    }

    // The bit width of each byte, from its two halves.
    PENSTOCK_INLINE __m512i byte_widths(__m512i v) noexcept {
        const __m512i low_table = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4));
        const __m512i high_table =
            _mm512_broadcast_i32x4(_mm_setr_epi8(0, 5, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8));
        const __m512i nibble = _mm512_set1_epi8(15);
        const __m512i low = _mm512_shuffle_epi8(low_table, _mm512_and_si512(v, nibble));
        const __m512i high = _mm512_shuffle_epi8(high_table, _mm512_and_si512(_mm512_srli_epi16(v, 4), nibble));
        return _mm512_max_epu8(low, high);
    }
};

}  // namespace

std::size_t encode_tile_avx512(const EncodeJob& job, std::uint8_t* out) noexcept {
    return encode_tile_with<Avx512Ops>(job, out);
}

}  // namespace penstock::weir

#endif
