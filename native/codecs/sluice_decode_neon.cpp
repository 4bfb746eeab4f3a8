// The vocabulary of sluice_decode_simd.h in NEON, which every 64-bit ARM has: four registers hold one byte of each of
// the 64 lanes of a group. There is no gather and no deposit of bits: states are decoded one by one, and planes of raw
// bits become bytes by the same shuffles as symbols.
#if defined(__aarch64__)

#include <arm_neon.h>

#include "codecs/sluice_decode_simd.h"

namespace penstock::sluice {

namespace {

using Part = uint8x16_t;

constexpr int kParts = 4;

/// Shuffles for each byte of a mask.
struct Shuffles {
    std::uint8_t compact[256][8]{};  ///< lanes that are set, to the front
    std::uint8_t expand[256][8]{};   ///< from the front to lanes that are set; others become zero
    std::uint8_t count[256]{};       ///< of lanes that are set
    std::uint8_t bit_of[16]{};       ///< the bit of a lane in its byte of a mask

    constexpr Shuffles() {
        for (unsigned mask = 0; mask < 256; ++mask) {
            unsigned next = 0;
            for (unsigned i = 0; i < 8; ++i) compact[mask][i] = 0x80;
            for (unsigned i = 0; i < 8; ++i) {
                const bool set = (mask >> i & 1) != 0;
                expand[mask][i] = static_cast<std::uint8_t>(set ? next : 0x80);
                if (set) compact[mask][next++] = static_cast<std::uint8_t>(i);
            }
            count[mask] = static_cast<std::uint8_t>(next);
        }
        for (unsigned i = 0; i < 16; ++i) bit_of[i] = static_cast<std::uint8_t>(1U << i % 8);
    }
};
constexpr Shuffles kShuffles;

constexpr std::uint8_t kLeft[16] = {1, 0, 1, 2, 3, 4, 5, 6, 9, 8, 9, 10, 11, 12, 13, 14};
constexpr std::uint8_t kRight[16] = {1, 2, 3, 4, 5, 6, 7, 6, 9, 10, 11, 12, 13, 14, 15, 14};
constexpr std::uint8_t kPowers[16] = {1, 2, 4, 8, 16, 32, 64, 128};

/// One byte of each lane.
struct FourParts {
    Part part[kParts];
};

PENSTOCK_INLINE uint8x16x4_t table_of(const std::uint8_t* bytes) noexcept {
    return {{vld1q_u8(bytes), vld1q_u8(bytes + 16), vld1q_u8(bytes + 32), vld1q_u8(bytes + 48)}};
}

template <typename Operation>
PENSTOCK_INLINE FourParts each(Operation&& operation) noexcept {
    return {{operation(0), operation(1), operation(2), operation(3)}};
}

class StatesOneByOne {
  public:
    void load(const std::uint32_t* states) noexcept { std::memcpy(states_, states, sizeof states_); }

    // Decodes the symbols of a step; false if there are too few words.
    bool decode(const Step& step, const std::uint8_t*& words_in_out) noexcept {
        const std::uint8_t* words = words_in_out;
        const std::uint8_t* const words_end = step.words_end;
        const std::uint32_t* const entries = step.entries;
        const std::size_t count = step.count;
        std::uint32_t* const __restrict states = states_;
        for (std::size_t i = 0; i < count;) {
            const std::uint8_t* const __restrict contexts = step.contexts + i;
            std::uint8_t* const __restrict symbols = step.symbols + i;
            const std::size_t some = count - i < kNumStates ? count - i : kNumStates;
            for (std::size_t j = 0; j < some; ++j) {
                const std::uint32_t x = states[j];
                const std::uint32_t entry = entries[std::uint32_t{contexts[j]} << kSlotBits | (x & (kNumSlots - 1))];
                const std::uint32_t next = (entry >> 16) * (x >> kSlotBits) + (entry & (kNumSlots - 1));
                std::uint16_t word = 0;
                std::memcpy(&word, words, sizeof word);
                const bool low = next < kLowestState;
                states[j] = low ? next << 16 | word : next;
                words += low ? 2 : 0;
                symbols[j] = static_cast<std::uint8_t>(entry >> kSlotBits & (kNumSymbols - 1));
            }
            if (words > words_end) return false;
            i += some;
        }
        words_in_out = words;
        return true;
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
    std::uint32_t states_[kNumStates];
};

struct Neon {
    using Lanes = FourParts;
    using Mask = FourParts;  // bytes of 255
    using States = StatesOneByOne;

