// The vocabulary of jpeg_back_simd.h in AVX-512: 32 blocks at a time, products of pairs are added in the same
// instruction (VNNI), and any order of bytes is one instruction (VBMI).
#if defined(__x86_64__)

#include <immintrin.h>

#include "codecs/jpeg_back_simd.h"

namespace penstock::jpeg {

namespace {

struct Shuffles {
    // Eight bytes of eight columns -> eight bytes of eight blocks. The columns are in the even or the odd quarters of
    // two registers.
    alignas(64) std::uint8_t blocks[2][64];
    alignas(64) std::uint8_t first_two[3][64];  // red and green of a third of the pixels, in place
    alignas(64) std::uint8_t third[3][64];      // blue
    std::uint64_t third_mask[3];
    alignas(64) std::uint16_t high_words[32];  // of the double words of two registers, put together lane by lane
};

constexpr Shuffles kShuffles = [] {
    Shuffles shuffles{};
    for (std::size_t i = 0; i < 64; ++i) {
        const std::size_t byte = i % 8 * 8 + i / 8;
        const std::size_t quarter = byte / 16 * 2;  // of two registers, four quarters each
        shuffles.blocks[0][i] = static_cast<std::uint8_t>(16 * quarter + byte % 16);
        shuffles.blocks[1][i] = static_cast<std::uint8_t>(16 * (quarter + 1) + byte % 16);
    }
    for (std::size_t part = 0; part < 3; ++part) {
        for (std::size_t i = 0; i < 64; ++i) {
            const std::size_t pixel = (64 * part + i) / 3;
            const std::size_t channel = (64 * part + i) % 3;
            shuffles.first_two[part][i] = static_cast<std::uint8_t>(channel == 1 ? 64 + pixel : pixel);
            shuffles.third[part][i] = static_cast<std::uint8_t>(pixel);
            if (channel == 2) shuffles.third_mask[part] |= std::uint64_t{1} << i;
        }
    }
    for (std::size_t i = 0; i < 32; ++i) {
        const std::size_t lane = i / 8;
        const std::size_t place = i % 8;
        const std::size_t word = 8 * lane + 2 * (place % 4) + 1;
        shuffles.high_words[i] = static_cast<std::uint16_t>(place < 4 ? word : 32 + word);
    }
    return shuffles;
}();

PENSTOCK_INLINE __m512i factors(int first, int second) {
    return _mm512_set1_epi32(
        static_cast<int>((static_cast<unsigned>(first) & 0xFFFF) | static_cast<unsigned>(second) << 16));
}

struct Avx512 {
    using Words = __m512i;
    using Longs = __m512i;
    using Pairs = __m512i;
    using Bytes = __m512i;
    static constexpr std::size_t kLanes = 32;
    static constexpr std::size_t kPixels = 64;

    static PENSTOCK_INLINE Words fill(std::int16_t value) { return _mm512_set1_epi16(value); }
    static PENSTOCK_INLINE Longs fill_longs(int value) { return _mm512_set1_epi32(value); }
    static PENSTOCK_INLINE Words load(const std::int16_t* words) { return _mm512_load_si512(words); }
    static PENSTOCK_INLINE Words load_unaligned(const std::int16_t* words) { return _mm512_loadu_si512(words); }
    static PENSTOCK_INLINE Words load_narrow(const std::int8_t* bytes) {
        return _mm512_cvtepi8_epi16(_mm256_load_si256(reinterpret_cast<const __m256i*>(bytes)));
    }
    static PENSTOCK_INLINE Words load_widened(const std::uint8_t* bytes) {
        return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
    }
    static PENSTOCK_INLINE void store(std::uint16_t* target, Words words) { _mm512_storeu_si512(target, words); }

    static PENSTOCK_INLINE Words add(Words a, Words b) { return _mm512_add_epi16(a, b); }
    static PENSTOCK_INLINE Words subtract(Words a, Words b) { return _mm512_sub_epi16(a, b); }
    static PENSTOCK_INLINE Words add_saturated(Words a, Words b) { return _mm512_adds_epi16(a, b); }
    static PENSTOCK_INLINE Words multiply_words(Words a, Words b) { return _mm512_mullo_epi16(a, b); }
    static PENSTOCK_INLINE Words exclusive_or(Words a, Words b) { return _mm512_xor_si512(a, b); }
    static PENSTOCK_INLINE Words either(Words a, Words b) { return _mm512_or_si512(a, b); }
    static PENSTOCK_INLINE bool is_any(Words a) { return _mm512_test_epi16_mask(a, a) != 0; }
    template <int kCount>
    static PENSTOCK_INLINE Words shift_words_left(Words a) {
        return _mm512_slli_epi16(a, kCount);
    }
    template <int kCount>
    static PENSTOCK_INLINE Words shift_words_right(Words a) {
        return _mm512_srai_epi16(a, kCount);
    }

