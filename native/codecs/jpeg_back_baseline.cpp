// The vocabulary of jpeg_back_simd.h in SSE2, which every x86-64 has: 8 blocks at a time.
#if defined(__x86_64__)

#include <emmintrin.h>

#include "codecs/jpeg_back_simd.h"

namespace penstock::jpeg {

namespace {

PENSTOCK_INLINE __m128i factors(int first, int second) {
    return _mm_set1_epi32(
        static_cast<int>((static_cast<unsigned>(first) & 0xFFFF) | static_cast<unsigned>(second) << 16));
}

struct Sse2 {
    using Words = __m128i;
    using Longs = __m128i;
    using Pairs = __m128i;
    using Bytes = __m128i;
    static constexpr std::size_t kLanes = 8;
    static constexpr std::size_t kPixels = 16;

    static PENSTOCK_INLINE Words fill(std::int16_t value) { return _mm_set1_epi16(value); }
    static PENSTOCK_INLINE Longs fill_longs(int value) { return _mm_set1_epi32(value); }
    static PENSTOCK_INLINE Words load(const std::int16_t* words) {
        return _mm_load_si128(reinterpret_cast<const __m128i*>(words));
    }
    static PENSTOCK_INLINE Words load_unaligned(const std::int16_t* words) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(words));
    }
    static PENSTOCK_INLINE Words load_narrow(const std::int8_t* bytes) {
        const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
        return _mm_srai_epi16(_mm_unpacklo_epi8(_mm_setzero_si128(), eight), 8);
    }
    static PENSTOCK_INLINE Words load_widened(const std::uint8_t* bytes) {
        const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
        return _mm_unpacklo_epi8(eight, _mm_setzero_si128());
    }
    static PENSTOCK_INLINE void store(std::uint16_t* target, Words words) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(target), words);
    }

    static PENSTOCK_INLINE Words add(Words a, Words b) { return _mm_add_epi16(a, b); }
    static PENSTOCK_INLINE Words subtract(Words a, Words b) { return _mm_sub_epi16(a, b); }
    static PENSTOCK_INLINE Words add_saturated(Words a, Words b) { return _mm_adds_epi16(a, b); }
    static PENSTOCK_INLINE Words multiply_words(Words a, Words b) { return _mm_mullo_epi16(a, b); }
    static PENSTOCK_INLINE Words exclusive_or(Words a, Words b) { return _mm_xor_si128(a, b); }
    static PENSTOCK_INLINE Words either(Words a, Words b) { return _mm_or_si128(a, b); }
    static PENSTOCK_INLINE bool is_any(Words a) {
        return _mm_movemask_epi8(_mm_cmpeq_epi16(a, _mm_setzero_si128())) != 0xFFFF;
    }
    template <int kCount>
    static PENSTOCK_INLINE Words shift_words_left(Words a) {
        return _mm_slli_epi16(a, kCount);
    }
    template <int kCount>
    static PENSTOCK_INLINE Words shift_words_right(Words a) {
        return _mm_srai_epi16(a, kCount);
    }

    static PENSTOCK_INLINE Pairs pair_low(Words a, Words b) { return _mm_unpacklo_epi16(a, b); }
    static PENSTOCK_INLINE Pairs pair_high(Words a, Words b) { return _mm_unpackhi_epi16(a, b); }
    template <int kCount>
    static PENSTOCK_INLINE Words narrow(Longs low, Longs high) {
        return _mm_packs_epi32(_mm_srai_epi32(low, kCount), _mm_srai_epi32(high, kCount));
    }
    static PENSTOCK_INLINE Longs multiply(Pairs pairs, int first, int second) {
        return _mm_madd_epi16(pairs, factors(first, second));
    }
    static PENSTOCK_INLINE Longs multiply_add(Longs sum, Pairs pairs, int first, int second) {
        return _mm_add_epi32(sum, multiply(pairs, first, second));
    }
    static PENSTOCK_INLINE void both(Longs sum, Pairs pairs, int first, int second, Longs& plus, Longs& minus) {
        const Longs product = multiply(pairs, first, second);
        minus = _mm_sub_epi32(sum, product);
        plus = _mm_add_epi32(sum, product);
    }
    static PENSTOCK_INLINE Longs add_longs(Longs a, Longs b) { return _mm_add_epi32(a, b); }
    static PENSTOCK_INLINE Longs subtract_longs(Longs a, Longs b) { return _mm_sub_epi32(a, b); }
    static PENSTOCK_INLINE Words high_words(Longs low, Longs high) {
        return _mm_packs_epi32(_mm_srai_epi32(low, 16), _mm_srai_epi32(high, 16));
    }

    static PENSTOCK_INLINE void store_bytes(Words words, std::uint8_t* target) {
        const __m128i bytes = _mm_xor_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(-128));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(target), bytes);
    }

    static PENSTOCK_INLINE void transpose_quads(Words (&rows)[2]) {
        const __m128i even = _mm_unpacklo_epi64(rows[0], rows[1]);
        rows[1] = _mm_unpackhi_epi64(rows[0], rows[1]);
        rows[0] = even;
    }

    static PENSTOCK_INLINE void store_rows(const Words (&upper)[8], const Words (&lower)[8], std::uint8_t* const* runs,
                                           std::size_t stride, std::size_t row) {
        __m128i c[8];  // eight blocks of one column, the upper row, then the lower
        for (int x = 0; x < 8; ++x) c[x] = _mm_xor_si128(_mm_packs_epi16(upper[x], lower[x]), _mm_set1_epi8(-128));
        for (std::size_t i = 0; i < 2; ++i) {
            __m128i fours[4];
            for (int x = 0; x < 4; ++x) {
                fours[x] = i == 0 ? _mm_unpacklo_epi8(c[x], c[x + 4]) : _mm_unpackhi_epi8(c[x], c[x + 4]);
            }
            const __m128i even[2] = {_mm_unpacklo_epi8(fours[0], fours[2]), _mm_unpackhi_epi8(fours[0], fours[2])};
            const __m128i odd[2] = {_mm_unpacklo_epi8(fours[1], fours[3]), _mm_unpackhi_epi8(fours[1], fours[3])};
            auto* target = reinterpret_cast<__m128i*>(runs[0] + (row + i) * stride);
            for (int two = 0; two < 2; ++two) {
                _mm_storeu_si128(target + 2 * two, _mm_unpacklo_epi8(even[two], odd[two]));
                _mm_storeu_si128(target + 2 * two + 1, _mm_unpackhi_epi8(even[two], odd[two]));
            }
        }
    }

    static PENSTOCK_INLINE Bytes load_bytes(const std::uint8_t* bytes) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    }
    static PENSTOCK_INLINE Words words_low(Bytes bytes) { return _mm_unpacklo_epi8(bytes, _mm_setzero_si128()); }
    static PENSTOCK_INLINE Words words_high(Bytes bytes) { return _mm_unpackhi_epi8(bytes, _mm_setzero_si128()); }
    static PENSTOCK_INLINE Words doubled_low(Bytes bytes) {
        const Bytes centred = _mm_xor_si128(bytes, _mm_set1_epi8(-128));
        return _mm_srai_epi16(_mm_unpacklo_epi8(_mm_setzero_si128(), centred), 7);
    }
    static PENSTOCK_INLINE Words doubled_high(Bytes bytes) {
        const Bytes centred = _mm_xor_si128(bytes, _mm_set1_epi8(-128));
        return _mm_srai_epi16(_mm_unpackhi_epi8(_mm_setzero_si128(), centred), 7);
    }
    // No rounding product here: (x + 1) >> 1 rounds what the high half of a product leaves.
    static PENSTOCK_INLINE Words rounded_half(Words words) {
        return _mm_srai_epi16(_mm_add_epi16(words, _mm_set1_epi16(1)), 1);
    }
    static PENSTOCK_INLINE Words red_of(Words doubled) {
        const Words fraction = rounded_half(_mm_mulhi_epi16(doubled, _mm_set1_epi16(91881 - 65536)));
        return _mm_add_epi16(fraction, _mm_srai_epi16(doubled, 1));
    }
    static PENSTOCK_INLINE Words blue_of(Words doubled) {
        return _mm_add_epi16(rounded_half(_mm_mulhi_epi16(doubled, _mm_set1_epi16(116130 - 131072))), doubled);
    }
    static PENSTOCK_INLINE Bytes bytes_of(Words low, Words high) { return _mm_packus_epi16(low, high); }

    /// Two pixels of four bytes each as six bytes.
    static PENSTOCK_INLINE std::uint64_t without_fourth(std::uint64_t two) {
        return (two & 0xFFFFFF) | (two >> 8 & 0xFFFFFF000000);
    }
    static PENSTOCK_INLINE void store_pixels(const Bytes (&channels)[3], std::uint8_t* out) {
        const __m128i zero = _mm_setzero_si128();
        for (int half = 0; half < 2; ++half) {
            const __m128i red_green =
                half == 0 ? _mm_unpacklo_epi8(channels[0], channels[1]) : _mm_unpackhi_epi8(channels[0], channels[1]);
            const __m128i blue =
                half == 0 ? _mm_unpacklo_epi8(channels[2], zero) : _mm_unpackhi_epi8(channels[2], zero);
            for (int quarter = 0; quarter < 2; ++quarter) {
                const __m128i four =
                    quarter == 0 ? _mm_unpacklo_epi16(red_green, blue) : _mm_unpackhi_epi16(red_green, blue);
                const std::uint64_t first = without_fourth(static_cast<std::uint64_t>(_mm_cvtsi128_si64(four)));
                const std::uint64_t second =
                    without_fourth(static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(four, four))));
                const std::uint64_t begin = first | second << 48;
                const auto end = static_cast<std::uint32_t>(second >> 16);
                std::memcpy(out, &begin, 8);
                std::memcpy(out + 8, &end, 4);
                out += 12;
            }
        }
    }
    static PENSTOCK_INLINE void store_some_pixels(const Bytes (&channels)[3], std::uint8_t* out, std::size_t count) {
        alignas(16) std::uint8_t pixels[3 * kPixels];
        store_pixels(channels, pixels);
        std::memcpy(out, pixels, 3 * count);
    }

    static PENSTOCK_INLINE void store_low_bytes(std::uint8_t* target, Words words) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(target), _mm_packus_epi16(words, words));
    }
    static PENSTOCK_INLINE void store_alternating(std::uint8_t* target, Words even, Words odd) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(target), _mm_or_si128(even, _mm_slli_epi16(odd, 8)));
    }
};

}  // namespace

const BackKernels kBackBaseline = kernels_of<Sse2>();

}  // namespace penstock::jpeg

#endif
