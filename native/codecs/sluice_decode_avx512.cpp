// The vocabulary of sluice_decode_simd.h in AVX-512: a register holds one byte of each of the 64 lanes of a group, and
// the rANS states are 32 pairs of words in two registers.
#if defined(__x86_64__)

#include <immintrin.h>

#include "codecs/sluice_decode_simd.h"

namespace penstock::sluice {

namespace {

// Where lane neighbours of a group are; outside of it the opposite neighbour stands in.
alignas(64) constexpr std::uint8_t kLeft[64] = {1,  0,  1,  2,  3,  4,  5,  6,  9,  8,  9,  10, 11, 12, 13, 14,
                                                17, 16, 17, 18, 19, 20, 21, 22, 25, 24, 25, 26, 27, 28, 29, 30,
                                                33, 32, 33, 34, 35, 36, 37, 38, 41, 40, 41, 42, 43, 44, 45, 46,
                                                49, 48, 49, 50, 51, 52, 53, 54, 57, 56, 57, 58, 59, 60, 61, 62};
alignas(64) constexpr std::uint8_t kRight[64] = {1,  2,  3,  4,  5,  6,  7,  6,  9,  10, 11, 12, 13, 14, 15, 14,
                                                 17, 18, 19, 20, 21, 22, 23, 22, 25, 26, 27, 28, 29, 30, 31, 30,
                                                 33, 34, 35, 36, 37, 38, 39, 38, 41, 42, 43, 44, 45, 46, 47, 46,
                                                 49, 50, 51, 52, 53, 54, 55, 54, 57, 58, 59, 60, 61, 62, 63, 62};

// The magnitude of a token without its extra bits, where it fits a byte.
struct TokenBases {
    alignas(64) std::uint8_t of[64]{};

    constexpr TokenBases() {
        for (unsigned token = 0; token <= kLastNarrowToken; ++token) {
            const unsigned large = kTokenBase + (1U << (token > kLastDirectToken ? token - kTokenBitsOffset : 0));
            of[token] = static_cast<std::uint8_t>(token > kLastDirectToken ? large : token);
        }
    }
};
constexpr TokenBases kTokenBases;

// A load that stays an instruction of its own: Zen 4 expands a register in two operations, and memory in many.
PENSTOCK_INLINE __m512i load_apart(const void* from) noexcept {
    __m512i value = _mm512_loadu_si512(from);
    asm("" : "+v"(value));
    return value;
}

// States are kept as their lower and upper 16 bits: what is below 65,536 is then a comparison with zero, and new words
// expand into place.
template <bool kGather>
class States512 {
  public:
    void load(const std::uint32_t* states) noexcept {
        for (int i = 0; i < 2; ++i) {
            const __m512i first = _mm512_loadu_si512(states + 32 * i);
            const __m512i second = _mm512_loadu_si512(states + 32 * i + 16);
            low_[i] = words_of(_mm512_cvtepi32_epi16(first), _mm512_cvtepi32_epi16(second));
            high_[i] = words_of(_mm512_cvtepi32_epi16(_mm512_srli_epi32(first, 16)),
                                _mm512_cvtepi32_epi16(_mm512_srli_epi32(second, 16)));
        }
    }

    // Decodes the symbols of a step; false if there are too few words.
    bool decode(const Step& step, const std::uint8_t*& words_in_out) noexcept {
        __m512i low[2] = {low_[0], low_[1]};  // not through `this`: stores of bytes alias it
        __m512i high[2] = {high_[0], high_[1]};
        const std::uint8_t* words = words_in_out;
        const std::uint8_t* const words_end = step.words_end;
        const std::uint8_t* const contexts = step.contexts;
        std::uint8_t* const symbols = step.symbols;
        const std::uint32_t* const entries = step.entries;
        const std::size_t count = step.count;
        std::size_t i = 0;
        for (; i + 64 <= count; i += 64) {
#pragma GCC unroll 2
            for (int s = 0; s < 2; ++s) {
                const __m256i of_half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(contexts + i + 32 * s));
                decode_32<true>(low[s], high[s], of_half, symbols + i + 32 * s, words, entries, 0xFFFFFFFF);
            }
            if (words > words_end) return false;
        }
#pragma GCC unroll 2
        for (unsigned s = 0; s < 2; ++s) {
            const std::size_t at = i + 32 * s;
            if (at >= count) break;
            const auto left = static_cast<unsigned>(count - at);
            const __mmask32 taking = _bzhi_u32(0xFFFFFFFF, left < 32 ? left : 32);
            decode_32<false>(low[s], high[s], _mm256_maskz_loadu_epi8(taking, contexts + at), symbols + at, words,
                             entries, taking);
        }
        for (int s = 0; s < 2; ++s) {
            low_[s] = low[s];
            high_[s] = high[s];
        }
        words_in_out = words;
        return words <= words_end;
    }