    static PENSTOCK_INLINE Pairs pair_low(Words a, Words b) { return _mm512_unpacklo_epi16(a, b); }
    static PENSTOCK_INLINE Pairs pair_high(Words a, Words b) { return _mm512_unpackhi_epi16(a, b); }
    template <int kCount>
    static PENSTOCK_INLINE Words narrow(Longs low, Longs high) {
        // Of more than 16 bits nothing saturates: the upper words are all there is, and one shift does for both.
        if constexpr (kCount > 16) return _mm512_srai_epi16(high_words(low, high), kCount - 16);
        return _mm512_packs_epi32(_mm512_srai_epi32(low, kCount), _mm512_srai_epi32(high, kCount));
    }
    static PENSTOCK_INLINE Longs multiply(Pairs pairs, int first, int second) {
        return _mm512_madd_epi16(pairs, factors(first, second));
    }
    static PENSTOCK_INLINE Longs multiply_add(Longs sum, Pairs pairs, int first, int second) {
        return _mm512_dpwssd_epi32(sum, pairs, factors(first, second));
    }
    static PENSTOCK_INLINE void both(Longs sum, Pairs pairs, int first, int second, Longs& plus, Longs& minus) {
        const Longs positive = _mm512_dpwssd_epi32(sum, pairs, factors(first, second));
        minus = _mm512_dpwssd_epi32(sum, pairs, factors(-first, -second));
        plus = positive;
    }
    static PENSTOCK_INLINE Longs add_longs(Longs a, Longs b) { return _mm512_add_epi32(a, b); }
    static PENSTOCK_INLINE Longs subtract_longs(Longs a, Longs b) { return _mm512_sub_epi32(a, b); }
    static PENSTOCK_INLINE Words high_words(Longs low, Longs high) {
        return _mm512_permutex2var_epi16(low, _mm512_load_si512(kShuffles.high_words), high);
    }

    static PENSTOCK_INLINE void store_bytes(Words words, std::uint8_t* target) {
        const __m256i bytes = _mm512_cvtsepi16_epi8(words);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), _mm256_xor_si256(bytes, _mm256_set1_epi8(-128)));
    }

    /// Four registers of four times 128 bits.
    static PENSTOCK_INLINE void transpose_quarters(__m512i (&rows)[4]) {
        const __m512i a = _mm512_shuffle_i64x2(rows[0], rows[1], 0x44);
        const __m512i b = _mm512_shuffle_i64x2(rows[0], rows[1], 0xEE);
        const __m512i c = _mm512_shuffle_i64x2(rows[2], rows[3], 0x44);
        const __m512i d = _mm512_shuffle_i64x2(rows[2], rows[3], 0xEE);
        rows[0] = _mm512_shuffle_i64x2(a, c, 0x88);
        rows[1] = _mm512_shuffle_i64x2(a, c, 0xDD);
        rows[2] = _mm512_shuffle_i64x2(b, d, 0x88);
        rows[3] = _mm512_shuffle_i64x2(b, d, 0xDD);
    }
    static PENSTOCK_INLINE void transpose_quads(Words (&rows)[8]) {
        __m512i even[4];
        __m512i odd[4];
        for (int i = 0; i < 4; ++i) {
            even[i] = _mm512_unpacklo_epi64(rows[2 * i], rows[2 * i + 1]);
            odd[i] = _mm512_unpackhi_epi64(rows[2 * i], rows[2 * i + 1]);
        }
        transpose_quarters(even);
        transpose_quarters(odd);
        for (int i = 0; i < 4; ++i) {
            rows[2 * i] = even[i];
            rows[2 * i + 1] = odd[i];
        }
    }

