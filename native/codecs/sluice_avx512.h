// What decoders of Sluice segments with AVX-512 have in common. Only files that are compiled for it include this.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codecs/sluice.h"

namespace penstock::sluice {

namespace {

#define PENSTOCK_INLINE inline __attribute__((always_inline))

PENSTOCK_INLINE __m512i load(const void* from) noexcept { return _mm512_load_si512(from); }
PENSTOCK_INLINE __m512i load_any(const void* from) noexcept { return _mm512_loadu_si512(from); }
PENSTOCK_INLINE void store(void* to, __m512i value) noexcept { _mm512_store_si512(to, value); }
PENSTOCK_INLINE __m512i bytes(int value) noexcept { return _mm512_set1_epi8(static_cast<char>(value)); }
PENSTOCK_INLINE __m512i zero() noexcept { return _mm512_setzero_si512(); }
PENSTOCK_INLINE unsigned count_bits(std::uint64_t bits) noexcept { return static_cast<unsigned>(_mm_popcnt_u64(bits)); }
// The 32 bytes of half `half`, as words.
PENSTOCK_INLINE __m512i words_of(__m512i value, int half) noexcept {
    return _mm512_cvtepu8_epi16(half != 0 ? _mm512_extracti64x4_epi64(value, 1) : _mm512_castsi512_si256(value));
}
// Bytes that are at most 63, times 2 to the power of `bits`.
PENSTOCK_INLINE __m512i shift_bytes(__m512i values, unsigned bits) noexcept {
    return _mm512_sll_epi16(values, _mm_cvtsi32_si128(static_cast<int>(bits)));
}

/// Raw bits as planes: one bit for each lane of a set.
struct RawBits {
    const std::uint8_t* data;
    std::size_t position;

    PENSTOCK_INLINE std::uint64_t plane(std::uint64_t lanes) noexcept {
        const std::uint8_t* const at = data + position / 8;
        const unsigned shift = position % 8;
        std::uint64_t low = 0;
        std::memcpy(&low, at, sizeof low);
        position += count_bits(lanes);
        return _pdep_u64(low >> shift | (std::uint64_t{at[8]} << 1) << (63 - shift), lanes);
    }
};

/// A (position, group) whose signs are in the final states.
struct Deferred {
    std::uint64_t nonzero;
    std::uint8_t position;
    std::uint8_t group;
};

/// A group that has coefficients at this position or later.
struct Live {
    std::uint64_t lanes;   // that take part in this step
    std::uint32_t offset;  // of their symbols
    std::uint32_t group;
};

// Where lane neighbours of a group are; outside of it the opposite neighbour stands in.
alignas(64) constexpr std::uint8_t kLeft[64] = {1,  0,  1,  2,  3,  4,  5,  6,  9,  8,  9,  10, 11, 12, 13, 14,
                                                17, 16, 17, 18, 19, 20, 21, 22, 25, 24, 25, 26, 27, 28, 29, 30,
                                                33, 32, 33, 34, 35, 36, 37, 38, 41, 40, 41, 42, 43, 44, 45, 46,
                                                49, 48, 49, 50, 51, 52, 53, 54, 57, 56, 57, 58, 59, 60, 61, 62};
alignas(64) constexpr std::uint8_t kRight[64] = {1,  2,  3,  4,  5,  6,  7,  6,  9,  10, 11, 12, 13, 14, 15, 14,
                                                 17, 18, 19, 20, 21, 22, 23, 22, 25, 26, 27, 28, 29, 30, 31, 30,
                                                 33, 34, 35, 36, 37, 38, 39, 38, 41, 42, 43, 44, 45, 46, 47, 46,
                                                 49, 50, 51, 52, 53, 54, 55, 54, 57, 58, 59, 60, 61, 62, 63, 62};

/// States and words of a segment.
template <bool kGather>
class SymbolStream {
  public:
    explicit SymbolStream(const SegmentParts& parts) noexcept : words_(parts.words), words_end_(parts.words_end) {
        for (int i = 0; i < 4; ++i) states_[i] = load_any(parts.states.data() + 16 * i);
    }

