// Decodes a Sluice tile with AVX2: two registers hold one byte of each of the 64 lanes of a group.
//
// The plain twin, which explains the steps, is sluice_decode_plain.cpp.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "codecs/sluice.h"

namespace penstock::sluice {

namespace {

using jpeg::CoefficientGroup;
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

template <bool kGather>
class Decoder {
  public:
    explicit Decoder(const TileJob& job) noexcept
        : job_(job),
          tables_(*job.tables),
          words_(job.parts.words),
          raw_{job.parts.raw, 0},
          raw_end_(8 * job.parts.raw_bytes),
          payload_bits_(kPayloadBits * static_cast<unsigned>(job.parts.num_states)) {
        std::memcpy(states_, job.parts.states.data(), sizeof states_);
    }

    TileFault run() noexcept {
        TileFault fault = decode_dc();
        if (fault != TileFault::none) return fault;
        if (!decode_counts()) return TileFault::words;
        const unsigned first_pair = tables_.first_pair;
        unsigned k = 1;
        for (; k < first_pair; ++k) {
            if (!list_contexts(k)) return finish();
            if (!decode_symbols()) return TileFault::words;
            const bool fits = num_deferred_bits_ < payload_bits_ ? put_position<true>(k) : put_position<false>(k);
            if (!fits) return TileFault::raw;
        }
        for (; k < kPositions; k += 2) {
            if (!list_contexts(k)) return finish();
            if (!decode_symbols()) return TileFault::words;
            fault = put_pair(k);
            if (fault != TileFault::none) return fault;
        }
        return finish();
    }

  private:
    // Symbols ------------------------------------------------------------------------------------------------------

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

    // One symbol of eight states; those that are not `taking` keep their state. Gives the entries.
    template <bool kAll>
    static PENSTOCK_INLINE V step(std::uint32_t* states, const std::uint8_t* contexts, const std::uint8_t*& words,
                                  const std::uint32_t* entries, V taking) noexcept {
        const V state = load(states);
        const V context = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(contexts)));
        const V slot = _mm256_and_si256(state, _mm256_set1_epi32(kNumSlots - 1));
        const V entry = look_up(entries, _mm256_or_si256(_mm256_slli_epi32(context, kSlotBits), slot));
        const V place = _mm256_and_si256(_mm256_srli_epi32(entry, 8), _mm256_set1_epi32(0xFFF));
        const V product = _mm256_mullo_epi32(_mm256_srli_epi32(entry, 20), _mm256_srli_epi32(state, kSlotBits));
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
        return entry;
    }