    static PENSTOCK_INLINE Lanes load(const void* from) noexcept {
        const auto* const bytes = static_cast<const std::uint8_t*>(from);
        return each([&](int i) { return vld1q_u8(bytes + 16 * i); });
    }
    static PENSTOCK_INLINE void store(void* to, const Lanes& lanes) noexcept {
        for (int i = 0; i < kParts; ++i) vst1q_u8(static_cast<std::uint8_t*>(to) + 16 * i, lanes.part[i]);
    }
    static PENSTOCK_INLINE Lanes fill(unsigned value) noexcept {
        return each([&](int) { return vdupq_n_u8(static_cast<std::uint8_t>(value)); });
    }
    static PENSTOCK_INLINE Lanes either(const Lanes& a, const Lanes& b) noexcept {
        return each([&](int i) { return vorrq_u8(a.part[i], b.part[i]); });
    }
    static PENSTOCK_INLINE Lanes larger(const Lanes& a, const Lanes& b) noexcept {
        return each([&](int i) { return vmaxq_u8(a.part[i], b.part[i]); });
    }
    // The bits of bytes that are 0 or 255.
    static PENSTOCK_INLINE std::uint64_t bits_of(const Mask& mask) noexcept {
        const Part bit = vld1q_u8(kShuffles.bit_of);
        const Mask bits = each([&](int i) { return vandq_u8(mask.part[i], bit); });
        const Part fours = vpaddq_u8(vpaddq_u8(bits.part[0], bits.part[1]), vpaddq_u8(bits.part[2], bits.part[3]));
        return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(fours, fours)), 0);
    }
    static PENSTOCK_INLINE Mask are_set(const Lanes& lanes) noexcept {
        return each([&](int i) { return vtstq_u8(lanes.part[i], lanes.part[i]); });
    }
    static PENSTOCK_INLINE Mask are_above(const Lanes& lanes, unsigned limit) noexcept {
        return each([&](int i) { return vcgtq_u8(lanes.part[i], vdupq_n_u8(static_cast<std::uint8_t>(limit))); });
    }
    static PENSTOCK_INLINE std::uint64_t nonzero(const Lanes& lanes) noexcept { return bits_of(are_set(lanes)); }
    static PENSTOCK_INLINE bool has_above(const Lanes& lanes, unsigned limit) noexcept {
        const Part most = vmaxq_u8(vmaxq_u8(lanes.part[0], lanes.part[1]), vmaxq_u8(lanes.part[2], lanes.part[3]));
        return vmaxvq_u8(most) > limit;
    }

    static PENSTOCK_INLINE Lanes take_one(const Lanes& counts, const Lanes& values) noexcept {
        return each([&](int i) { return vaddq_u8(counts.part[i], vtstq_u8(values.part[i], values.part[i])); });
    }
    static PENSTOCK_INLINE Lanes take_two(const Lanes& counts, const Lanes& first, const Lanes& second) noexcept {
        return take_one(take_one(counts, first), second);
    }
    static PENSTOCK_INLINE void split(const Lanes& symbols, Lanes& first, Lanes& second) noexcept {
        first = each([&](int i) { return vshrq_n_u8(symbols.part[i], 3); });
        second = each([&](int i) { return vandq_u8(symbols.part[i], vdupq_n_u8(kEscape)); });
    }

