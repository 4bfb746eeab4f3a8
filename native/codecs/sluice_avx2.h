// What decoders of Sluice segments with AVX2 have in common. Only files that are compiled for it include this.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codecs/sluice.h"

namespace penstock::sluice {

namespace {

using V = __m256i;

#define PENSTOCK_INLINE inline __attribute__((always_inline))

PENSTOCK_INLINE V load(const void* from) noexcept { return _mm256_load_si256(static_cast<const V*>(from)); }
PENSTOCK_INLINE V load_any(const void* from) noexcept { return _mm256_loadu_si256(static_cast<const V*>(from)); }
PENSTOCK_INLINE void store(void* to, V value) noexcept { _mm256_store_si256(static_cast<V*>(to), value); }
PENSTOCK_INLINE void store_any(void* to, V value) noexcept { _mm256_storeu_si256(static_cast<V*>(to), value); }
PENSTOCK_INLINE V bytes(int value) noexcept { return _mm256_set1_epi8(static_cast<char>(value)); }
PENSTOCK_INLINE V zero() noexcept { return _mm256_setzero_si256(); }
PENSTOCK_INLINE unsigned count_bits(std::uint64_t bits) noexcept { return static_cast<unsigned>(_mm_popcnt_u64(bits)); }
PENSTOCK_INLINE __m128i half_of(V value, int half) noexcept {
    return half != 0 ? _mm256_extracti128_si256(value, 1) : _mm256_castsi256_si128(value);
}

/// One byte of each lane.
struct Lanes {
    V half[2];
};

PENSTOCK_INLINE Lanes load_lanes(const void* from) noexcept {
    return {{load(from), load(static_cast<const std::uint8_t*>(from) + 32)}};
}
PENSTOCK_INLINE void store_lanes(void* to, const Lanes& lanes) noexcept {
    store(to, lanes.half[0]);
    store(static_cast<std::uint8_t*>(to) + 32, lanes.half[1]);
}
// Bit i: the highest bit of lane i.
PENSTOCK_INLINE std::uint64_t top_bits(V low, V high) noexcept {
    const auto upper = static_cast<std::uint32_t>(_mm256_movemask_epi8(high));
    return std::uint64_t{upper} << 32 | static_cast<std::uint32_t>(_mm256_movemask_epi8(low));
}
PENSTOCK_INLINE std::uint64_t nonzero_lanes(const Lanes& lanes) noexcept {
    return ~top_bits(_mm256_cmpeq_epi8(lanes.half[0], zero()), _mm256_cmpeq_epi8(lanes.half[1], zero()));
}
// Bytes of 255 where a bit is set.
PENSTOCK_INLINE V spread(std::uint64_t bits) noexcept {
    const V which = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3,
                                     3, 3, 3, 3);
    const V bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ULL));
    const V copies = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), which);
    return _mm256_cmpeq_epi8(_mm256_and_si256(copies, bit), bit);
}
PENSTOCK_INLINE V negate_bytes(V values, std::uint64_t signs) noexcept {
    const V mask = spread(signs);
    return _mm256_sub_epi8(_mm256_xor_si256(values, mask), mask);
}
PENSTOCK_INLINE V broadcast16(const void* table) noexcept {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(table)));
}
// Entries of a table of 64 bytes; an index is below 64.
PENSTOCK_INLINE V look_up64(const std::uint8_t* table, V index) noexcept {
    const V a = _mm256_shuffle_epi8(broadcast16(table), index);
    const V b = _mm256_shuffle_epi8(broadcast16(table + 16), index);
    const V c = _mm256_shuffle_epi8(broadcast16(table + 32), index);
    const V d = _mm256_shuffle_epi8(broadcast16(table + 48), index);
    const V bit4 = _mm256_slli_epi16(index, 3);
    const V bit5 = _mm256_slli_epi16(index, 2);
    return _mm256_blendv_epi8(_mm256_blendv_epi8(a, b, bit4), _mm256_blendv_epi8(c, d, bit4), bit5);
}

/// Shuffles for each byte of a mask.
struct Shuffles {
    alignas(64) std::uint8_t compact[256][8]{};  ///< lanes that are set, to the front
    alignas(64) std::uint8_t expand[256][8]{};   ///< from the front to lanes that are set; others become zero
    std::uint8_t behind[16]{};                   ///< of `expand`: rows are read by 16 bytes
    alignas(64) std::uint8_t words[256][16]{};   ///< as `expand`, of words

