// The vectors that `predict` of png_unfilter_kernels.h works on: 16 bytes of SSE2, 32 bytes of AVX2 where the including
// file is compiled for it. Internal linkage, as the kernels have.
#pragma once

#include <emmintrin.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>

// MemorySanitizer does not know three-operand logic: it reports any of the operands' bytes that is not initialised,
// also those behind a row, which are computed and never stored. Ands and ors it follows bit by bit, so that it reports
// such a byte only where it is used.
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define PENSTOCK_PNG_PLAIN_SELECT
#endif
#endif

namespace penstock::png {

namespace {

struct Wide16 {
    static constexpr std::size_t kBytes = 16;
    __m128i v;

    static Wide16 load(const std::uint8_t* bytes) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes))}; }
    void store(std::uint8_t* bytes) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes), v); }
    static Wide16 all(int byte) { return {_mm_set1_epi8(static_cast<char>(byte))}; }
    static Wide16 add(Wide16 a, Wide16 b) { return {_mm_add_epi8(a.v, b.v)}; }
    static Wide16 subtract(Wide16 a, Wide16 b) { return {_mm_sub_epi8(a.v, b.v)}; }
    static Wide16 add_clamped(Wide16 a, Wide16 b) { return {_mm_adds_epu8(a.v, b.v)}; }
    static Wide16 subtract_clamped(Wide16 a, Wide16 b) { return {_mm_subs_epu8(a.v, b.v)}; }
    static Wide16 max(Wide16 a, Wide16 b) { return {_mm_max_epu8(a.v, b.v)}; }
    static Wide16 equal(Wide16 a, Wide16 b) { return {_mm_cmpeq_epi8(a.v, b.v)}; }
    static Wide16 and_not(Wide16 excluded, Wide16 a) { return {_mm_andnot_si128(excluded.v, a.v)}; }
    static Wide16 select(Wide16 mask, Wide16 yes, Wide16 no) {
        return {_mm_or_si128(_mm_and_si128(mask.v, yes.v), _mm_andnot_si128(mask.v, no.v))};
    }
    [[nodiscard]] Wide16 half() const { return {_mm_and_si128(_mm_srli_epi16(v, 1), _mm_set1_epi8(0x7f))}; }
    friend Wide16 operator^(Wide16 a, Wide16 b) { return {_mm_xor_si128(a.v, b.v)}; }
    friend Wide16 operator|(Wide16 a, Wide16 b) { return {_mm_or_si128(a.v, b.v)}; }
};

#if defined(__AVX2__)
struct Wide32 {
    static constexpr std::size_t kBytes = 32;
    __m256i v;

    static Wide32 load(const std::uint8_t* bytes) {
        return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes))};
    }
    void store(std::uint8_t* bytes) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes), v); }
    static Wide32 all(int byte) { return {_mm256_set1_epi8(static_cast<char>(byte))}; }
    static Wide32 add(Wide32 a, Wide32 b) { return {_mm256_add_epi8(a.v, b.v)}; }
    static Wide32 subtract(Wide32 a, Wide32 b) { return {_mm256_sub_epi8(a.v, b.v)}; }
    static Wide32 add_clamped(Wide32 a, Wide32 b) { return {_mm256_adds_epu8(a.v, b.v)}; }
    static Wide32 subtract_clamped(Wide32 a, Wide32 b) { return {_mm256_subs_epu8(a.v, b.v)}; }
    static Wide32 max(Wide32 a, Wide32 b) { return {_mm256_max_epu8(a.v, b.v)}; }
    static Wide32 equal(Wide32 a, Wide32 b) { return {_mm256_cmpeq_epi8(a.v, b.v)}; }
    static Wide32 and_not(Wide32 excluded, Wide32 a) { return {_mm256_andnot_si256(excluded.v, a.v)}; }
    static Wide32 select(Wide32 mask, Wide32 yes, Wide32 no) {
#if defined(PENSTOCK_PNG_PLAIN_SELECT)
        return {_mm256_or_si256(_mm256_and_si256(mask.v, yes.v), _mm256_andnot_si256(mask.v, no.v))};
#elif defined(__AVX512VL__)
        return {_mm256_ternarylogic_epi32(mask.v, yes.v, no.v, 0xca)};
#else
        return {_mm256_blendv_epi8(no.v, yes.v, mask.v)};
#endif
    }
    [[nodiscard]] Wide32 half() const { return {_mm256_and_si256(_mm256_srli_epi16(v, 1), _mm256_set1_epi8(0x7f))}; }
    friend Wide32 operator^(Wide32 a, Wide32 b) { return {_mm256_xor_si256(a.v, b.v)}; }
    friend Wide32 operator|(Wide32 a, Wide32 b) { return {_mm256_or_si256(a.v, b.v)}; }
};

/// The last pixel of 16 bytes (of 12 at distance 3), repeated.
template <std::size_t kDistance>
inline __m128i repeat_pixel_by_shuffle(__m128i v) {
    static_assert(kDistance >= 1 && kDistance <= 4);
    if constexpr (kDistance == 1) return _mm_shuffle_epi8(v, _mm_set1_epi8(15));
    if constexpr (kDistance == 2) return _mm_shuffle_epi8(v, _mm_set1_epi16(0x0f0e));
    if constexpr (kDistance == 3) {
        return _mm_shuffle_epi8(v, _mm_setr_epi8(9, 10, 11, 9, 10, 11, 9, 10, 11, 9, 10, 11, 9, 10, 11, 9));
    }
    return _mm_shuffle_epi32(v, 0xff);
}
#endif

}  // namespace

}  // namespace penstock::png