    // False unless all states are 65,536 to 131,071; gives their lower halves.
    bool finish(std::uint16_t* payload) const noexcept {
        const __m512i one = _mm512_set1_epi16(1);
        for (int i = 0; i < 2; ++i) _mm512_storeu_si512(payload + 32 * i, low_[i]);
        return (_mm512_cmpneq_epi16_mask(high_[0], one) | _mm512_cmpneq_epi16_mask(high_[1], one)) == 0;
    }

  private:
    static PENSTOCK_INLINE __m512i words_of(__m256i first, __m256i second) noexcept {
        return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
    }

    // Entries of 32 slots, those of even and of odd lanes, by gathers or by single loads: which is faster depends on
    // the processor. (GCC leaves the destination of a plain gather undefined, which makes it wait for whatever the
    // register held before.)
    static PENSTOCK_INLINE void look_up(const std::uint32_t* entries, __m512i index, __m512i& even,
                                        __m512i& odd) noexcept {
        if constexpr (kGather) {
            const __m512i zero = _mm512_setzero_si512();
            const __m512i even_index = _mm512_and_si512(index, _mm512_set1_epi32(0xFFFF));
            even = _mm512_mask_i32gather_epi32(zero, 0xFFFF, even_index, entries, 4);
            odd = _mm512_mask_i32gather_epi32(zero, 0xFFFF, _mm512_srli_epi32(index, 16), entries, 4);
            return;
        }
        const __m128i eights[4] = {_mm512_castsi512_si128(index), _mm512_extracti32x4_epi32(index, 1),
                                   _mm512_extracti32x4_epi32(index, 2), _mm512_extracti32x4_epi32(index, 3)};
        __m128i evens[4];
        __m128i odds[4];
        const auto entry = [entries](std::uint64_t slot)
                               __attribute__((always_inline)) { return static_cast<int>(entries[slot & 0xFFFF]); };
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            const auto first = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights[i]));
            const auto second = static_cast<std::uint64_t>(_mm_extract_epi64(eights[i], 1));
            __m128i part = _mm_cvtsi32_si128(entry(first));
            part = _mm_insert_epi32(part, entry(first >> 32), 1);
            part = _mm_insert_epi32(part, entry(second), 2);
            evens[i] = _mm_insert_epi32(part, entry(second >> 32), 3);
            part = _mm_cvtsi32_si128(entry(first >> 16));
            part = _mm_insert_epi32(part, entry(first >> 48), 1);
            part = _mm_insert_epi32(part, entry(second >> 16), 2);
            odds[i] = _mm_insert_epi32(part, entry(second >> 48), 3);
        }
        even = words_of(_mm256_set_m128i(evens[1], evens[0]), _mm256_set_m128i(evens[3], evens[2]));
        odd = words_of(_mm256_set_m128i(odds[1], odds[0]), _mm256_set_m128i(odds[3], odds[2]));
    }

    // One symbol of 32 states; those that are not `taking` keep their state.
    template <bool kAll>
    static PENSTOCK_INLINE void decode_32(__m512i& low, __m512i& high, __m256i contexts, std::uint8_t* symbols,
                                          const std::uint8_t*& words, const std::uint32_t* entries,
                                          __mmask32 taking) noexcept {
        constexpr __mmask32 kOdd = 0xAAAAAAAA;
        const __m512i slot_bits = _mm512_set1_epi16(kNumSlots - 1);
        const __m512i table = _mm512_slli_epi16(_mm512_cvtepu8_epi16(contexts), kSlotBits);
        __m512i even;
        __m512i odd;
        look_up(entries, _mm512_or_si512(table, _mm512_and_si512(low, slot_bits)), even, odd);
        const __m512i symbol_and_place = _mm512_mask_mov_epi16(even, kOdd, _mm512_slli_epi32(odd, 16));
        const __m512i frequency = _mm512_mask_mov_epi16(_mm512_srli_epi32(even, 16), kOdd, odd);
        const __m512i place = _mm512_and_si512(symbol_and_place, slot_bits);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(symbols),
                            _mm512_cvtepi16_epi8(_mm512_srli_epi16(symbol_and_place, kSlotBits)));
        // frequency * (state >> 10) + place, in halves.
        const __m512i quotient_low = _mm512_shldi_epi16(high, low, 16 - kSlotBits);
        const __m512i quotient_high = _mm512_srli_epi16(high, kSlotBits);
        const __m512i next_low = _mm512_add_epi16(_mm512_mullo_epi16(frequency, quotient_low), place);
        const __m512i sum =
            _mm512_add_epi16(_mm512_mulhi_epu16(frequency, quotient_low), _mm512_mullo_epi16(frequency, quotient_high));
        const __mmask32 carry = _mm512_cmplt_epu16_mask(next_low, place);
        const __m512i next_high = _mm512_mask_sub_epi16(sum, carry, sum, _mm512_set1_epi16(-1));
        const __mmask32 few = kAll ? _mm512_testn_epi16_mask(next_high, next_high)
                                   : _mm512_mask_testn_epi16_mask(taking, next_high, next_high);
        const __m512i fresh = load_apart(words);
        words += 2 * count_bits(few);
        if constexpr (kAll) {
            high = _mm512_mask_mov_epi16(next_high, few, next_low);
            low = _mm512_mask_expand_epi16(next_low, few, fresh);
        } else {
            high = _mm512_mask_mov_epi16(high, taking, _mm512_mask_mov_epi16(next_high, few, next_low));
            low = _mm512_mask_expand_epi16(_mm512_mask_mov_epi16(low, taking, next_low), few, fresh);
        }
    }

    __m512i low_[2];
    __m512i high_[2];
};

