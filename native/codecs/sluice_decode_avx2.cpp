// The vocabulary of sluice_decode_simd.h in AVX2: two registers hold one byte of each of the 64 lanes of a group.
#if defined(__x86_64__)

#include <immintrin.h>

#include "codecs/sluice_decode_simd.h"

namespace penstock::sluice {

namespace {

using V = __m256i;

PENSTOCK_INLINE V load(const void* from) noexcept { return _mm256_load_si256(static_cast<const V*>(from)); }
PENSTOCK_INLINE V load_any(const void* from) noexcept { return _mm256_loadu_si256(static_cast<const V*>(from)); }
PENSTOCK_INLINE void store(void* to, V value) noexcept { _mm256_store_si256(static_cast<V*>(to), value); }
PENSTOCK_INLINE void store_any(void* to, V value) noexcept { _mm256_storeu_si256(static_cast<V*>(to), value); }
PENSTOCK_INLINE V bytes(int value) noexcept { return _mm256_set1_epi8(static_cast<char>(value)); }
PENSTOCK_INLINE V zero() noexcept { return _mm256_setzero_si256(); }
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

// States stay in memory: eight of them are a register, and sixteen would not leave room for anything else.
template <bool kGather>
class States256 {
  public:
    void load(const std::uint32_t* states) noexcept { std::memcpy(states_, states, sizeof states_); }

    // Decodes the symbols of a step; false if there are too few words.
    bool decode(const Step& todo, const std::uint8_t*& words_in_out) noexcept {
        const std::uint8_t* words = words_in_out;
        const std::uint8_t* const words_end = todo.words_end;
        const std::uint8_t* const contexts = todo.contexts;
        std::uint8_t* const symbols = todo.symbols;
        const std::uint32_t* const entries = todo.entries;
        const std::size_t count = todo.count;
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
        words_in_out = words;
        return words <= words_end;
    }