    static PENSTOCK_INLINE void store_rows(const Words (&upper)[8], const Words (&lower)[8], std::uint8_t* const* runs,
                                           std::size_t stride, std::size_t row) {
        // 128 bits of a register: eight blocks of one column, the upper row, then the lower.
        __m512i columns[8];
        for (int x = 0; x < 8; ++x) {
            columns[x] = _mm512_xor_si512(_mm512_packs_epi16(upper[x], lower[x]), _mm512_set1_epi8(-128));
        }
        for (std::size_t i = 0; i < 2; ++i) {
            __m512i twos[4];  // 128 bits: eight blocks of two columns
            for (int x = 0; x < 4; ++x) {
                twos[x] = i == 0 ? _mm512_unpacklo_epi64(columns[2 * x], columns[2 * x + 1])
                                 : _mm512_unpackhi_epi64(columns[2 * x], columns[2 * x + 1]);
            }
            for (std::size_t half = 0; half < 2; ++half) {
                const __m512i left = half == 0 ? _mm512_shuffle_i64x2(twos[0], twos[1], 0x44)
                                               : _mm512_shuffle_i64x2(twos[0], twos[1], 0xEE);
                const __m512i right = half == 0 ? _mm512_shuffle_i64x2(twos[2], twos[3], 0x44)
                                                : _mm512_shuffle_i64x2(twos[2], twos[3], 0xEE);
                for (std::size_t j = 0; j < 2; ++j) {
                    std::uint8_t* const target = runs[2 * half + j];
                    if (target == nullptr) continue;
                    const __m512i blocks = _mm512_load_si512(kShuffles.blocks[j]);
                    _mm512_storeu_si512(target + (row + i) * stride, _mm512_permutex2var_epi8(left, blocks, right));
                }
            }
        }
    }

    static PENSTOCK_INLINE Bytes load_bytes(const std::uint8_t* bytes) { return _mm512_loadu_si512(bytes); }
    static PENSTOCK_INLINE Words words_low(Bytes bytes) { return _mm512_unpacklo_epi8(bytes, _mm512_setzero_si512()); }
    static PENSTOCK_INLINE Words words_high(Bytes bytes) { return _mm512_unpackhi_epi8(bytes, _mm512_setzero_si512()); }
    static PENSTOCK_INLINE Words doubled_low(Bytes bytes) {
        const Bytes centred = _mm512_xor_si512(bytes, _mm512_set1_epi8(-128));
        return _mm512_srai_epi16(_mm512_unpacklo_epi8(_mm512_setzero_si512(), centred), 7);
    }
    static PENSTOCK_INLINE Words doubled_high(Bytes bytes) {
        const Bytes centred = _mm512_xor_si512(bytes, _mm512_set1_epi8(-128));
        return _mm512_srai_epi16(_mm512_unpackhi_epi8(_mm512_setzero_si512(), centred), 7);
    }
    static PENSTOCK_INLINE Words red_of(Words doubled) {
        return _mm512_mulhrs_epi16(doubled, _mm512_set1_epi16(kRedFactor));
    }
    static PENSTOCK_INLINE Words blue_of(Words doubled) {
        return _mm512_mulhrs_epi16(doubled, _mm512_set1_epi16(kBlueFactor));
    }
    static PENSTOCK_INLINE Bytes bytes_of(Words low, Words high) { return _mm512_packus_epi16(low, high); }

    static PENSTOCK_INLINE Bytes third_of(const Bytes (&channels)[3], std::size_t part) {
        const Bytes two =
            _mm512_permutex2var_epi8(channels[0], _mm512_load_si512(kShuffles.first_two[part]), channels[1]);
        return _mm512_mask_permutexvar_epi8(two, kShuffles.third_mask[part], _mm512_load_si512(kShuffles.third[part]),
                                            channels[2]);
    }
    static PENSTOCK_INLINE void store_pixels(const Bytes (&channels)[3], std::uint8_t* out) {
        for (std::size_t part = 0; part < 3; ++part) _mm512_storeu_si512(out + 64 * part, third_of(channels, part));
    }
    static PENSTOCK_INLINE void store_some_pixels(const Bytes (&channels)[3], std::uint8_t* out, std::size_t count) {
        for (std::size_t part = 0; part < 3 && 64 * part < 3 * count; ++part) {
            const std::size_t left = 3 * count - 64 * part;
            const std::uint64_t mask = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
            _mm512_mask_storeu_epi8(out + 64 * part, mask, third_of(channels, part));
        }
    }

    static PENSTOCK_INLINE void store_low_bytes(std::uint8_t* target, Words words) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), _mm512_cvtepi16_epi8(words));
    }
    static PENSTOCK_INLINE void store_alternating(std::uint8_t* target, Words even, Words odd) {
        _mm512_storeu_si512(target, _mm512_or_si512(even, _mm512_slli_epi16(odd, 8)));
    }
};

}  // namespace

const BackKernels kBackAvx512 = kernels_of<Avx512>();

}  // namespace penstock::jpeg

#endif