    constexpr Shuffles() {
        for (unsigned mask = 0; mask < 256; ++mask) {
            unsigned next = 0;
            for (unsigned i = 0; i < 8; ++i) compact[mask][i] = 0x80;
            for (unsigned i = 0; i < 8; ++i) {
                const bool set = (mask >> i & 1) != 0;
                expand[mask][i] = static_cast<std::uint8_t>(set ? next : 0x80);
                words[mask][2 * i] = static_cast<std::uint8_t>(set ? 2 * next : 0x80);
                words[mask][2 * i + 1] = static_cast<std::uint8_t>(set ? 2 * next + 1 : 0x80);
                if (set) compact[mask][next++] = static_cast<std::uint8_t>(i);
            }
        }
    }
};
constexpr Shuffles kShuffles;

// Classes as the larger of two look-ups: by a value up to 15, and by eighths of a value up to 63.
alignas(16) constexpr std::uint8_t kCountLow[16] = {0, 0, 8, 8, 16, 16, 16, 24, 24, 24, 24, 32, 32, 32, 32, 32};
alignas(16) constexpr std::uint8_t kCountHigh[16] = {0, 0, 40, 48, 56, 56, 56, 56};
alignas(16) constexpr std::uint8_t kMagnitudeLow[16] = {0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 5, 5, 5};
alignas(16) constexpr std::uint8_t kMagnitudeHigh[16] = {0, 0, 5, 6, 6, 7, 7, 7};

constexpr bool classes_match() {
    for (unsigned value = 0; value < 64; ++value) {
        const unsigned low = value < 15 ? value : 15;
        const unsigned count = kCountLow[low] > kCountHigh[value / 8] ? kCountLow[low] : kCountHigh[value / 8];
        const unsigned magnitude =
            kMagnitudeLow[low] > kMagnitudeHigh[value / 8] ? kMagnitudeLow[low] : kMagnitudeHigh[value / 8];
        if (count != 8U * kCountClass[value] || magnitude != kMagnitudeClass[value]) return false;
    }
    return true;
}
static_assert(classes_match(), "the model has other classes");

PENSTOCK_INLINE V class_of_value(V value, const std::uint8_t* low, const std::uint8_t* high) noexcept {
    const V small = _mm256_shuffle_epi8(broadcast16(low), _mm256_min_epu8(value, bytes(15)));
    const V eighths = _mm256_and_si256(_mm256_srli_epi16(value, 3), bytes(7));
    return _mm256_max_epu8(small, _mm256_shuffle_epi8(broadcast16(high), eighths));
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

/// A group that still has coefficients to come.
struct Live {
    std::uint64_t lanes;   // that take part in this step
    std::uint32_t offset;  // of their symbols
    std::uint32_t group;
};

// Writes the bytes of `lanes` one after the other, and up to 64 bytes in all; gives their number.
PENSTOCK_INLINE unsigned compact(const Lanes& from, std::uint64_t lanes, std::uint8_t* out) noexcept {
    if (lanes == ~std::uint64_t{0}) {
        store_any(out, from.half[0]);
        store_any(out + 32, from.half[1]);
        return 64;
    }
    std::uint8_t* to = out;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const __m128i sixteen = half_of(from.half[i / 2], i % 2);
        const unsigned low = lanes >> 16 * i & 255;
        const unsigned high = lanes >> (16 * i + 8) & 255;
        const __m128i low_shuffle = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kShuffles.compact[low]));
        const __m128i high_shuffle = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kShuffles.compact[high]));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(sixteen, low_shuffle));
        to += count_bits(low);
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to),
                         _mm_shuffle_epi8(_mm_unpackhi_epi64(sixteen, sixteen), high_shuffle));
        to += count_bits(high);
    }
    return static_cast<unsigned>(to - out);
}

// The next bytes go to `lanes`, zero to the others.
PENSTOCK_INLINE Lanes expand(const std::uint8_t* from, std::uint64_t lanes) noexcept {
    if (lanes == ~std::uint64_t{0}) return {{load_any(from), load_any(from + 32)}};
    __m128i parts[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        __m128i eights[2];
#pragma GCC unroll 2
        for (int j = 0; j < 2; ++j) {
            const unsigned mask = lanes >> (16 * i + 8 * j) & 255;
            const __m128i shuffle = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kShuffles.expand[mask]));
            eights[j] = _mm_shuffle_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)), shuffle);
            from += count_bits(mask);
        }
        parts[i] = _mm_unpacklo_epi64(eights[0], eights[1]);
    }
    return {{_mm256_set_m128i(parts[1], parts[0]), _mm256_set_m128i(parts[3], parts[2])}};
}

/// States and words of a segment.
template <bool kGather>
class SymbolStream {
  public:
    explicit SymbolStream(const SegmentParts& parts) noexcept : words_(parts.words), words_end_(parts.words_end) {
        std::memcpy(states_, parts.states.data(), sizeof states_);
    }

