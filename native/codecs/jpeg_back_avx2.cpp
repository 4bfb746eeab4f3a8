// The vocabulary of jpeg_back_simd.h in AVX2: 16 blocks at a time.
#if defined(__x86_64__)

#include <immintrin.h>

#include "codecs/jpeg_back_simd.h"

namespace penstock::jpeg {

namespace {

struct Shuffles {
    alignas(32) std::uint8_t interleave[3][3][32];  // [third of 16 pixels][channel]: its bytes in place, zeros between
};

constexpr Shuffles kShuffles = [] {
    Shuffles shuffles{};
    for (std::size_t part = 0; part < 3; ++part) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
            for (std::size_t i = 0; i < 32; ++i) {
                const std::size_t place = 16 * part + i % 16;
                shuffles.interleave[part][channel][i] =
                    static_cast<std::uint8_t>(place % 3 == channel ? place / 3 : 0x80);
            }
        }
    }
    return shuffles;
}();

PENSTOCK_INLINE __m256i factors(int first, int second) {
    return _mm256_set1_epi32(
        static_cast<int>((static_cast<unsigned>(first) & 0xFFFF) | static_cast<unsigned>(second) << 16));
}

struct Avx2 {
    using Words = __m256i;
    using Longs = __m256i;
    using Pairs = __m256i;
    using Bytes = __m256i;
    static constexpr std::size_t kLanes = 16;
    static constexpr std::size_t kPixels = 32;