    // False if there are too few words.
    bool decode_symbols() noexcept {
        const std::uint8_t* words = words_;
        const std::uint8_t* const words_end = job_.parts.words_end;
        const std::uint32_t* const entries = tables_.entries.data();
        const std::size_t count = num_symbols_;
        const V symbol = _mm256_set1_epi32(255);
        std::size_t i = 0;
        for (; i + 64 <= count; i += 64) {
#pragma GCC unroll 2
            for (int half = 0; half < 2; ++half) {
                V found[4];
#pragma GCC unroll 4
                for (int s = 0; s < 4; ++s) {
                    const int at = 32 * half + 8 * s;
                    found[s] =
                        _mm256_and_si256(step<true>(states_ + at, contexts_ + i + at, words, entries, zero()), symbol);
                }
                const V packed = _mm256_packus_epi16(_mm256_packus_epi32(found[0], found[1]),
                                                     _mm256_packus_epi32(found[2], found[3]));
                store_any(symbols_ + i + 32 * half,
                          _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
            }
            if (words > words_end) return false;
        }
        for (int s = 0; i < count; i += 8, s += 8) {
            const V taking = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count - i)),
                                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
            const V found = _mm256_and_si256(step<false>(states_ + s, contexts_ + i, words, entries, taking), symbol);
            const V packed = _mm256_packus_epi16(_mm256_packus_epi32(found, zero()), zero());
            const __m128i eight = _mm_unpacklo_epi32(half_of(packed, 0), half_of(packed, 1));
            _mm_storel_epi64(reinterpret_cast<__m128i*>(symbols_ + i), eight);
        }
        words_ = words;
        return words <= words_end;
    }

    // DC and counts ------------------------------------------------------------------------------------------------

    TileFault decode_dc() noexcept {
        std::size_t count = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const V table = bytes(tables_.dc[class_of(g)]);
            store_any(contexts_ + count, table);
            store_any(contexts_ + count + 32, table);
            count += count_bits(job_.groups[g].active);
        }
        num_symbols_ = count;
        if (!decode_symbols()) return TileFault::words;
        std::size_t offset = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            GroupScratch& scratch = job_.scratch[g];
            CoefficientGroup& out = job_.out[g];
            const Lanes tokens = expand(symbols_ + offset, job_.groups[g].active);
            offset += count_bits(job_.groups[g].active);
            store_lanes(scratch.magnitudes[0], tokens);
            store_lanes(scratch.magnitudes[kZeroRow], {{zero(), zero()}});
            out.wide_positions = 0;
            out.num_positions = kPositions;
            put_values<false>(out, 0, tokens, nonzero_lanes(tokens), raw_);
            if (out.wide_positions == 0) {
                for (int i = 0; i < 4; ++i) {
                    const auto* const from = reinterpret_cast<const __m128i*>(out.narrow[0]) + i;
                    store(out.wide[0] + 16 * i, _mm256_cvtepi8_epi16(_mm_load_si128(from)));
                }
                out.wide_positions = 1;
            }
            undo_prediction(out.wide[0]);
            if (raw_.position > raw_end_) return TileFault::raw;
        }
        return TileFault::none;
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

    bool decode_counts() noexcept {
        std::size_t count = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const std::uint64_t lanes = job_.groups[g].active & kEvenLanes;
            Lanes tables;
            for (int i = 0; i < 2; ++i) {
                const V dc = look_up64(kDcClass.data(), load(job_.scratch[g].magnitudes[0] + 32 * i));
                tables.half[i] = _mm256_shuffle_epi8(broadcast16(tables_.even[class_of(g)]), dc);
            }
            count += compact(tables, lanes, contexts_ + count);
        }
        num_symbols_ = count;
        if (!decode_symbols()) return false;
        std::size_t offset = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const std::uint64_t lanes = job_.groups[g].active & kEvenLanes;
            store_lanes(job_.scratch[g].remaining, expand(symbols_ + offset, lanes));
            offset += count_bits(lanes);
        }
        list_odd_counts();
        if (!decode_symbols()) return false;
        offset = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const std::uint64_t lanes = job_.groups[g].active & ~kEvenLanes;
            Lanes counts = expand(symbols_ + offset, lanes);
            const Lanes even = load_lanes(job_.scratch[g].remaining);
            for (int i = 0; i < 2; ++i) counts.half[i] = _mm256_or_si256(counts.half[i], even.half[i]);
            store_lanes(job_.scratch[g].remaining, counts);
            offset += count_bits(lanes);
            live_[g].group = static_cast<std::uint32_t>(g);
        }
        num_live_ = job_.num_groups;
        return true;
    }

    void list_odd_counts() noexcept {
        // Neighbours in a row; outside of the group the opposite one stands in.
        const V left = _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 0, 1, 2, 3, 4, 5, 6, 9, 8, 9, 10, 11, 12, 13, 14));
        const V right =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 2, 3, 4, 5, 6, 7, 6, 9, 10, 11, 12, 13, 14, 15, 14));
        std::size_t count = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const std::uint8_t* const even = job_.scratch[g].remaining;
            alignas(32) std::uint8_t rows[80];  // with a row above and one below
            std::memcpy(rows, even + 8, 8);
            std::memcpy(rows + 8, even, 64);
            std::memcpy(rows + 72, even + 48, 8);
            Lanes tables;
            for (int i = 0; i < 2; ++i) {
                const V here = load(even + 32 * i);
                const V across = _mm256_avg_epu8(_mm256_shuffle_epi8(here, left), _mm256_shuffle_epi8(here, right));
                const V down = _mm256_avg_epu8(load_any(rows + 32 * i), load_any(rows + 16 + 32 * i));
                const V neighbour = class_of_value(_mm256_avg_epu8(across, down), kCountLow, kCountHigh);
                const V dc = look_up64(kDcClass.data(), load(job_.scratch[g].magnitudes[0] + 32 * i));
                tables.half[i] = look_up64(tables_.odd[class_of(g)], _mm256_or_si256(neighbour, dc));
            }
            count += compact(tables, job_.groups[g].active & ~kEvenLanes, contexts_ + count);
        }
        num_symbols_ = count;
    }

    // Positions ----------------------------------------------------------------------------------------------------

    // False if no lane takes part any more. Groups without any are dropped.
    bool list_contexts(unsigned k) noexcept {
        const Neighbours near = kNeighbours[k];
        std::size_t count = 0;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < num_live_; ++i) {
            const std::uint32_t g = live_[i].group;
            const GroupScratch& scratch = job_.scratch[g];
            const Lanes remaining = load_lanes(scratch.remaining);
            const std::uint64_t lanes = nonzero_lanes(remaining);
            if (lanes == 0) [[unlikely]] {
                job_.out[g].num_positions = static_cast<int>(k);
                continue;
            }
            live_[kept++] = {lanes, static_cast<std::uint32_t>(count), g};
            const std::uint8_t* const map = tables_.positions[class_of(g)][k];
            Lanes tables;
#pragma GCC unroll 2
            for (int h = 0; h < 2; ++h) {
                const auto at = [&](unsigned position) { return load(scratch.magnitudes[position] + 32 * h); };
                V sum = _mm256_add_epi8(at(near.a), at(near.b));
                sum = _mm256_add_epi8(_mm256_add_epi8(sum, sum), at(near.c));
                sum = _mm256_add_epi8(sum, _mm256_add_epi8(at(near.d), at(near.e)));
                sum = _mm256_min_epu8(sum, bytes(63));
                const V context = _mm256_or_si256(class_of_value(remaining.half[h], kCountLow, kCountHigh),
                                                  class_of_value(sum, kMagnitudeLow, kMagnitudeHigh));
                tables.half[h] = look_up64(map, context);
            }
            count += compact(tables, lanes, contexts_ + count);
        }
        num_live_ = kept;
        num_symbols_ = count;
        return kept != 0;
    }

    // False if there are too few raw bits.
    template <bool kMayDefer>
    bool put_position(unsigned k) noexcept {
        RawBits raw = raw_;
        const std::size_t raw_end = raw_end_;
        for (std::size_t i = 0; i < num_live_; ++i) {
            const Live live = live_[i];
            GroupScratch& scratch = job_.scratch[live.group];
            CoefficientGroup& out = job_.out[live.group];
            const Lanes tokens = expand(symbols_ + live.offset, live.lanes);
            V zeros[2];
            for (int h = 0; h < 2; ++h) {
                zeros[h] = _mm256_cmpeq_epi8(tokens.half[h], zero());
                const V less = _mm256_add_epi8(load(scratch.remaining + 32 * h), bytes(-1));
                store(scratch.remaining + 32 * h, _mm256_sub_epi8(less, zeros[h]));
            }
            const std::uint64_t nonzero = ~top_bits(zeros[0], zeros[1]);
            store_lanes(scratch.magnitudes[k], tokens);
            if (kMayDefer && defer(k, live.group, nonzero)) {
                put_values<true>(out, k, tokens, nonzero, raw);
            } else {
                put_values<false>(out, k, tokens, nonzero, raw);
            }
            if (raw.position > raw_end) return false;
        }
        raw_ = raw;
        return true;
    }

    PENSTOCK_INLINE bool defer(unsigned k, std::uint32_t group, std::uint64_t nonzero) noexcept {
        if (nonzero == 0) return true;
        num_deferred_bits_ += count_bits(nonzero);
        if (num_deferred_bits_ > payload_bits_) return false;  // and never again
        deferred_[num_deferred_++] = {nonzero, static_cast<std::uint8_t>(k), static_cast<std::uint8_t>(group)};
        return true;
    }

    template <bool kDeferred>
    static PENSTOCK_INLINE void put_values(CoefficientGroup& out, unsigned k, const Lanes& tokens,
                                           std::uint64_t nonzero, RawBits& raw) noexcept {
        std::uint64_t signs = 0;
        if constexpr (!kDeferred) signs = raw.plane(nonzero);
        const V limit = bytes(kLastDirectToken);
        const V large = _mm256_cmpgt_epi8(_mm256_max_epu8(tokens.half[0], tokens.half[1]), limit);
        if (_mm256_testz_si256(large, large) == 0) [[unlikely]] {
            const std::uint64_t lanes =
                top_bits(_mm256_cmpgt_epi8(tokens.half[0], limit), _mm256_cmpgt_epi8(tokens.half[1], limit));
            raw.position = put_large(out, k, tokens, lanes, signs, raw);
            return;
        }
        if constexpr (kDeferred) {
            store_lanes(out.narrow[k], tokens);
        } else {
            for (int h = 0; h < 2; ++h) store(out.narrow[k] + 32 * h, negate_bytes(tokens.half[h], signs >> 32 * h));
        }
    }

    // Negates the words whose bit is set.
    static PENSTOCK_INLINE void negate_words(std::int16_t* values, std::uint64_t signs) noexcept {
        for (int i = 0; i < 4; ++i) {
            const V mask = _mm256_cvtepi8_epi16(half_of(spread(signs >> 32 * (i / 2)), i % 2));
            const V value = load(values + 16 * i);
            store(values + 16 * i, _mm256_sub_epi16(_mm256_xor_si256(value, mask), mask));
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
                                                           std::uint64_t large, std::uint64_t signs,
                                                           RawBits raw) noexcept {
        out.wide_positions |= std::uint64_t{1} << k;
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
            const std::uint64_t set = raw.plane(lanes);
            for (int h = 0; h < 2; ++h) {
                extra[h] = _mm256_or_si256(extra[h], _mm256_and_si256(spread(set >> 32 * h), bytes(1 << p)));
            }
        }
        // 2^b as two bytes, by look-up.
        const V power_low =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0));
        const V power_high =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 0));
        for (int i = 0; i < 4; ++i) {
            const int h = i / 2;
            const V base = _mm256_blendv_epi8(tokens.half[h], bytes(kTokenBase), is_large[h]);
            const V low = _mm256_and_si256(is_large[h], _mm256_shuffle_epi8(power_low, num_bits[h]));
            const V high = _mm256_and_si256(is_large[h], _mm256_shuffle_epi8(power_high, num_bits[h]));
            const auto words = [&](V value) { return _mm256_cvtepu8_epi16(half_of(value, i % 2)); };
            const V power = _mm256_add_epi16(words(low), _mm256_slli_epi16(words(high), 8));
            store(out.wide[k] + 16 * i, _mm256_add_epi16(_mm256_add_epi16(words(base), words(extra[h])), power));
        }
        for (; lanes != 0; lanes = longer_than(++p)) add_words(out.wide[k], raw.plane(lanes), 1 << p);
        negate_words(out.wide[k], signs);
        return raw.position;
    }

    TileFault put_pair(unsigned k) noexcept {
        RawBits raw = raw_;
        const std::size_t raw_end = raw_end_;
        const V escape = bytes(kEscape);
        for (std::size_t i = 0; i < num_live_; ++i) {
            const Live live = live_[i];
            GroupScratch& scratch = job_.scratch[live.group];
            CoefficientGroup& out = job_.out[live.group];
            const Lanes symbols = expand(symbols_ + live.offset, live.lanes);
            Lanes pair[2];
            std::uint64_t signs[2];
            for (int h = 0; h < 2; ++h) {
                pair[0].half[h] = _mm256_and_si256(_mm256_srli_epi16(symbols.half[h], 3), escape);
                pair[1].half[h] = _mm256_and_si256(symbols.half[h], escape);
                const V zeros = _mm256_add_epi8(_mm256_cmpeq_epi8(pair[0].half[h], zero()),
                                                _mm256_cmpeq_epi8(pair[1].half[h], zero()));
                const V less = _mm256_add_epi8(load(scratch.remaining + 32 * h), bytes(-2));
                store(scratch.remaining + 32 * h, _mm256_sub_epi8(less, zeros));
            }
            for (unsigned j = 0; j < 2; ++j) {
                store_lanes(scratch.magnitudes[k + j], pair[j]);
                signs[j] = raw.plane(nonzero_lanes(pair[j]));
                for (int h = 0; h < 2; ++h) {
                    store(out.narrow[k + j] + 32 * h, negate_bytes(pair[j].half[h], signs[j] >> 32 * h));
                }
            }
            const V most = _mm256_max_epu8(_mm256_max_epu8(pair[0].half[0], pair[0].half[1]),
                                           _mm256_max_epu8(pair[1].half[0], pair[1].half[1]));
            const V any = _mm256_cmpeq_epi8(most, escape);
            if (_mm256_testz_si256(any, any) == 0) [[unlikely]] {
                for (unsigned j = 0; j < 2; ++j) {
                    const std::uint64_t escapes = top_bits(_mm256_cmpeq_epi8(pair[j].half[0], escape),
                                                           _mm256_cmpeq_epi8(pair[j].half[1], escape));
                    if (escapes == 0) continue;
                    if (!put_escapes(out, k + j, pair[j], escapes, signs[j], raw)) return TileFault::escape;
                }
            }
            if (raw.position > raw_end) return TileFault::raw;
        }
        raw_ = raw;
        return TileFault::none;
    }

    // Values of a pair of which some are above 6. False if one is too large.
    static __attribute__((noinline)) bool put_escapes(CoefficientGroup& out, unsigned k, const Lanes& magnitudes,
                                                      std::uint64_t escapes, std::uint64_t signs,
                                                      RawBits& raw) noexcept {
        std::uint64_t longer[kMaxEscapeBits];  // lanes whose highest bit is above p
        unsigned most = 0;
        V power[4];  // 2^c, in words
        for (int i = 0; i < 4; ++i) {
            const V mask = _mm256_cvtepi8_epi16(half_of(spread(escapes >> 32 * (i / 2)), i % 2));
            power[i] = _mm256_srli_epi16(mask, 15);
        }
        for (std::uint64_t lanes = escapes;; ++most) {
            lanes = raw.plane(lanes);
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
            store(out.wide[k] + 16 * i, _mm256_add_epi16(_mm256_add_epi16(small, mask), power[i]));
        }
        for (unsigned p = 0; p < most; ++p) {
            const std::uint64_t set = raw.plane(longer[p]);
            for (int i = 0; i < 4; ++i) {
                const V mask = _mm256_cvtepi8_epi16(half_of(spread(set >> 32 * (i / 2)), i % 2));
                const V weight = _mm256_and_si256(mask, _mm256_set1_epi16(static_cast<short>(1 << p)));
                store(out.wide[k] + 16 * i, _mm256_add_epi16(load(out.wide[k] + 16 * i), weight));
            }
        }
        out.wide_positions |= std::uint64_t{1} << k;
        negate_words(out.wide[k], signs);
        return true;
    }

    // End ----------------------------------------------------------------------------------------------------------

    TileFault finish() noexcept {
        V left = zero();
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const Lanes remaining = load_lanes(job_.scratch[g].remaining);
            left = _mm256_or_si256(left, _mm256_or_si256(remaining.half[0], remaining.half[1]));
        }
        if (_mm256_testz_si256(left, left) == 0) return TileFault::counts;
        if (words_ != job_.parts.words_end) return TileFault::words;
        if ((raw_.position + 7) / 8 * 8 != raw_end_) return TileFault::raw;
        std::uint16_t payload[kNumStates + 8] = {};  // read by whole words from any bit on
        for (std::size_t i = 0; i < kNumStates; ++i) {
            if (states_[i] >> 16 != 1) return TileFault::end;
            payload[i] = static_cast<std::uint16_t>(states_[i]);
        }
        RawBits signs{reinterpret_cast<const std::uint8_t*>(payload), 0};
        for (std::size_t i = 0; i < num_deferred_; ++i) {
            const Deferred& deferred = deferred_[i];
            CoefficientGroup& out = job_.out[deferred.group];
            const unsigned k = deferred.position;
            const std::uint64_t negative = signs.plane(deferred.nonzero);
            if ((out.wide_positions >> k & 1) != 0) {
                negate_words(out.wide[k], negative);
                continue;
            }
            for (int h = 0; h < 2; ++h) {
                store(out.narrow[k] + 32 * h, negate_bytes(load(out.narrow[k] + 32 * h), negative >> 32 * h));
            }
        }
        return TileFault::none;
    }

    PENSTOCK_INLINE std::size_t class_of(std::size_t g) const noexcept { return job_.groups[g].component == 0 ? 0 : 1; }

    const TileJob& job_;
    const DecodeTables& tables_;
    alignas(64) std::uint32_t states_[kNumStates];
    const std::uint8_t* words_;
    RawBits raw_;
    std::size_t raw_end_;
    unsigned payload_bits_;
    unsigned num_deferred_bits_ = 0;
    std::size_t num_symbols_ = 0;
    std::size_t num_live_ = 0;
    std::size_t num_deferred_ = 0;
    Live live_[kMaxGroups];
    alignas(64) std::uint8_t contexts_[(kMaxGroups + 1) * kLanes];  // vectors are stored whole
    alignas(64) std::uint8_t symbols_[(kMaxGroups + 1) * kLanes];
    Deferred deferred_[kPayloadBits * kNumStates];  // each has a bit at least
};

#undef PENSTOCK_INLINE

}  // namespace

TileFault decode_tile_avx2(const TileJob& job) noexcept {
    Decoder<false> decoder(job);
    return decoder.run();
}

TileFault decode_tile_avx2_gather(const TileJob& job) noexcept {
    Decoder<true> decoder(job);
    return decoder.run();
}

}  // namespace penstock::sluice

#endif