    /// Decodes a step. Contexts are read, and symbols written, by whole vectors. False if there are too few words.
    bool decode(const std::uint32_t* entries, const std::uint8_t* contexts, std::size_t count,
                std::uint8_t* symbols) noexcept {
        __m512i states[4] = {states_[0], states_[1], states_[2], states_[3]};  // not through `this`: stores alias it
        const std::uint8_t* words = words_;
        const std::uint8_t* const words_end = words_end_;
        std::size_t i = 0;
        for (; i + 64 <= count; i += 64) {
#pragma GCC unroll 4
            for (int s = 0; s < 4; ++s) {
                states[s] = step(states[s], contexts + i + 16 * s, symbols + i + 16 * s, words, entries, 0xFFFF);
            }
            if (words > words_end) return false;
        }
#pragma GCC unroll 4
        for (unsigned s = 0; s < 4; ++s) {
            const std::size_t at = i + 16 * s;
            if (at >= count) break;
            const auto left = static_cast<unsigned>(count - at);
            const auto taking = static_cast<__mmask16>(_bzhi_u32(0xFFFF, left < 16 ? left : 16));
            states[s] = step(states[s], contexts + at, symbols + at, words, entries, taking);
        }
        for (int s = 0; s < 4; ++s) states_[s] = states[s];
        words_ = words;
        return words <= words_end;
    }

    [[nodiscard]] bool words_used_up() const noexcept { return words_ == words_end_; }

    /// The low halves of the states; false if they do not end where an encoder begins.
    bool payload(std::uint16_t* out) const noexcept {
        for (int i = 0; i < 4; ++i) {
            const __m512i high = _mm512_srli_epi32(states_[i], 16);
            if (_mm512_cmpneq_epi32_mask(high, _mm512_set1_epi32(1)) != 0) return false;
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 16 * i), _mm512_cvtepi32_epi16(states_[i]));
        }
        return true;
    }

  private:
    // Entries of 16 slots, by a gather or by single loads: which is faster depends on the processor.
    static PENSTOCK_INLINE __m512i look_up(const std::uint32_t* entries, __m512i index) noexcept {
        if constexpr (kGather) return _mm512_mask_i32gather_epi32(zero(), 0xFFFF, index, entries, 4);
        const __m128i fours[4] = {_mm512_castsi512_si128(index), _mm512_extracti32x4_epi32(index, 1),
                                  _mm512_extracti32x4_epi32(index, 2), _mm512_extracti32x4_epi32(index, 3)};
        __m128i parts[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            const auto low = static_cast<std::uint64_t>(_mm_cvtsi128_si64(fours[i]));
            const auto high = static_cast<std::uint64_t>(_mm_extract_epi64(fours[i], 1));
            __m128i part = _mm_cvtsi32_si128(static_cast<int>(entries[static_cast<std::uint32_t>(low)]));
            part = _mm_insert_epi32(part, static_cast<int>(entries[low >> 32]), 1);
            part = _mm_insert_epi32(part, static_cast<int>(entries[static_cast<std::uint32_t>(high)]), 2);
            parts[i] = _mm_insert_epi32(part, static_cast<int>(entries[high >> 32]), 3);
        }
        return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set_m128i(parts[1], parts[0])),
                                  _mm256_set_m128i(parts[3], parts[2]), 1);
    }

    // One symbol of 16 states; lanes that are not `taking` keep their state.
    static PENSTOCK_INLINE __m512i step(__m512i state, const std::uint8_t* contexts, std::uint8_t* symbols,
                                        const std::uint8_t*& words, const std::uint32_t* entries,
                                        __mmask16 taking) noexcept {
        const __m512i context = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(contexts)));
        const __m512i slot = _mm512_and_si512(state, _mm512_set1_epi32(kNumSlots - 1));
        const __m512i entry = look_up(entries, _mm512_or_si512(_mm512_slli_epi32(context, kSlotBits), slot));
        const __m512i place = _mm512_and_si512(entry, _mm512_set1_epi32(kNumSlots - 1));
        const __m512i product = _mm512_mullo_epi32(_mm512_srli_epi32(entry, 16), _mm512_srli_epi32(state, kSlotBits));
        const __m512i next = _mm512_mask_add_epi32(state, taking, product, place);
        const __mmask16 low = _mm512_mask_cmplt_epu32_mask(taking, next, _mm512_set1_epi32(kLowestState));
        const __m512i fresh = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)));
        words += 2 * count_bits(low);
        const __m512i symbol =
            _mm512_and_si512(_mm512_srli_epi32(entry, kSlotBits), _mm512_set1_epi32(kNumSymbols - 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(symbols), _mm512_cvtepi32_epi8(symbol));
        return _mm512_mask_or_epi32(next, low, _mm512_slli_epi32(next, 16), _mm512_maskz_expand_epi32(low, fresh));
    }

    __m512i states_[4];
    const std::uint8_t* words_;
    const std::uint8_t* words_end_;
};

}  // namespace

}  // namespace penstock::sluice