    static PENSTOCK_INLINE Lanes look_up(const std::uint8_t* table, const Lanes& index) noexcept {
        const uint8x16x4_t entries = table_of(table);
        return each([&](int i) { return vqtbl4q_u8(entries, index.part[i]); });
    }
    static PENSTOCK_INLINE Lanes context_sum(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c,
                                             const std::uint8_t* d, const std::uint8_t* e) noexcept {
        return each([&](int i) {
            const auto at = [i](const std::uint8_t* row) { return vld1q_u8(row + 16 * i); };
            const Part twice = vaddq_u8(at(a), at(b));
            const Part once = vaddq_u8(vaddq_u8(at(c), at(d)), at(e));
            return vminq_u8(vaddq_u8(vaddq_u8(twice, twice), once), vdupq_n_u8(63));
        });
    }
    // 8 times a class, plus another one: the place in a map of tables.
    static PENSTOCK_INLINE Lanes look_up_classes(const Lanes& eights, const Lanes& ones,
                                                 const std::uint8_t* map) noexcept {
        return look_up(map, each([&](int i) { return vsliq_n_u8(ones.part[i], eights.part[i], 3); }));
    }
    static PENSTOCK_INLINE Lanes contexts(const Lanes& remaining, const Lanes& sum, const std::uint8_t* map) noexcept {
        return look_up_classes(look_up(kCountClass.data(), remaining), look_up(kMagnitudeClass.data(), sum), map);
    }
    static PENSTOCK_INLINE Lanes even_contexts(const Lanes& tokens, const std::uint8_t* map) noexcept {
        return look_up(map, look_up(kDcClass.data(), tokens));
    }
    static PENSTOCK_INLINE Lanes odd_contexts(const std::uint8_t* even, const Lanes& tokens,
                                              const std::uint8_t* map) noexcept {
        std::uint8_t rows[80];  // with a row above and one below; outside of the group the opposite row stands in
        std::memcpy(rows, even + 8, 8);
        std::memcpy(rows + 8, even, 64);
        std::memcpy(rows + 72, even + 48, 8);
        const Lanes means = each([&](int i) {
            const Part here = vld1q_u8(even + 16 * i);
            const Part across = vrhaddq_u8(vqtbl1q_u8(here, vld1q_u8(kLeft)), vqtbl1q_u8(here, vld1q_u8(kRight)));
            return vrhaddq_u8(across, vrhaddq_u8(vld1q_u8(rows + 16 * i), vld1q_u8(rows + 16 * i + 16)));
        });
        return look_up_classes(look_up(kCountClass.data(), means), look_up(kDcClass.data(), tokens), map);
    }

    static PENSTOCK_INLINE unsigned compact(const Lanes& from, std::uint64_t lanes, std::uint8_t* out) noexcept {
        if (lanes == ~std::uint64_t{0}) {
            for (int i = 0; i < kParts; ++i) vst1q_u8(out + 16 * i, from.part[i]);
            return 64;
        }
        std::uint8_t* to = out;
        for (int i = 0; i < kParts; ++i) {
            const unsigned low = lanes >> 16 * i & 255;
            const unsigned high = lanes >> (16 * i + 8) & 255;
            vst1_u8(to, vtbl1_u8(vget_low_u8(from.part[i]), vld1_u8(kShuffles.compact[low])));
            to += kShuffles.count[low];
            vst1_u8(to, vtbl1_u8(vget_high_u8(from.part[i]), vld1_u8(kShuffles.compact[high])));
            to += kShuffles.count[high];
        }
        return static_cast<unsigned>(to - out);
    }
    static PENSTOCK_INLINE Lanes expand(const std::uint8_t* from, std::uint64_t lanes) noexcept {
        if (lanes == ~std::uint64_t{0}) return load(from);
        Lanes found;
        for (int i = 0; i < kParts; ++i) {
            const unsigned low = lanes >> 16 * i & 255;
            const unsigned high = lanes >> (16 * i + 8) & 255;
            const uint8x8_t first = vtbl1_u8(vld1_u8(from), vld1_u8(kShuffles.expand[low]));
            from += kShuffles.count[low];
            const uint8x8_t second = vtbl1_u8(vld1_u8(from), vld1_u8(kShuffles.expand[high]));
            from += kShuffles.count[high];
            found.part[i] = vcombine_u8(first, second);
        }
        return found;
    }