    // False unless all states are 65,536 to 131,071; gives their lower halves.
    bool finish(std::uint16_t* payload) const noexcept {
        for (std::size_t i = 0; i < kNumStates; ++i) {
            if (states_[i] >> 16 != 1) return false;
            payload[i] = static_cast<std::uint16_t>(states_[i]);
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
        const V state = sluice::load(states);
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
};

template <bool kGather>
struct Avx2 {
    using Lanes = sluice::Lanes;
    using Mask = std::uint64_t;
    using States = States256<kGather>;

    static PENSTOCK_INLINE Lanes load(const void* from) noexcept { return load_lanes(from); }
    static PENSTOCK_INLINE void store(void* to, const Lanes& lanes) noexcept { store_lanes(to, lanes); }
    static PENSTOCK_INLINE Lanes fill(int value) noexcept { return {{bytes(value), bytes(value)}}; }
    static PENSTOCK_INLINE Lanes either(const Lanes& a, const Lanes& b) noexcept {
        return {{_mm256_or_si256(a.half[0], b.half[0]), _mm256_or_si256(a.half[1], b.half[1])}};
    }
    static PENSTOCK_INLINE Lanes larger(const Lanes& a, const Lanes& b) noexcept {
        return {{_mm256_max_epu8(a.half[0], b.half[0]), _mm256_max_epu8(a.half[1], b.half[1])}};
    }
    static PENSTOCK_INLINE std::uint64_t nonzero(const Lanes& lanes) noexcept { return nonzero_lanes(lanes); }
    static PENSTOCK_INLINE std::uint64_t above(const Lanes& lanes, int limit) noexcept {
        return top_bits(_mm256_cmpgt_epi8(lanes.half[0], bytes(limit)), _mm256_cmpgt_epi8(lanes.half[1], bytes(limit)));
    }
    static PENSTOCK_INLINE bool has_above(const Lanes& lanes, int limit) noexcept {
        const V any = _mm256_cmpgt_epi8(_mm256_max_epu8(lanes.half[0], lanes.half[1]), bytes(limit));
        return _mm256_testz_si256(any, any) == 0;
    }

    static PENSTOCK_INLINE Lanes take_one(Lanes counts, const Lanes& values) noexcept {
        for (int h = 0; h < 2; ++h) {
            const V less = _mm256_add_epi8(counts.half[h], bytes(-1));
            counts.half[h] = _mm256_sub_epi8(less, _mm256_cmpeq_epi8(values.half[h], zero()));
        }
        return counts;
    }
    static PENSTOCK_INLINE Lanes take_two(const Lanes& counts, const Lanes& first, const Lanes& second) noexcept {
        return take_one(take_one(counts, first), second);
    }
    static PENSTOCK_INLINE void split(const Lanes& symbols, Lanes& first, Lanes& second) noexcept {
        for (int h = 0; h < 2; ++h) {
            first.half[h] = _mm256_and_si256(_mm256_srli_epi16(symbols.half[h], 3), bytes(kEscape));
            second.half[h] = _mm256_and_si256(symbols.half[h], bytes(kEscape));
        }
    }

    static PENSTOCK_INLINE Lanes context_sum(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c,
                                             const std::uint8_t* d, const std::uint8_t* e) noexcept {
        Lanes sums;
        for (int h = 0; h < 2; ++h) {
            const auto at = [h](const std::uint8_t* row) { return sluice::load(row + 32 * h); };
            V sum = _mm256_add_epi8(at(a), at(b));
            sum = _mm256_add_epi8(_mm256_add_epi8(sum, sum), at(c));
            sum = _mm256_add_epi8(sum, _mm256_add_epi8(at(d), at(e)));
            sums.half[h] = _mm256_min_epu8(sum, bytes(63));
        }
        return sums;
    }
    static PENSTOCK_INLINE Lanes contexts(const Lanes& remaining, const Lanes& sum, const std::uint8_t* map) noexcept {
        Lanes tables;
        for (int h = 0; h < 2; ++h) {
            const V context = _mm256_or_si256(class_of_value(remaining.half[h], kCountLow, kCountHigh),
                                              class_of_value(sum.half[h], kMagnitudeLow, kMagnitudeHigh));
            tables.half[h] = look_up64(map, context);
        }
        return tables;
    }
    static PENSTOCK_INLINE Lanes even_contexts(const Lanes& tokens, const std::uint8_t* map) noexcept {
        Lanes tables;
        for (int h = 0; h < 2; ++h) {
            tables.half[h] = _mm256_shuffle_epi8(broadcast16(map), look_up64(kDcClass.data(), tokens.half[h]));
        }
        return tables;
    }
    static PENSTOCK_INLINE Lanes odd_contexts(const std::uint8_t* even, const Lanes& tokens,
                                              const std::uint8_t* map) noexcept {
        // Neighbours in a row; outside of the group the opposite one stands in.
        const V left = _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 0, 1, 2, 3, 4, 5, 6, 9, 8, 9, 10, 11, 12, 13, 14));
        const V right =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 2, 3, 4, 5, 6, 7, 6, 9, 10, 11, 12, 13, 14, 15, 14));
        alignas(32) std::uint8_t rows[80];  // with a row above and one below
        std::memcpy(rows, even + 8, 8);
        std::memcpy(rows + 8, even, 64);
        std::memcpy(rows + 72, even + 48, 8);
        Lanes tables;
        for (int h = 0; h < 2; ++h) {
            const V here = sluice::load(even + 32 * h);
            const V across = _mm256_avg_epu8(_mm256_shuffle_epi8(here, left), _mm256_shuffle_epi8(here, right));
            const V down = _mm256_avg_epu8(load_any(rows + 32 * h), load_any(rows + 16 + 32 * h));
            const V neighbour = class_of_value(_mm256_avg_epu8(across, down), kCountLow, kCountHigh);
            const V dc = look_up64(kDcClass.data(), tokens.half[h]);
            tables.half[h] = look_up64(map, _mm256_or_si256(neighbour, dc));
        }
        return tables;
    }