template <bool kGather>
struct Avx512 {
    using Lanes = __m512i;
    using Mask = __mmask64;
    using States = States512<kGather>;

    static PENSTOCK_INLINE Lanes load(const void* from) noexcept { return _mm512_load_si512(from); }
    static PENSTOCK_INLINE void store(void* to, Lanes value) noexcept { _mm512_store_si512(to, value); }
    static PENSTOCK_INLINE Lanes fill(unsigned value) noexcept { return _mm512_set1_epi8(static_cast<char>(value)); }
    static PENSTOCK_INLINE Lanes zero() noexcept { return _mm512_setzero_si512(); }
    static PENSTOCK_INLINE Lanes either(Lanes a, Lanes b) noexcept { return _mm512_or_si512(a, b); }
    static PENSTOCK_INLINE Lanes larger(Lanes a, Lanes b) noexcept { return _mm512_max_epu8(a, b); }
    static PENSTOCK_INLINE std::uint64_t nonzero(Lanes lanes) noexcept { return _mm512_test_epi8_mask(lanes, lanes); }
    static PENSTOCK_INLINE bool has_above(Lanes lanes, unsigned limit) noexcept {
        return _mm512_cmpgt_epu8_mask(lanes, fill(limit)) != 0;
    }

    static PENSTOCK_INLINE Lanes take_one(Lanes counts, Lanes values) noexcept {
        return _mm512_mask_sub_epi8(counts, _mm512_test_epi8_mask(values, values), counts, fill(1));
    }
    static PENSTOCK_INLINE Lanes take_two(Lanes counts, Lanes first, Lanes second) noexcept {
        return take_one(take_one(counts, first), second);
    }
    static PENSTOCK_INLINE void split(Lanes symbols, Lanes& first, Lanes& second) noexcept {
        first = _mm512_and_si512(_mm512_srli_epi16(symbols, 3), fill(kEscape));
        second = _mm512_and_si512(symbols, fill(kEscape));
    }