    static PENSTOCK_INLINE Mask plane(RawBits& raw, std::uint64_t lanes) noexcept {
        Mask mask = fill(0);
        if (lanes == 0) return mask;
        std::uint64_t bits = raw.take(count_bits(lanes));
        const uint8x8_t bit = vld1_u8(kShuffles.bit_of);
        const auto next = [&](unsigned eight) {
            const uint8x8_t set = vtst_u8(vdup_n_u8(static_cast<std::uint8_t>(bits)), bit);
            bits >>= kShuffles.count[eight];
            return vtbl1_u8(set, vld1_u8(kShuffles.expand[eight]));
        };
        for (int i = 0; i < kParts; ++i) {
            const uint8x8_t first = next(lanes >> 16 * i & 255);
            mask.part[i] = vcombine_u8(first, next(lanes >> (16 * i + 8) & 255));
        }
        return mask;
    }
    static PENSTOCK_INLINE Lanes negate(const Lanes& values, const Mask& signs) noexcept {
        return each([&](int i) { return vsubq_u8(veorq_u8(values.part[i], signs.part[i]), signs.part[i]); });
    }

    // Words: eight lanes in a register.
    static PENSTOCK_INLINE int16x8_t words_of(const Lanes& lanes, int eight) noexcept {
        const Part part = lanes.part[eight / 2];
        return vreinterpretq_s16_u16(vmovl_u8(eight % 2 != 0 ? vget_high_u8(part) : vget_low_u8(part)));
    }
    static PENSTOCK_INLINE int16x8_t word_mask(const Mask& mask, int eight) noexcept {
        const int8x16_t part = vreinterpretq_s8_u8(mask.part[eight / 2]);
        return vmovl_s8(eight % 2 != 0 ? vget_high_s8(part) : vget_low_s8(part));
    }
    static PENSTOCK_INLINE void negate_words(std::int16_t* words, const Mask& signs) noexcept {
        for (int i = 0; i < 8; ++i) {
            const int16x8_t mask = word_mask(signs, i);
            vst1q_s16(words + 8 * i, vsubq_s16(veorq_s16(vld1q_s16(words + 8 * i), mask), mask));
        }
    }
    static PENSTOCK_INLINE void add_words(std::int16_t* words, const Mask& set, int weight) noexcept {
        const int16x8_t bit = vdupq_n_s16(static_cast<std::int16_t>(weight));
        for (int i = 0; i < 8; ++i) {
            vst1q_s16(words + 8 * i, vaddq_s16(vld1q_s16(words + 8 * i), vandq_s16(word_mask(set, i), bit)));
        }
    }
    static PENSTOCK_INLINE void widen(const std::int8_t* from, std::int16_t* to) noexcept {
        for (int i = 0; i < 8; ++i) vst1q_s16(to + 8 * i, vmovl_s8(vld1_s8(from + 8 * i)));
    }

    // Sums along rows, and of the first column down.
    static void undo_prediction(std::int16_t* values) noexcept {
        const int16x8_t zero = vdupq_n_s16(0);
        int16x8_t above = zero;
        for (int y = 0; y < 8; ++y) {
            const int16x8_t difference = vld1q_s16(values + 8 * y);
            int16x8_t sums = vaddq_s16(difference, vextq_s16(zero, difference, 7));
            sums = vaddq_s16(sums, vextq_s16(zero, sums, 6));
            sums = vaddq_s16(sums, vextq_s16(zero, sums, 4));
            vst1q_s16(values + 8 * y, vaddq_s16(sums, above));
            above = vaddq_s16(above, vdupq_laneq_s16(difference, 0));
        }
    }