    static PENSTOCK_INLINE Words fill(std::int16_t value) { return _mm256_set1_epi16(value); }
    static PENSTOCK_INLINE Longs fill_longs(int value) { return _mm256_set1_epi32(value); }
    static PENSTOCK_INLINE Words load(const std::int16_t* words) {
        return _mm256_load_si256(reinterpret_cast<const __m256i*>(words));
    }
    static PENSTOCK_INLINE Words load_unaligned(const std::int16_t* words) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
    }
    static PENSTOCK_INLINE Words load_narrow(const std::int8_t* bytes) {
        return _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
    }
    static PENSTOCK_INLINE Words load_widened(const std::uint8_t* bytes) {
        return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
    }
    static PENSTOCK_INLINE void store(std::uint16_t* target, Words words) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), words);
    }

    static PENSTOCK_INLINE Words add(Words a, Words b) { return _mm256_add_epi16(a, b); }
    static PENSTOCK_INLINE Words subtract(Words a, Words b) { return _mm256_sub_epi16(a, b); }
    static PENSTOCK_INLINE Words add_saturated(Words a, Words b) { return _mm256_adds_epi16(a, b); }
    static PENSTOCK_INLINE Words multiply_words(Words a, Words b) { return _mm256_mullo_epi16(a, b); }
    static PENSTOCK_INLINE Words exclusive_or(Words a, Words b) { return _mm256_xor_si256(a, b); }
    static PENSTOCK_INLINE Words either(Words a, Words b) { return _mm256_or_si256(a, b); }
    static PENSTOCK_INLINE bool is_any(Words a) { return _mm256_testz_si256(a, a) == 0; }
    template <int kCount>
    static PENSTOCK_INLINE Words shift_words_left(Words a) {
        return _mm256_slli_epi16(a, kCount);
    }
    template <int kCount>
    static PENSTOCK_INLINE Words shift_words_right(Words a) {
        return _mm256_srai_epi16(a, kCount);
    }

    static PENSTOCK_INLINE Pairs pair_low(Words a, Words b) { return _mm256_unpacklo_epi16(a, b); }
    static PENSTOCK_INLINE Pairs pair_high(Words a, Words b) { return _mm256_unpackhi_epi16(a, b); }
    template <int kCount>
    static PENSTOCK_INLINE Words narrow(Longs low, Longs high) {
        return _mm256_packs_epi32(_mm256_srai_epi32(low, kCount), _mm256_srai_epi32(high, kCount));
    }
    static PENSTOCK_INLINE Longs multiply(Pairs pairs, int first, int second) {
        return _mm256_madd_epi16(pairs, factors(first, second));
    }
    static PENSTOCK_INLINE Longs multiply_add(Longs sum, Pairs pairs, int first, int second) {
        return _mm256_add_epi32(sum, multiply(pairs, first, second));
    }
    static PENSTOCK_INLINE void both(Longs sum, Pairs pairs, int first, int second, Longs& plus, Longs& minus) {
        const Longs product = multiply(pairs, first, second);
        minus = _mm256_sub_epi32(sum, product);
        plus = _mm256_add_epi32(sum, product);
    }
    static PENSTOCK_INLINE Longs add_longs(Longs a, Longs b) { return _mm256_add_epi32(a, b); }
    static PENSTOCK_INLINE Longs subtract_longs(Longs a, Longs b) { return _mm256_sub_epi32(a, b); }
    static PENSTOCK_INLINE Words high_words(Longs low, Longs high) {
        return _mm256_packs_epi32(_mm256_srai_epi32(low, 16), _mm256_srai_epi32(high, 16));
    }

    /// The low 64 bits of each half, side by side.
    static PENSTOCK_INLINE __m128i packed(__m256i halves) {
        return _mm256_castsi256_si128(_mm256_permute4x64_epi64(halves, 0x08));
    }
    static PENSTOCK_INLINE void store_bytes(Words words, std::uint8_t* target) {
        const __m128i bytes = packed(_mm256_packs_epi16(words, words));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(target), _mm_xor_si128(bytes, _mm_set1_epi8(-128)));
    }

    static PENSTOCK_INLINE void transpose_quads(Words (&rows)[4]) {
        const __m256i even[2] = {_mm256_unpacklo_epi64(rows[0], rows[1]), _mm256_unpacklo_epi64(rows[2], rows[3])};
        const __m256i odd[2] = {_mm256_unpackhi_epi64(rows[0], rows[1]), _mm256_unpackhi_epi64(rows[2], rows[3])};
        rows[0] = _mm256_permute2x128_si256(even[0], even[1], 0x20);
        rows[1] = _mm256_permute2x128_si256(odd[0], odd[1], 0x20);
        rows[2] = _mm256_permute2x128_si256(even[0], even[1], 0x31);
        rows[3] = _mm256_permute2x128_si256(odd[0], odd[1], 0x31);
    }

    static PENSTOCK_INLINE void store_rows(const Words (&upper)[8], const Words (&lower)[8], std::uint8_t* const* runs,
                                           std::size_t stride, std::size_t row) {
        // 128 bits of a register: eight blocks of one column, the upper row, then the lower.
        __m256i c[8];
        for (int x = 0; x < 8; ++x) {
            c[x] = _mm256_xor_si256(_mm256_packs_epi16(upper[x], lower[x]), _mm256_set1_epi8(-128));
        }
        for (std::size_t i = 0; i < 2; ++i) {
            __m256i fours[4];
            for (int x = 0; x < 4; ++x) {
                fours[x] = i == 0 ? _mm256_unpacklo_epi8(c[x], c[x + 4]) : _mm256_unpackhi_epi8(c[x], c[x + 4]);
            }
            const __m256i even[2] = {_mm256_unpacklo_epi8(fours[0], fours[2]),
                                     _mm256_unpackhi_epi8(fours[0], fours[2])};
            const __m256i odd[2] = {_mm256_unpacklo_epi8(fours[1], fours[3]), _mm256_unpackhi_epi8(fours[1], fours[3])};
            // Two blocks in each half; the halves belong to different runs.
            const __m256i twos[4] = {_mm256_unpacklo_epi8(even[0], odd[0]), _mm256_unpackhi_epi8(even[0], odd[0]),
                                     _mm256_unpacklo_epi8(even[1], odd[1]), _mm256_unpackhi_epi8(even[1], odd[1])};
            for (std::size_t run = 0; run < 2; ++run) {
                if (runs[run] == nullptr) continue;
                auto* target = reinterpret_cast<__m256i*>(runs[run] + (row + i) * stride);
                const __m256i first = run == 0 ? _mm256_permute2x128_si256(twos[0], twos[1], 0x20)
                                               : _mm256_permute2x128_si256(twos[0], twos[1], 0x31);
                const __m256i second = run == 0 ? _mm256_permute2x128_si256(twos[2], twos[3], 0x20)
                                                : _mm256_permute2x128_si256(twos[2], twos[3], 0x31);
                _mm256_storeu_si256(target, first);
                _mm256_storeu_si256(target + 1, second);
            }
        }
    }

    static PENSTOCK_INLINE Bytes load_bytes(const std::uint8_t* bytes) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
    }
    static PENSTOCK_INLINE Words words_low(Bytes bytes) { return _mm256_unpacklo_epi8(bytes, _mm256_setzero_si256()); }
    static PENSTOCK_INLINE Words words_high(Bytes bytes) { return _mm256_unpackhi_epi8(bytes, _mm256_setzero_si256()); }
    static PENSTOCK_INLINE Words doubled_low(Bytes bytes) {
        const Bytes centred = _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
        return _mm256_srai_epi16(_mm256_unpacklo_epi8(_mm256_setzero_si256(), centred), 7);
    }
    static PENSTOCK_INLINE Words doubled_high(Bytes bytes) {
        const Bytes centred = _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
        return _mm256_srai_epi16(_mm256_unpackhi_epi8(_mm256_setzero_si256(), centred), 7);
    }
    static PENSTOCK_INLINE Words red_of(Words doubled) {
        return _mm256_mulhrs_epi16(doubled, _mm256_set1_epi16(kRedFactor));
    }
    static PENSTOCK_INLINE Words blue_of(Words doubled) {
        return _mm256_mulhrs_epi16(doubled, _mm256_set1_epi16(kBlueFactor));
    }
    static PENSTOCK_INLINE Bytes bytes_of(Words low, Words high) { return _mm256_packus_epi16(low, high); }

    static PENSTOCK_INLINE __m256i third_of(const Bytes (&channels)[3], std::size_t part) {
        __m256i third = _mm256_setzero_si256();
        for (std::size_t i = 0; i < 3; ++i) {
            const auto* order = reinterpret_cast<const __m256i*>(kShuffles.interleave[part][i]);
            third = _mm256_or_si256(third, _mm256_shuffle_epi8(channels[i], _mm256_load_si256(order)));
        }
        return third;
    }
    static PENSTOCK_INLINE void store_pixels(const Bytes (&channels)[3], std::uint8_t* out) {
        const __m256i thirds[3] = {third_of(channels, 0), third_of(channels, 1), third_of(channels, 2)};
        auto* target = reinterpret_cast<__m256i*>(out);
        _mm256_storeu_si256(target, _mm256_permute2x128_si256(thirds[0], thirds[1], 0x20));
        _mm256_storeu_si256(target + 1, _mm256_permute2x128_si256(thirds[2], thirds[0], 0x30));
        _mm256_storeu_si256(target + 2, _mm256_permute2x128_si256(thirds[1], thirds[2], 0x31));
    }
    static PENSTOCK_INLINE void store_some_pixels(const Bytes (&channels)[3], std::uint8_t* out, std::size_t count) {
        alignas(32) std::uint8_t pixels[3 * kPixels];
        store_pixels(channels, pixels);
        std::memcpy(out, pixels, 3 * count);
    }

    static PENSTOCK_INLINE void store_low_bytes(std::uint8_t* target, Words words) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(target), packed(_mm256_packus_epi16(words, words)));
    }
    static PENSTOCK_INLINE void store_alternating(std::uint8_t* target, Words even, Words odd) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
    }
};

}  // namespace

const BackKernels kBackAvx2 = kernels_of<Avx2>();

}  // namespace penstock::jpeg

#endif