    static PENSTOCK_INLINE Lanes context_sum(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c,
                                             const std::uint8_t* d, const std::uint8_t* e) noexcept {
        const Lanes twice = _mm512_add_epi8(load(a), load(b));
        const Lanes once = _mm512_add_epi8(_mm512_add_epi8(load(c), load(d)), load(e));
        return _mm512_min_epu8(_mm512_add_epi8(_mm512_add_epi8(twice, twice), once), fill(63));
    }
    static PENSTOCK_INLINE Lanes contexts(Lanes remaining, Lanes sum, const std::uint8_t* map) noexcept {
        const Lanes count_class = _mm512_slli_epi16(load(kCountClass.data()), 3);
        const Lanes context = _mm512_or_si512(_mm512_permutexvar_epi8(remaining, count_class),
                                              _mm512_permutexvar_epi8(sum, load(kMagnitudeClass.data())));
        return _mm512_permutexvar_epi8(context, load(map));
    }
    static PENSTOCK_INLINE Lanes even_contexts(Lanes tokens, const std::uint8_t* map) noexcept {
        return _mm512_permutexvar_epi8(_mm512_permutexvar_epi8(tokens, load(kDcClass.data())), load(map));
    }
    static PENSTOCK_INLINE Lanes odd_contexts(const std::uint8_t* counts, Lanes tokens,
                                              const std::uint8_t* map) noexcept {
        const Lanes even = load(counts);
        const Lanes left = _mm512_permutexvar_epi8(load(kLeft), even);
        const Lanes right = _mm512_permutexvar_epi8(load(kRight), even);
        const Lanes above = _mm512_alignr_epi64(even, zero(), 7);
        const Lanes below = _mm512_alignr_epi64(zero(), even, 1);
        const Lanes top = _mm512_mask_mov_epi64(above, 0x01, below);
        const Lanes bottom = _mm512_mask_mov_epi64(below, 0x80, above);
        const Lanes mean = _mm512_avg_epu8(_mm512_avg_epu8(left, right), _mm512_avg_epu8(top, bottom));
        const Lanes neighbour = _mm512_slli_epi16(_mm512_permutexvar_epi8(mean, load(kCountClass.data())), 3);
        const Lanes dc = _mm512_permutexvar_epi8(tokens, load(kDcClass.data()));
        return _mm512_permutexvar_epi8(_mm512_or_si512(neighbour, dc), load(map));
    }