    // Values of which some are above 14; gives the position in the raw bits.
    static __attribute__((noinline)) std::size_t put_large(CoefficientGroup& out, unsigned k, const Lanes& tokens,
                                                           const Mask& signs, RawBits raw) noexcept {
        const Mask is_large = are_above(tokens, kLastDirectToken);
        const Lanes num_bits = each(
            [&](int i) { return vandq_u8(is_large.part[i], vsubq_u8(tokens.part[i], vdupq_n_u8(kTokenBitsOffset))); });
        Lanes extra = fill(0);
        std::uint64_t lanes = bits_of(is_large);
        unsigned p = 0;
        for (; lanes != 0 && p < 8; lanes = bits_of(are_above(num_bits, ++p))) {
            const Mask set = plane(raw, lanes);
            const Part bit = vdupq_n_u8(static_cast<std::uint8_t>(1U << p));
            extra = each([&](int i) { return vorrq_u8(extra.part[i], vandq_u8(set.part[i], bit)); });
        }
        if (p <= kLastNarrowToken - kTokenBitsOffset) {
            const Part powers = vld1q_u8(kPowers);
            const Lanes values = each([&](int i) {
                const Part base = vaddq_u8(vqtbl1q_u8(powers, num_bits.part[i]), vdupq_n_u8(kTokenBase));
                return vbslq_u8(is_large.part[i], vaddq_u8(base, extra.part[i]), tokens.part[i]);
            });
            store(out.narrow[k], negate(values, signs));
            return raw.position;
        }
        std::int16_t* const words = out.wide[k];
        for (int i = 0; i < 8; ++i) {
            const int16x8_t power = vshlq_s16(vdupq_n_s16(1), words_of(num_bits, i));
            const int16x8_t large = vaddq_s16(vaddq_s16(power, words_of(extra, i)), vdupq_n_s16(kTokenBase));
            const uint16x8_t mask = vreinterpretq_u16_s16(word_mask(is_large, i));
            vst1q_s16(words + 8 * i, vbslq_s16(mask, large, words_of(tokens, i)));
        }
        for (; lanes != 0; lanes = bits_of(are_above(num_bits, ++p))) add_words(words, plane(raw, lanes), 1 << p);
        negate_words(words, signs);
        out.wide_positions |= std::uint64_t{1} << k;
        return raw.position;
    }

    // Values of a pair of which some are above 6. False if one is too large.
    static __attribute__((noinline)) bool put_escapes(CoefficientGroup& out, unsigned k, const Lanes& magnitudes,
                                                      const Mask& signs, RawBits& raw) noexcept {
        const Mask is_escape = are_above(magnitudes, kEscape - 1);
        const std::uint64_t escapes = bits_of(is_escape);
        if (escapes == 0) return true;
        std::uint64_t longer[kMaxEscapeBits];  // lanes whose highest bit is above p
        unsigned most = 0;
        std::int16_t* const words = out.wide[k];
        for (int i = 0; i < 8; ++i) vst1q_s16(words + 8 * i, vdupq_n_s16(1));
        for (std::uint64_t lanes = escapes;; ++most) {
            const Mask set = plane(raw, lanes);
            lanes = bits_of(set);
            if (lanes == 0) break;
            if (most == kMaxEscapeBits) return false;
            longer[most] = lanes;
            add_words(words, set, 1 << most);  // 2^c so far
        }
        for (int i = 0; i < 8; ++i) {
            const int16x8_t large = vaddq_s16(vld1q_s16(words + 8 * i), vdupq_n_s16(kEscape - 1));
            const uint16x8_t mask = vreinterpretq_u16_s16(word_mask(is_escape, i));
            vst1q_s16(words + 8 * i, vbslq_s16(mask, large, words_of(magnitudes, i)));
        }
        for (unsigned p = 0; p < most; ++p) add_words(words, plane(raw, longer[p]), 1 << p);
        negate_words(words, signs);
        out.wide_positions |= std::uint64_t{1} << k;
        return true;
    }
};

}  // namespace

TileFault decode_tile_neon(const TileJob& job) noexcept {
    Decoder<Neon> decoder(job);
    return decoder.run();
}

}  // namespace penstock::sluice

#endif
