// The tile encoder for AVX2 and BMI2.
#if defined(__x86_64__)

#include <immintrin.h>

#include "codecs/weir_encode_tile.h"

namespace penstock::weir {

namespace {

struct Avx2Ops : PlainOps {
    struct Two {
        __m256i v[2];
    };
    struct Four {
        __m256i v[4];
    };

    PENSTOCK_INLINE Lanes8 average_up(const Lanes8& a, const Lanes8& b) noexcept {
        const auto x = __builtin_bit_cast(Two, a);
        const auto y = __builtin_bit_cast(Two, b);
        return __builtin_bit_cast(Lanes8, Two{{_mm256_avg_epu8(x.v[0], y.v[0]), _mm256_avg_epu8(x.v[1], y.v[1])}});
    }
    PENSTOCK_INLINE Lanes16 average_up(const Lanes16& a, const Lanes16& b) noexcept {
        const auto x = __builtin_bit_cast(Four, a);
        const auto y = __builtin_bit_cast(Four, b);
        return __builtin_bit_cast(Lanes16, Four{{_mm256_avg_epu16(x.v[0], y.v[0]), _mm256_avg_epu16(x.v[1], y.v[1]),
                                                 _mm256_avg_epu16(x.v[2], y.v[2]), _mm256_avg_epu16(x.v[3], y.v[3])}});
    }

    PENSTOCK_INLINE Lanes8 zigzag(const Lanes8& lanes) noexcept {
        auto x = __builtin_bit_cast(Two, lanes);
        const __m256i zero = _mm256_setzero_si256();
        for (__m256i& v : x.v) v = _mm256_xor_si256(_mm256_add_epi8(v, v), _mm256_cmpgt_epi8(zero, v));
        return __builtin_bit_cast(Lanes8, x);
    }
    PENSTOCK_INLINE Lanes16 zigzag(const Lanes16& lanes) noexcept {
        auto x = __builtin_bit_cast(Four, lanes);
        for (__m256i& v : x.v) v = _mm256_xor_si256(_mm256_add_epi16(v, v), _mm256_srai_epi16(v, 15));
        return __builtin_bit_cast(Lanes16, x);
    }

    PENSTOCK_INLINE Blocks block_sums(const Lanes8& lanes) noexcept {
        const auto x = __builtin_bit_cast(Two, lanes);
        const __m256i zero = _mm256_setzero_si256();
        return __builtin_bit_cast(Blocks, Two{{_mm256_sad_epu8(x.v[0], zero), _mm256_sad_epu8(x.v[1], zero)}});
    }
    PENSTOCK_INLINE Blocks block_sums(const Lanes16& lanes) noexcept {
        const auto x = __builtin_bit_cast(Four, lanes);
        const auto add = [](__m256i a, __m256i b) { return _mm256_add_epi64(a, b); };
        return join(quarter_sums(x.v[0]), quarter_sums(x.v[1]), quarter_sums(x.v[2]), quarter_sums(x.v[3]), add);
    }

    PENSTOCK_INLINE Blocks block_widths(const Lanes8& lanes) noexcept {
        auto x = __builtin_bit_cast(Two, lanes);
        for (__m256i& v : x.v) {
            v = _mm256_or_si256(v, _mm256_srli_epi64(v, 32));
            v = _mm256_or_si256(v, _mm256_srli_epi64(v, 16));
            v = _mm256_or_si256(v, _mm256_srli_epi64(v, 8));
            v = byte_widths(_mm256_and_si256(v, _mm256_set1_epi64x(0xff)));
        }
        return __builtin_bit_cast(Blocks, x);
    }
    PENSTOCK_INLINE Blocks block_widths(const Lanes16& lanes) noexcept {
        const auto x = __builtin_bit_cast(Four, lanes);
        const auto either = [](__m256i a, __m256i b) { return _mm256_or_si256(a, b); };
        auto any = __builtin_bit_cast(Two, join(x.v[0], x.v[1], x.v[2], x.v[3], either));
        for (__m256i& v : any.v) {
            v = _mm256_or_si256(v, _mm256_srli_epi64(v, 32));
            v = _mm256_or_si256(v, _mm256_srli_epi64(v, 16));
            const __m256i widths = byte_widths(_mm256_and_si256(v, _mm256_set1_epi64x(0xffff)));
            const __m256i high = _mm256_srli_epi64(widths, 8);
            const __m256i eight =
                _mm256_andnot_si256(_mm256_cmpeq_epi64(high, _mm256_setzero_si256()), _mm256_set1_epi64x(8));
            v = _mm256_max_epu8(_mm256_and_si256(widths, _mm256_set1_epi64x(0xff)), _mm256_add_epi64(high, eight));
        }
        return __builtin_bit_cast(Blocks, any);
    }

    PENSTOCK_INLINE std::uint64_t at_least(const std::uint8_t* bytes, std::uint32_t bound) noexcept {
        const auto x = load_as<Two>(bytes);
        const __m256i low = _mm256_set1_epi8(static_cast<char>(bound));
        const auto mask = [low](__m256i v) {
            return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(v, low), v)));
        };
        return mask(x.v[0]) | std::uint64_t{mask(x.v[1])} << 32;
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
    // Sums of four lanes of two bytes, in each quarter.
    PENSTOCK_INLINE __m256i quarter_sums(__m256i v) noexcept {
        const __m256i zero = _mm256_setzero_si256();
        const __m256i low = _mm256_sad_epu8(_mm256_and_si256(v, _mm256_set1_epi16(0xff)), zero);
        const __m256i high = _mm256_sad_epu8(_mm256_srli_epi16(v, 8), zero);
        return _mm256_add_epi64(low, _mm256_slli_epi64(high, 8));
    }

    // Joins neighbouring quarters by `op`: sixteen of them become eight, in order.
    template <typename Op>
    PENSTOCK_INLINE Blocks join(__m256i a, __m256i b, __m256i c, __m256i d, Op op) noexcept {
        const __m256i first = op(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
        const __m256i second = op(_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
        return __builtin_bit_cast(
            Blocks, Two{{_mm256_permute4x64_epi64(first, 0b11011000), _mm256_permute4x64_epi64(second, 0b11011000)}});
    }

    // The bit width of each byte, from its two halves.
    PENSTOCK_INLINE __m256i byte_widths(__m256i v) noexcept {
        const __m256i low_table =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4));
        const __m256i high_table =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 5, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8));
        const __m256i nibble = _mm256_set1_epi8(15);
        const __m256i low = _mm256_shuffle_epi8(low_table, _mm256_and_si256(v, nibble));
        const __m256i high = _mm256_shuffle_epi8(high_table, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble));
        return _mm256_max_epu8(low, high);
    }
};

}  // namespace

std::size_t encode_tile_avx2(const EncodeJob& job, std::uint8_t* out) noexcept {
    return encode_tile_with<Avx2Ops>(job, out);
}

}  // namespace penstock::weir

#endif