    /// Decodes a step. Contexts are read, and symbols written, by whole vectors. False if there are too few words.
    bool decode(const std::uint32_t* entries, const std::uint8_t* contexts, std::size_t count,
                std::uint8_t* symbols) noexcept {
        const std::uint8_t* words = words_;
        const std::uint8_t* const words_end = words_end_;
        std::size_t i = 0;
        for (; i + 64 <= count; i += 64) {
#pragma GCC unroll 2
            for (int half = 0; half < 2; ++half) {
                V found[4];
#pragma GCC unroll 4
                for (int s = 0; s < 4; ++s) {
                    const int at = 32 * half + 8 * s;
                    found[s] = step<true>(states_ + at, contexts + i + at, words, entries, zero());
                }
                const V packed = _mm256_packus_epi16(_mm256_packus_epi32(found[0], found[1]),
                                                     _mm256_packus_epi32(found[2], found[3]));
                store_any(symbols + i + 32 * half,
                          _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
            }
            if (words > words_end) return false;
        }
        for (int s = 0; i < count; i += 8, s += 8) {
            const V taking = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count - i)),
                                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
            const V found = step<false>(states_ + s, contexts + i, words, entries, taking);
            const V packed = _mm256_packus_epi16(_mm256_packus_epi32(found, zero()), zero());
            const __m128i eight = _mm_unpacklo_epi32(half_of(packed, 0), half_of(packed, 1));
            _mm_storel_epi64(reinterpret_cast<__m128i*>(symbols + i), eight);
        }
        words_ = words;
        return words <= words_end;
    }

    [[nodiscard]] bool words_used_up() const noexcept { return words_ == words_end_; }

    /// The low halves of the states; false if they do not end where an encoder begins.
    bool payload(std::uint16_t* out) const noexcept {
        for (std::size_t i = 0; i < kNumStates; ++i) {
            if (states_[i] >> 16 != 1) return false;
            out[i] = static_cast<std::uint16_t>(states_[i]);
        }
        return true;
    }

  private:
    // Entries of eight slots, by a gather or by single loads: which is faster depends on the processor.
    static PENSTOCK_INLINE V look_up(const std::uint32_t* entries, V index) noexcept {
        if constexpr (kGather) {
            const V all = _mm256_cmpeq_epi32(index, index);
            return _mm256_mask_i32gather_epi32(zero(), reinterpret_cast<const int*>(entries), index, all, 4);
        }
        __m128i parts[2];
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
            const __m128i four = half_of(index, i);
            const auto low = static_cast<std::uint64_t>(_mm_cvtsi128_si64(four));
            const auto high = static_cast<std::uint64_t>(_mm_extract_epi64(four, 1));
            __m128i part = _mm_cvtsi32_si128(static_cast<int>(entries[static_cast<std::uint32_t>(low)]));
            part = _mm_insert_epi32(part, static_cast<int>(entries[low >> 32]), 1);
            part = _mm_insert_epi32(part, static_cast<int>(entries[static_cast<std::uint32_t>(high)]), 2);
            parts[i] = _mm_insert_epi32(part, static_cast<int>(entries[high >> 32]), 3);
        }
        return _mm256_set_m128i(parts[1], parts[0]);
    }

    // One symbol of eight states; those that are not `taking` keep their state. Gives the symbols.
    template <bool kAll>
    static PENSTOCK_INLINE V step(std::uint32_t* states, const std::uint8_t* contexts, const std::uint8_t*& words,
                                  const std::uint32_t* entries, V taking) noexcept {
        const V state = load(states);
        const V context = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(contexts)));
        const V slot = _mm256_and_si256(state, _mm256_set1_epi32(kNumSlots - 1));
        const V entry = look_up(entries, _mm256_or_si256(_mm256_slli_epi32(context, kSlotBits), slot));
        const V place = _mm256_and_si256(entry, _mm256_set1_epi32(kNumSlots - 1));
        const V product = _mm256_mullo_epi32(_mm256_srli_epi32(entry, 16), _mm256_srli_epi32(state, kSlotBits));
        const V next = _mm256_add_epi32(product, place);
        V low = _mm256_cmpeq_epi32(_mm256_srli_epi32(next, 16), zero());
        if constexpr (!kAll) low = _mm256_and_si256(low, taking);
        const auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(low)));
        const __m128i fresh = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)),
                                               _mm_load_si128(reinterpret_cast<const __m128i*>(kShuffles.words[mask])));
        words += 2 * count_bits(mask);
        const V shifted = _mm256_sllv_epi32(next, _mm256_and_si256(low, _mm256_set1_epi32(16)));
        const V full = _mm256_or_si256(shifted, _mm256_cvtepu16_epi32(fresh));
        store(states, kAll ? full : _mm256_blendv_epi8(state, full, taking));
        return _mm256_and_si256(_mm256_srli_epi32(entry, kSlotBits), _mm256_set1_epi32(kNumSymbols - 1));
    }

    alignas(64) std::uint32_t states_[kNumStates];
    const std::uint8_t* words_;
    const std::uint8_t* words_end_;
};

}  // namespace

}  // namespace penstock::sluice