    static PENSTOCK_INLINE unsigned compact(Lanes from, std::uint64_t lanes, std::uint8_t* out) noexcept {
        _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(lanes, from));
        return count_bits(lanes);
    }
    static PENSTOCK_INLINE Lanes expand(const std::uint8_t* from, std::uint64_t lanes) noexcept {
        return _mm512_maskz_expand_epi8(lanes, load_apart(from));
    }

    static PENSTOCK_INLINE Mask plane(RawBits& raw, std::uint64_t lanes) noexcept {
        return _pdep_u64(raw.take(count_bits(lanes)), lanes);
    }
    static PENSTOCK_INLINE Lanes negate(Lanes values, Mask signs) noexcept {
        return _mm512_mask_sub_epi8(values, signs, zero(), values);
    }

    // Words: half of the lanes in a register.
    static PENSTOCK_INLINE __m512i words_of(Lanes value, int half) noexcept {
        return _mm512_cvtepu8_epi16(half != 0 ? _mm512_extracti64x4_epi64(value, 1) : _mm512_castsi512_si256(value));
    }
    static PENSTOCK_INLINE __mmask32 half_of(Mask mask, int half) noexcept {
        return static_cast<__mmask32>(mask >> 32 * half);
    }
    static PENSTOCK_INLINE void store_words(std::int16_t* to, const __m512i (&value)[2], Mask signs) noexcept {
        for (int half = 0; half < 2; ++half) {
            store(to + 32 * half, _mm512_mask_sub_epi16(value[half], half_of(signs, half), zero(), value[half]));
        }
    }
    static PENSTOCK_INLINE void negate_words(std::int16_t* words, Mask signs) noexcept {
        store_words(words, {load(words), load(words + 32)}, signs);
    }
    static PENSTOCK_INLINE void widen(const std::int8_t* from, std::int16_t* to) noexcept {
        for (int half = 0; half < 2; ++half) {
            const auto* const bytes = reinterpret_cast<const __m256i*>(from) + half;
            store(to + 32 * half, _mm512_cvtepi8_epi16(_mm256_load_si256(bytes)));
        }
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

    // Values of which some are above 14; gives the position in the raw bits.
    static __attribute__((noinline)) std::size_t put_large(CoefficientGroup& out, unsigned k, Lanes tokens, Mask signs,
                                                           RawBits raw) noexcept {
        const auto longer_than = [&](unsigned p) { return _mm512_cmpgt_epu8_mask(tokens, fill(p + kTokenBitsOffset)); };
        const Mask large = _mm512_cmpgt_epu8_mask(tokens, fill(kLastDirectToken));
        Lanes extra = _mm512_maskz_set1_epi8(plane(raw, large), 1);  // there are two bits at least
        extra = _mm512_mask_add_epi8(extra, plane(raw, large), extra, fill(2));
        Mask lanes = longer_than(2);
        unsigned p = 2;
        for (unsigned bit = 4; lanes != 0 && p < 8; bit *= 2, lanes = longer_than(++p)) {
            extra = _mm512_mask_add_epi8(extra, plane(raw, lanes), extra, fill(bit));
        }
        if (p <= kLastNarrowToken - kTokenBitsOffset) {
            const Lanes bases = _mm512_permutexvar_epi8(tokens, load(kTokenBases.of));
            store(out.narrow[k], negate(_mm512_add_epi8(bases, extra), signs));
            return raw.position;
        }
        const Lanes num_bits = _mm512_maskz_sub_epi8(large, tokens, fill(kTokenBitsOffset));
        __m512i value[2];
        for (int half = 0; half < 2; ++half) {
            const __m512i power = _mm512_sllv_epi16(_mm512_set1_epi16(1), words_of(num_bits, half));
            const __m512i base = _mm512_add_epi16(words_of(extra, half), _mm512_set1_epi16(kTokenBase));
            value[half] = _mm512_mask_add_epi16(words_of(tokens, half), half_of(large, half), base, power);
        }
        for (short weight = 256; lanes != 0; weight = static_cast<short>(2 * weight), lanes = longer_than(++p)) {
            add_bit(value, plane(raw, lanes), weight);
        }
        out.wide_positions |= std::uint64_t{1} << k;
        store_words(out.wide[k], value, signs);
        return raw.position;
    }

    static PENSTOCK_INLINE void add_bit(__m512i (&value)[2], Mask set, short weight) noexcept {
        for (int half = 0; half < 2; ++half) {
            value[half] =
                _mm512_mask_add_epi16(value[half], half_of(set, half), value[half], _mm512_set1_epi16(weight));
        }
    }

    // Values of a pair of which some are above 6. False if one is too large.
    static __attribute__((noinline)) bool put_escapes(CoefficientGroup& out, unsigned k, Lanes magnitudes, Mask signs,
                                                      RawBits& raw) noexcept {
        const Mask escapes = _mm512_cmpeq_epi8_mask(magnitudes, fill(kEscape));
        if (escapes == 0) return true;
        std::uint64_t longer[kMaxEscapeBits];  // lanes whose highest bit is above p
        unsigned most = 0;
        for (std::uint64_t lanes = escapes;; ++most) {
            lanes = plane(raw, lanes);
            if (lanes == 0) break;
            if (most == kMaxEscapeBits) return false;
            longer[most] = lanes;
        }
        if (most <= kNarrowEscapeBits) {
            Lanes power = fill(1);  // 2^c
            Lanes bits = zero();
            for (unsigned p = 0; p < most; ++p) {
                power = _mm512_mask_add_epi8(power, longer[p], power, power);
                bits = _mm512_mask_add_epi8(bits, plane(raw, longer[p]), bits, fill(1U << p));
            }
            const Lanes above = _mm512_add_epi8(_mm512_add_epi8(bits, power), fill(0xFF));  // an escape has 7 already
            store(out.narrow[k], negate(_mm512_mask_add_epi8(magnitudes, escapes, magnitudes, above), signs));
            return true;
        }
        __m512i value[2];
        for (int half = 0; half < 2; ++half) {
            __m512i power = _mm512_set1_epi16(1);
            for (unsigned p = 0; p < most; ++p) {
                power = _mm512_mask_add_epi16(power, half_of(longer[p], half), power, power);
            }
            const __m512i base = _mm512_add_epi16(power, _mm512_set1_epi16(kEscape - 1));
            value[half] = _mm512_mask_mov_epi16(words_of(magnitudes, half), half_of(escapes, half), base);
        }
        for (unsigned p = 0; p < most; ++p) add_bit(value, plane(raw, longer[p]), static_cast<short>(1 << p));
        out.wide_positions |= std::uint64_t{1} << k;
        store_words(out.wide[k], value, signs);
        return true;
    }
};

}  // namespace

TileFault decode_tile_avx512(const TileJob& job) noexcept {
    Decoder<Avx512<false>> decoder(job);
    return decoder.run();
}

TileFault decode_tile_avx512_gather(const TileJob& job) noexcept {
    Decoder<Avx512<true>> decoder(job);
    return decoder.run();
}

}  // namespace penstock::sluice

#endif
