// Decodes a Sluice tile with AVX-512: a register holds one byte of each of the 64 lanes of a group.
//
// The plain twin, which explains the steps, is sluice_decode_plain.cpp.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "codecs/sluice.h"

namespace penstock::sluice {

namespace {

using jpeg::CoefficientGroup;

#define PENSTOCK_INLINE inline __attribute__((always_inline))

PENSTOCK_INLINE __m512i load(const void* from) noexcept { return _mm512_load_si512(from); }
PENSTOCK_INLINE __m512i load_any(const void* from) noexcept { return _mm512_loadu_si512(from); }
PENSTOCK_INLINE void store(void* to, __m512i value) noexcept { _mm512_store_si512(to, value); }
PENSTOCK_INLINE __m512i bytes(int value) noexcept { return _mm512_set1_epi8(static_cast<char>(value)); }
PENSTOCK_INLINE __m512i zero() noexcept { return _mm512_setzero_si512(); }
PENSTOCK_INLINE unsigned count_bits(std::uint64_t bits) noexcept { return static_cast<unsigned>(_mm_popcnt_u64(bits)); }

// The 32 bytes of half `half`, as unsigned or signed words.
PENSTOCK_INLINE __m512i words_of(__m512i value, int half) noexcept {
    return _mm512_cvtepu8_epi16(half != 0 ? _mm512_extracti64x4_epi64(value, 1) : _mm512_castsi512_si256(value));
}
PENSTOCK_INLINE __m512i signed_words_of(__m512i value, int half) noexcept {
    return _mm512_cvtepi8_epi16(half != 0 ? _mm512_extracti64x4_epi64(value, 1) : _mm512_castsi512_si256(value));
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

// Where lane neighbours of a group are; outside of it the opposite neighbour stands in.
alignas(64) constexpr std::uint8_t kLeft[64] = {1,  0,  1,  2,  3,  4,  5,  6,  9,  8,  9,  10, 11, 12, 13, 14,
                                                17, 16, 17, 18, 19, 20, 21, 22, 25, 24, 25, 26, 27, 28, 29, 30,
                                                33, 32, 33, 34, 35, 36, 37, 38, 41, 40, 41, 42, 43, 44, 45, 46,
                                                49, 48, 49, 50, 51, 52, 53, 54, 57, 56, 57, 58, 59, 60, 61, 62};
alignas(64) constexpr std::uint8_t kRight[64] = {1,  2,  3,  4,  5,  6,  7,  6,  9,  10, 11, 12, 13, 14, 15, 14,
                                                 17, 18, 19, 20, 21, 22, 23, 22, 25, 26, 27, 28, 29, 30, 31, 30,
                                                 33, 34, 35, 36, 37, 38, 39, 38, 41, 42, 43, 44, 45, 46, 47, 46,
                                                 49, 50, 51, 52, 53, 54, 55, 54, 57, 58, 59, 60, 61, 62, 63, 62};

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
        for (int i = 0; i < 4; ++i) states_[i] = load_any(job.parts.states.data() + 16 * i);
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

    // Entries of 16 slots, by a gather or by single loads: which is faster depends on the processor. (GCC leaves the
    // destination of a plain gather undefined, which makes it wait for whatever the register held before.)
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
    template <bool kAll>
    static PENSTOCK_INLINE __m512i step(__m512i state, const std::uint8_t* contexts, std::uint8_t* symbols,
                                        const std::uint8_t*& words, const std::uint32_t* entries,
                                        __mmask16 taking) noexcept {
        const __m512i context = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(contexts)));
        const __m512i slot = _mm512_and_si512(state, _mm512_set1_epi32(kNumSlots - 1));
        const __m512i entry = look_up(entries, _mm512_or_si512(_mm512_slli_epi32(context, kSlotBits), slot));
        const __m512i place = _mm512_and_si512(_mm512_srli_epi32(entry, 8), _mm512_set1_epi32(0xFFF));
        const __m512i product = _mm512_mullo_epi32(_mm512_srli_epi32(entry, 20), _mm512_srli_epi32(state, kSlotBits));
        __m512i next = _mm512_add_epi32(product, place);
        const __m512i lowest = _mm512_set1_epi32(kLowestState);
        const __mmask16 low =
            kAll ? _mm512_cmplt_epu32_mask(next, lowest) : _mm512_mask_cmplt_epu32_mask(taking, next, lowest);
        if constexpr (!kAll) next = _mm512_mask_mov_epi32(state, taking, next);
        const __m512i fresh = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)));
        words += 2 * count_bits(low);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(symbols), _mm512_cvtepi32_epi8(entry));
        return _mm512_mask_or_epi32(next, low, _mm512_slli_epi32(next, 16), _mm512_maskz_expand_epi32(low, fresh));
    }

    // False if there are too few words.
    bool decode_symbols() noexcept {
        __m512i states[4] = {states_[0], states_[1], states_[2], states_[3]};  // not through `this`: stores alias it
        const std::uint8_t* words = words_;
        const std::uint8_t* const words_end = job_.parts.words_end;
        const std::uint32_t* const entries = tables_.entries.data();
        const std::size_t count = num_symbols_;
        std::size_t i = 0;
        for (; i + 64 <= count; i += 64) {
#pragma GCC unroll 4
            for (int s = 0; s < 4; ++s) {
                states[s] =
                    step<true>(states[s], contexts_ + i + 16 * s, symbols_ + i + 16 * s, words, entries, 0xFFFF);
            }
            if (words > words_end) return false;
        }
#pragma GCC unroll 4
        for (unsigned s = 0; s < 4; ++s) {
            const std::size_t at = i + 16 * s;
            if (at >= count) break;
            const auto left = static_cast<unsigned>(count - at);
            const auto taking = static_cast<__mmask16>(_bzhi_u32(0xFFFF, left < 16 ? left : 16));
            states[s] = step<false>(states[s], contexts_ + at, symbols_ + at, words, entries, taking);
        }
        for (int s = 0; s < 4; ++s) states_[s] = states[s];
        words_ = words;
        return words <= words_end;
    }

    PENSTOCK_INLINE __m512i symbols_at(std::size_t offset, std::uint64_t lanes) const noexcept {
        return _mm512_maskz_expand_epi8(lanes, load_any(symbols_ + offset));
    }

    // DC and counts ------------------------------------------------------------------------------------------------

    TileFault decode_dc() noexcept {
        std::size_t count = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            _mm512_storeu_si512(contexts_ + count, bytes(tables_.dc[class_of(g)]));
            count += count_bits(job_.groups[g].active);
        }
        num_symbols_ = count;
        if (!decode_symbols()) return TileFault::words;
        std::size_t offset = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            GroupScratch& scratch = job_.scratch[g];
            CoefficientGroup& out = job_.out[g];
            const __m512i tokens = symbols_at(offset, job_.groups[g].active);
            offset += count_bits(job_.groups[g].active);
            store(scratch.magnitudes[0], tokens);
            store(scratch.magnitudes[kZeroRow], zero());
            out.wide_positions = 0;
            out.num_positions = kPositions;
            put_values<false>(out, 0, tokens, _mm512_test_epi8_mask(tokens, tokens), raw_);
            if (out.wide_positions == 0) {
                const __m512i values = load(out.narrow[0]);
                store(out.wide[0], signed_words_of(values, 0));
                store(out.wide[0] + 32, signed_words_of(values, 1));
                out.wide_positions = 1;
            }
            undo_prediction(out.wide[0]);
            if (raw_.position > raw_end_) return TileFault::raw;
        }
        return TileFault::none;
    }

    // Sums along rows, and of the first column down. A row is 128 bits.
    static void undo_prediction(std::int16_t* values) noexcept {
        const __m512i first_word = _mm512_set1_epi16(0x0100);
        const auto across = [](__m512i x) {
            x = _mm512_add_epi16(x, _mm512_bslli_epi128(x, 2));
            x = _mm512_add_epi16(x, _mm512_bslli_epi128(x, 4));
            return _mm512_add_epi16(x, _mm512_bslli_epi128(x, 8));
        };
        const auto down = [](__m512i x) {
            x = _mm512_add_epi16(x, _mm512_alignr_epi64(x, zero(), 6));
            return _mm512_add_epi16(x, _mm512_alignr_epi64(x, zero(), 4));
        };
        const __m512i top = load(values);
        const __m512i bottom = load(values + 32);
        const __m512i top_column = _mm512_shuffle_epi8(top, first_word);
        const __m512i bottom_column = _mm512_shuffle_epi8(bottom, first_word);
        const __m512i top_sums = down(top_column);
        const __m512i above = _mm512_shuffle_i64x2(top_sums, top_sums, 0xFF);
        const __m512i bottom_sums = _mm512_add_epi16(down(bottom_column), above);
        store(values, _mm512_add_epi16(across(top), _mm512_sub_epi16(top_sums, top_column)));
        store(values + 32, _mm512_add_epi16(across(bottom), _mm512_sub_epi16(bottom_sums, bottom_column)));
    }

    bool decode_counts() noexcept {
        const __m512i dc_class = load(kDcClass.data());
        std::size_t count = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const std::uint64_t lanes = job_.groups[g].active & kEvenLanes;
            const __m512i index = _mm512_permutexvar_epi8(load(job_.scratch[g].magnitudes[0]), dc_class);
            const __m512i tables = _mm512_permutexvar_epi8(index, load(tables_.even[class_of(g)]));
            _mm512_storeu_si512(contexts_ + count, _mm512_maskz_compress_epi8(lanes, tables));
            count += count_bits(lanes);
        }
        num_symbols_ = count;
        if (!decode_symbols()) return false;
        std::size_t offset = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const std::uint64_t lanes = job_.groups[g].active & kEvenLanes;
            store(job_.scratch[g].remaining, symbols_at(offset, lanes));
            offset += count_bits(lanes);
        }
        list_odd_counts();
        if (!decode_symbols()) return false;
        offset = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const std::uint64_t lanes = job_.groups[g].active & ~kEvenLanes;
            std::uint8_t* const remaining = job_.scratch[g].remaining;
            store(remaining, _mm512_or_si512(load(remaining), symbols_at(offset, lanes)));
            offset += count_bits(lanes);
            live_[g].group = static_cast<std::uint32_t>(g);
        }
        num_live_ = job_.num_groups;
        return true;
    }

    void list_odd_counts() noexcept {
        const __m512i dc_class = load(kDcClass.data());
        const __m512i count_class = load(kCountClass.data());
        std::size_t count = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const __m512i even = load(job_.scratch[g].remaining);
            const __m512i left = _mm512_permutexvar_epi8(load(kLeft), even);
            const __m512i right = _mm512_permutexvar_epi8(load(kRight), even);
            const __m512i above = _mm512_alignr_epi64(even, zero(), 7);
            const __m512i below = _mm512_alignr_epi64(zero(), even, 1);
            const __m512i top = _mm512_mask_mov_epi64(above, 0x01, below);
            const __m512i bottom = _mm512_mask_mov_epi64(below, 0x80, above);
            const __m512i mean = _mm512_avg_epu8(_mm512_avg_epu8(left, right), _mm512_avg_epu8(top, bottom));
            const __m512i neighbour = _mm512_slli_epi16(_mm512_permutexvar_epi8(mean, count_class), 3);
            const __m512i dc = _mm512_permutexvar_epi8(load(job_.scratch[g].magnitudes[0]), dc_class);
            const __m512i tables =
                _mm512_permutexvar_epi8(_mm512_or_si512(neighbour, dc), load(tables_.odd[class_of(g)]));
            const std::uint64_t lanes = job_.groups[g].active & ~kEvenLanes;
            _mm512_storeu_si512(contexts_ + count, _mm512_maskz_compress_epi8(lanes, tables));
            count += count_bits(lanes);
        }
        num_symbols_ = count;
    }

    // Positions ----------------------------------------------------------------------------------------------------

    // False if no lane takes part any more. Groups without any are dropped.
    bool list_contexts(unsigned k) noexcept {
        const __m512i count_class = _mm512_slli_epi16(load(kCountClass.data()), 3);
        const __m512i magnitude_class = load(kMagnitudeClass.data());
        const Neighbours near = kNeighbours[k];
        std::size_t count = 0;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < num_live_; ++i) {
            const std::uint32_t g = live_[i].group;
            const GroupScratch& scratch = job_.scratch[g];
            const __m512i remaining = load(scratch.remaining);
            const __mmask64 lanes = _mm512_test_epi8_mask(remaining, remaining);
            if (lanes == 0) [[unlikely]] {
                job_.out[g].num_positions = static_cast<int>(k);
                continue;
            }
            live_[kept++] = {lanes, static_cast<std::uint32_t>(count), g};
            __m512i sum = _mm512_add_epi8(load(scratch.magnitudes[near.a]), load(scratch.magnitudes[near.b]));
            sum = _mm512_add_epi8(_mm512_add_epi8(sum, sum), load(scratch.magnitudes[near.c]));
            sum = _mm512_add_epi8(sum,
                                  _mm512_add_epi8(load(scratch.magnitudes[near.d]), load(scratch.magnitudes[near.e])));
            sum = _mm512_min_epu8(sum, bytes(63));
            const __m512i context = _mm512_or_si512(_mm512_permutexvar_epi8(remaining, count_class),
                                                    _mm512_permutexvar_epi8(sum, magnitude_class));
            const __m512i tables = _mm512_permutexvar_epi8(context, load(tables_.positions[class_of(g)][k]));
            _mm512_storeu_si512(contexts_ + count, _mm512_maskz_compress_epi8(lanes, tables));
            count += count_bits(lanes);
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
            const __m512i tokens = symbols_at(live.offset, live.lanes);
            const __mmask64 nonzero = _mm512_test_epi8_mask(tokens, tokens);
            const __m512i remaining = load(scratch.remaining);
            store(scratch.remaining, _mm512_mask_sub_epi8(remaining, nonzero, remaining, bytes(1)));
            store(scratch.magnitudes[k], tokens);
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
    static PENSTOCK_INLINE void put_values(CoefficientGroup& out, unsigned k, __m512i tokens, __mmask64 nonzero,
                                           RawBits& raw) noexcept {
        __mmask64 signs = 0;
        if constexpr (!kDeferred) signs = raw.plane(nonzero);
        const __mmask64 large = _mm512_cmpgt_epu8_mask(tokens, bytes(kLastDirectToken));
        if (large != 0) [[unlikely]] {
            raw.position = put_large(out, k, tokens, large, signs, raw);
            return;
        }
        store(out.narrow[k], kDeferred ? tokens : _mm512_mask_sub_epi8(tokens, signs, zero(), tokens));
    }

    static PENSTOCK_INLINE void store_wide(std::int16_t* to, __m512i low, __m512i high, __mmask64 signs) noexcept {
        store(to, _mm512_mask_sub_epi16(low, static_cast<__mmask32>(signs), zero(), low));
        store(to + 32, _mm512_mask_sub_epi16(high, static_cast<__mmask32>(signs >> 32), zero(), high));
    }

    // Values of which some are above 14; gives the position in the raw bits.
    static __attribute__((noinline)) std::size_t put_large(CoefficientGroup& out, unsigned k, __m512i tokens,
                                                           __mmask64 large, __mmask64 signs, RawBits raw) noexcept {
        out.wide_positions |= std::uint64_t{1} << k;
        const __m512i num_bits = _mm512_maskz_sub_epi8(large, tokens, bytes(kTokenBitsOffset));
        const auto longer_than = [&](int p) { return _mm512_cmpgt_epu8_mask(num_bits, bytes(p)); };
        __m512i extra = zero();
        __m512i bit = bytes(1);
        __mmask64 lanes = large;
        int p = 0;
        for (; lanes != 0 && p < 8; lanes = longer_than(++p)) {
            extra = _mm512_mask_add_epi8(extra, raw.plane(lanes), extra, bit);
            bit = _mm512_add_epi8(bit, bit);
        }
        const auto magnitude = [&](int half) {
            const auto of_half = static_cast<__mmask32>(large >> 32 * half);
            const __m512i power = _mm512_sllv_epi16(_mm512_set1_epi16(1), words_of(num_bits, half));
            const __m512i base = _mm512_add_epi16(words_of(extra, half), _mm512_set1_epi16(kTokenBase));
            return _mm512_mask_add_epi16(words_of(tokens, half), of_half, base, power);
        };
        __m512i low = magnitude(0);
        __m512i high = magnitude(1);
        for (short weight = 256; lanes != 0; weight = static_cast<short>(2 * weight), lanes = longer_than(++p)) {
            const __mmask64 set = raw.plane(lanes);
            low = _mm512_mask_add_epi16(low, static_cast<__mmask32>(set), low, _mm512_set1_epi16(weight));
            high = _mm512_mask_add_epi16(high, static_cast<__mmask32>(set >> 32), high, _mm512_set1_epi16(weight));
        }
        store_wide(out.wide[k], low, high, signs);
        return raw.position;
    }

    TileFault put_pair(unsigned k) noexcept {
        RawBits raw = raw_;
        const std::size_t raw_end = raw_end_;
        const __m512i one = bytes(1);
        const __m512i escape = bytes(kEscape);
        for (std::size_t i = 0; i < num_live_; ++i) {
            const Live live = live_[i];
            GroupScratch& scratch = job_.scratch[live.group];
            CoefficientGroup& out = job_.out[live.group];
            const __m512i symbols = symbols_at(live.offset, live.lanes);
            const __m512i first = _mm512_and_si512(_mm512_srli_epi16(symbols, 3), escape);
            const __m512i second = _mm512_and_si512(symbols, escape);
            const __mmask64 first_nonzero = _mm512_test_epi8_mask(first, first);
            const __mmask64 second_nonzero = _mm512_test_epi8_mask(second, second);
            __m512i remaining = load(scratch.remaining);
            remaining = _mm512_mask_sub_epi8(remaining, first_nonzero, remaining, one);
            store(scratch.remaining, _mm512_mask_sub_epi8(remaining, second_nonzero, remaining, one));
            store(scratch.magnitudes[k], first);
            store(scratch.magnitudes[k + 1], second);
            const __mmask64 first_signs = raw.plane(first_nonzero);
            const __mmask64 second_signs = raw.plane(second_nonzero);
            store(out.narrow[k], _mm512_mask_sub_epi8(first, first_signs, zero(), first));
            store(out.narrow[k + 1], _mm512_mask_sub_epi8(second, second_signs, zero(), second));
            const __mmask64 first_escapes = _mm512_cmpeq_epi8_mask(first, escape);
            const __mmask64 second_escapes = _mm512_cmpeq_epi8_mask(second, escape);
            if ((first_escapes | second_escapes) != 0) [[unlikely]] {
                if (first_escapes != 0 && !put_escapes(out, k, first, first_escapes, first_signs, raw)) {
                    return TileFault::escape;
                }
                if (second_escapes != 0 && !put_escapes(out, k + 1, second, second_escapes, second_signs, raw)) {
                    return TileFault::escape;
                }
            }
            if (raw.position > raw_end) return TileFault::raw;
        }
        raw_ = raw;
        return TileFault::none;
    }

    // Values of a pair of which some are above 6. False if one is too large.
    static __attribute__((noinline)) bool put_escapes(CoefficientGroup& out, unsigned k, __m512i magnitudes,
                                                      __mmask64 escapes, __mmask64 signs, RawBits& raw) noexcept {
        std::uint64_t longer[kMaxEscapeBits];  // lanes whose highest bit is above p
        unsigned most = 0;
        __m512i power[2];  // 2^c, in words
        for (int half = 0; half < 2; ++half) {
            power[half] = _mm512_maskz_set1_epi16(static_cast<__mmask32>(escapes >> 32 * half), 1);
        }
        for (std::uint64_t lanes = escapes;; ++most) {
            lanes = raw.plane(lanes);
            if (lanes == 0) break;
            if (most == kMaxEscapeBits) return false;
            longer[most] = lanes;
            for (int half = 0; half < 2; ++half) {
                const auto of_half = static_cast<__mmask32>(lanes >> 32 * half);
                power[half] = _mm512_mask_add_epi16(power[half], of_half, power[half], power[half]);
            }
        }
        __m512i value[2];
        for (int half = 0; half < 2; ++half) {
            const auto of_half = static_cast<__mmask32>(escapes >> 32 * half);
            const __m512i base = _mm512_add_epi16(power[half], _mm512_set1_epi16(kEscape - 1));
            value[half] = _mm512_mask_mov_epi16(words_of(magnitudes, half), of_half, base);
        }
        short weight = 1;
        for (unsigned p = 0; p < most; ++p, weight = static_cast<short>(2 * weight)) {
            const std::uint64_t set = raw.plane(longer[p]);
            for (int half = 0; half < 2; ++half) {
                const auto of_half = static_cast<__mmask32>(set >> 32 * half);
                value[half] = _mm512_mask_add_epi16(value[half], of_half, value[half], _mm512_set1_epi16(weight));
            }
        }
        out.wide_positions |= std::uint64_t{1} << k;
        store_wide(out.wide[k], value[0], value[1], signs);
        return true;
    }

    // End ----------------------------------------------------------------------------------------------------------

    TileFault finish() noexcept {
        __m512i left = zero();
        for (std::size_t g = 0; g < job_.num_groups; ++g) left = _mm512_or_si512(left, load(job_.scratch[g].remaining));
        if (_mm512_test_epi8_mask(left, left) != 0) return TileFault::counts;
        if (words_ != job_.parts.words_end) return TileFault::words;
        if ((raw_.position + 7) / 8 * 8 != raw_end_) return TileFault::raw;
        alignas(64) std::uint16_t payload[kNumStates + 8] = {};  // read by whole words from any bit on
        for (int i = 0; i < 4; ++i) {
            const __m512i high = _mm512_srli_epi32(states_[i], 16);
            if (_mm512_cmpneq_epi32_mask(high, _mm512_set1_epi32(1)) != 0) return TileFault::end;
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(payload + 16 * i), _mm512_cvtepi32_epi16(states_[i]));
        }
        RawBits signs{reinterpret_cast<const std::uint8_t*>(payload), 0};
        for (std::size_t i = 0; i < num_deferred_; ++i) {
            const Deferred& deferred = deferred_[i];
            CoefficientGroup& out = job_.out[deferred.group];
            const unsigned k = deferred.position;
            const __mmask64 negative = signs.plane(deferred.nonzero);
            if ((out.wide_positions >> k & 1) != 0) {
                store_wide(out.wide[k], load(out.wide[k]), load(out.wide[k] + 32), negative);
            } else {
                const __m512i values = load(out.narrow[k]);
                store(out.narrow[k], _mm512_mask_sub_epi8(values, negative, zero(), values));
            }
        }
        return TileFault::none;
    }

    PENSTOCK_INLINE std::size_t class_of(std::size_t g) const noexcept { return job_.groups[g].component == 0 ? 0 : 1; }

    const TileJob& job_;
    const DecodeTables& tables_;
    __m512i states_[4];
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

TileFault decode_tile_avx512(const TileJob& job) noexcept {
    Decoder<false> decoder(job);
    return decoder.run();
}

TileFault decode_tile_avx512_gather(const TileJob& job) noexcept {
    Decoder<true> decoder(job);
    return decoder.run();
}

}  // namespace penstock::sluice

#endif