    static PENSTOCK_INLINE unsigned compact(const Lanes& from, std::uint64_t lanes, std::uint8_t* out) noexcept {
        return sluice::compact(from, lanes, out);
    }
    static PENSTOCK_INLINE Lanes expand(const std::uint8_t* from, std::uint64_t lanes) noexcept {
        return sluice::expand(from, lanes);
    }
    static PENSTOCK_INLINE Mask plane(RawBits& raw, std::uint64_t lanes) noexcept {
        return _pdep_u64(raw.take(count_bits(lanes)), lanes);
    }
    static PENSTOCK_INLINE Lanes negate(const Lanes& values, Mask signs) noexcept {
        return {{negate_bytes(values.half[0], signs), negate_bytes(values.half[1], signs >> 32)}};
    }
    static PENSTOCK_INLINE void widen(const std::int8_t* from, std::int16_t* to) noexcept {
        for (int i = 0; i < 4; ++i) {
            const __m128i sixteen = _mm_load_si128(reinterpret_cast<const __m128i*>(from) + i);
            sluice::store(to + 16 * i, _mm256_cvtepi8_epi16(sixteen));
        }
    }

    // Sums along rows, and of the first column down.
    static void undo_prediction(std::int16_t* values) noexcept {
        __m128i above = _mm_setzero_si128();
        for (int y = 0; y < 8; ++y) {
            auto* const row = reinterpret_cast<__m128i*>(values + 8 * y);
            const __m128i difference = _mm_load_si128(row);
            __m128i sums = _mm_add_epi16(difference, _mm_slli_si128(difference, 2));
            sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 4));
            sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 8));
            _mm_store_si128(row, _mm_add_epi16(sums, above));
            above = _mm_add_epi16(above, _mm_shuffle_epi8(difference, _mm_set1_epi16(0x0100)));
        }
    }

    // Negates the words whose bit is set.
    static PENSTOCK_INLINE void negate_words(std::int16_t* values, std::uint64_t signs) noexcept {
        for (int i = 0; i < 4; ++i) {
            const V mask = _mm256_cvtepi8_epi16(half_of(spread(signs >> 32 * (i / 2)), i % 2));
            const V value = sluice::load(values + 16 * i);
            sluice::store(values + 16 * i, _mm256_sub_epi16(_mm256_xor_si256(value, mask), mask));
        }
    }

    // Adds `weight` to the words whose bit is set.
    static void add_words(std::int16_t* values, std::uint64_t lanes, int weight) noexcept {
        for (; lanes != 0; lanes &= lanes - 1) {
            std::int16_t& value = values[__builtin_ctzll(lanes)];
            value = static_cast<std::int16_t>(value + weight);
        }
    }

    // Values of which some are above 14; gives the position in the raw bits.
    static __attribute__((noinline)) std::size_t put_large(CoefficientGroup& out, unsigned k, const Lanes& tokens,
                                                           Mask signs, RawBits raw) noexcept {
        const std::uint64_t large = above(tokens, kLastDirectToken);
        V is_large[2];
        V num_bits[2];
        V extra[2] = {zero(), zero()};
        for (int h = 0; h < 2; ++h) {
            is_large[h] = spread(large >> 32 * h);
            num_bits[h] = _mm256_and_si256(is_large[h], _mm256_sub_epi8(tokens.half[h], bytes(kTokenBitsOffset)));
        }
        const auto longer_than = [&](int p) {
            return top_bits(_mm256_cmpgt_epi8(num_bits[0], bytes(p)), _mm256_cmpgt_epi8(num_bits[1], bytes(p)));
        };
        std::uint64_t lanes = large;
        int p = 0;
        for (; lanes != 0 && p < 8; lanes = longer_than(++p)) {
            const std::uint64_t set = plane(raw, lanes);
            for (int h = 0; h < 2; ++h) {
                extra[h] = _mm256_or_si256(extra[h], _mm256_and_si256(spread(set >> 32 * h), bytes(1 << p)));
            }
        }
        // 2^b as two bytes, by look-up.
        const V power_low =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0));
        const V power_high =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 0));
        if (p <= static_cast<int>(kLastNarrowToken - kTokenBitsOffset)) {
            Lanes values;
            for (int h = 0; h < 2; ++h) {
                const V base = _mm256_add_epi8(bytes(kTokenBase), _mm256_shuffle_epi8(power_low, num_bits[h]));
                values.half[h] = _mm256_blendv_epi8(tokens.half[h], _mm256_add_epi8(base, extra[h]), is_large[h]);
            }
            store(out.narrow[k], negate(values, signs));
            return raw.position;
        }
        out.wide_positions |= std::uint64_t{1} << k;
        for (int i = 0; i < 4; ++i) {
            const int h = i / 2;
            const V base = _mm256_blendv_epi8(tokens.half[h], bytes(kTokenBase), is_large[h]);
            const V low = _mm256_and_si256(is_large[h], _mm256_shuffle_epi8(power_low, num_bits[h]));
            const V high = _mm256_and_si256(is_large[h], _mm256_shuffle_epi8(power_high, num_bits[h]));
            const auto words = [&](V value) { return _mm256_cvtepu8_epi16(half_of(value, i % 2)); };
            const V power = _mm256_add_epi16(words(low), _mm256_slli_epi16(words(high), 8));
            sluice::store(out.wide[k] + 16 * i,
                          _mm256_add_epi16(_mm256_add_epi16(words(base), words(extra[h])), power));
        }
        for (; lanes != 0; lanes = longer_than(++p)) add_words(out.wide[k], plane(raw, lanes), 1 << p);
        negate_words(out.wide[k], signs);
        return raw.position;
    }

    // Values of a pair of which some are above 6. False if one is too large.
    static __attribute__((noinline)) bool put_escapes(CoefficientGroup& out, unsigned k, const Lanes& magnitudes,
                                                      Mask signs, RawBits& raw) noexcept {
        const std::uint64_t escapes = above(magnitudes, kEscape - 1);
        if (escapes == 0) return true;
        std::uint64_t longer[kMaxEscapeBits];  // lanes whose highest bit is above p
        unsigned most = 0;
        V power[4];  // 2^c, in words
        for (int i = 0; i < 4; ++i) {
            const V mask = _mm256_cvtepi8_epi16(half_of(spread(escapes >> 32 * (i / 2)), i % 2));
            power[i] = _mm256_srli_epi16(mask, 15);
        }
        for (std::uint64_t lanes = escapes;; ++most) {
            lanes = plane(raw, lanes);
            if (lanes == 0) break;
            if (most == kMaxEscapeBits) return false;
            longer[most] = lanes;
            for (int i = 0; i < 4; ++i) {
                const V mask = _mm256_cvtepi8_epi16(half_of(spread(lanes >> 32 * (i / 2)), i % 2));
                power[i] = _mm256_add_epi16(power[i], _mm256_and_si256(power[i], mask));
            }
        }
        for (int i = 0; i < 4; ++i) {
            const V mask = _mm256_cvtepi8_epi16(half_of(spread(escapes >> 32 * (i / 2)), i % 2));
            const V small = _mm256_cvtepu8_epi16(half_of(magnitudes.half[i / 2], i % 2));
            // An escape has 7 there, and should have 6 + 2^c.
            sluice::store(out.wide[k] + 16 * i, _mm256_add_epi16(_mm256_add_epi16(small, mask), power[i]));
        }
        for (unsigned p = 0; p < most; ++p) {
            const std::uint64_t set = plane(raw, longer[p]);
            for (int i = 0; i < 4; ++i) {
                const V mask = _mm256_cvtepi8_epi16(half_of(spread(set >> 32 * (i / 2)), i % 2));
                const V weight = _mm256_and_si256(mask, _mm256_set1_epi16(static_cast<short>(1 << p)));
                sluice::store(out.wide[k] + 16 * i, _mm256_add_epi16(sluice::load(out.wide[k] + 16 * i), weight));
            }
        }
        out.wide_positions |= std::uint64_t{1} << k;
        negate_words(out.wide[k], signs);
        return true;
    }
};

}  // namespace

TileFault decode_tile_avx2(const TileJob& job) noexcept {
    Decoder<Avx2<false>> decoder(job);
    return decoder.run();
}

TileFault decode_tile_avx2_gather(const TileJob& job) noexcept {
    Decoder<Avx2<true>> decoder(job);
    return decoder.run();
}

}  // namespace penstock::sluice

#endif
