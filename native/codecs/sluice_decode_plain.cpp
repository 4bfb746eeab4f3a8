// Decodes a Sluice tile without vector instructions: the one to read beside spec/sluice.md.
//
// A step lists the contexts of its symbols, decodes them all, and hands them out to the lanes.
#include <algorithm>
#include <bit>
#include <cstring>

#include "codecs/sluice.h"
#include "codecs/sluice_lanes.h"

namespace penstock::sluice {

namespace {

using jpeg::CoefficientGroup;

/// Raw bits, the least significant bit of each byte first. Reads up to nine bytes from its position on, whatever it
/// takes.
class RawBits {
  public:
    RawBits(const std::uint8_t* data, std::size_t num_bytes) noexcept : data_(data), end_(8 * num_bytes) {}

    /// The next 64 bits.
    [[nodiscard]] std::uint64_t peek() const noexcept {
        const std::uint8_t* const at = data_ + position_ / 8;
        const unsigned shift = position_ % 8;
        std::uint64_t low = 0;
        std::memcpy(&low, at, sizeof low);
        return low >> shift | (std::uint64_t{at[8]} << 1) << (63 - shift);
    }
    void skip(std::size_t count) noexcept { position_ += count; }
    [[nodiscard]] bool overrun() const noexcept { return position_ > end_; }
    [[nodiscard]] bool used_up() const noexcept { return (position_ + 7) / 8 * 8 == end_; }

  private:
    const std::uint8_t* data_;
    std::size_t position_ = 0;
    std::size_t end_;
};

/// A (position, group) whose signs are in the final states.
struct Deferred {
    std::uint8_t position;
    std::uint8_t group;
};

class PlainDecoder {
  public:
    explicit PlainDecoder(const TileJob& job) noexcept
        : job_(job),
          tables_(*job.tables),
          states_(job.parts.states),
          words_(job.parts.words),
          raw_(job.parts.raw, job.parts.raw_bytes),
          payload_bits_(kPayloadBits * job.parts.num_states) {}

    TileFault run() noexcept {
        TileFault fault = decode_dc();
        if (fault != TileFault::none) return fault;
        fault = decode_counts();
        unsigned k = 1;
        for (; k < tables_.first_pair && fault == TileFault::none && list_contexts(k); ++k) fault = decode_position(k);
        if (k == tables_.first_pair) {
            for (; k < kPositions && fault == TileFault::none && list_contexts(k); k += 2) fault = decode_pair(k);
        }
        if (fault != TileFault::none) return fault;
        return finish();
    }

  private:
    // Symbols ------------------------------------------------------------------------------------------------------

    void list(std::uint8_t table) noexcept { contexts_[num_symbols_++] = table; }

    TileFault decode_symbols() noexcept {
        const std::uint32_t* const entries = tables_.entries.data();
        std::array<std::uint32_t, kNumStates> states = states_;  // not through `this`: stores of bytes alias it
        const std::uint8_t* words = words_;
        std::size_t i = 0;
        while (i < num_symbols_) {
            const std::size_t count = std::min(num_symbols_ - i, kNumStates);
            for (std::size_t j = 0; j < count; ++j) {
                const std::uint32_t x = states[j];
                const std::uint32_t entry =
                    entries[std::uint32_t{contexts_[i + j]} << kSlotBits | (x & (kNumSlots - 1))];
                const std::uint32_t next = (entry >> 16) * (x >> kSlotBits) + (entry & (kNumSlots - 1));
                std::uint16_t word = 0;
                std::memcpy(&word, words, sizeof word);
                // Without a branch, which would be mispredicted at every other symbol.
                const std::uint32_t low = next < kLowestState ? 1 : 0;
                states[j] = next << 16 * low | (word & (0U - low));
                words += 2 * low;
                symbols_[i + j] = static_cast<std::uint8_t>(entry >> kSlotBits & (kNumSymbols - 1));
            }
            if (words > job_.parts.words_end) return TileFault::words;
            i += count;
        }
        states_ = states;
        words_ = words;
        return TileFault::none;
    }

    // DC and counts ------------------------------------------------------------------------------------------------

    TileFault decode_dc() noexcept {
        num_symbols_ = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const std::uint8_t table = tables_.dc[class_of(g)];
            for (std::uint64_t lanes = job_.groups[g].active; lanes != 0; lanes &= lanes - 1) list(table);
        }
        if (decode_symbols() != TileFault::none) return TileFault::words;
        const std::uint8_t* symbol = symbols_;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            GroupScratch& scratch = job_.scratch[g];
            CoefficientGroup& out = job_.out[g];
            std::memset(scratch.magnitudes[kZeroRow], 0, kLanes);
            hand_out(job_.groups[g].active, symbol, scratch.magnitudes[0]);
            out.wide_positions = 1;
            for (std::size_t lane = 0; lane < kLanes; ++lane) out.wide[0][lane] = scratch.magnitudes[0][lane];
            apply_signs(out.wide[0], nonzero_lanes(scratch.magnitudes[0]), raw_);
            if (largest_of(scratch.magnitudes[0]) > kLastDirectToken)
                read_extra_bits(scratch.magnitudes[0], out.wide[0]);
            undo_prediction(out.wide[0]);
            if (raw_.overrun()) return TileFault::raw;
        }
        return TileFault::none;
    }

    static void undo_prediction(std::int16_t* values) noexcept {
        for (std::size_t y = 0; y < 8; ++y) {
            std::uint16_t sum = y > 0 ? static_cast<std::uint16_t>(values[8 * y - 8]) : std::uint16_t{0};
            for (std::size_t x = 0; x < 8; ++x) {
                sum = static_cast<std::uint16_t>(sum + static_cast<std::uint16_t>(values[8 * y + x]));
                values[8 * y + x] = static_cast<std::int16_t>(sum);
            }
        }
    }

    TileFault decode_counts() noexcept {
        num_symbols_ = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const GroupScratch& scratch = job_.scratch[g];
            const std::uint8_t* const even = tables_.even[class_of(g)];
            for (std::uint64_t lanes = job_.groups[g].active & kEvenLanes; lanes != 0; lanes &= lanes - 1) {
                list(even[kDcClass[scratch.magnitudes[0][std::countr_zero(lanes)]]]);
            }
        }
        if (decode_symbols() != TileFault::none) return TileFault::words;
        const std::uint8_t* symbol = symbols_;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            hand_out(job_.groups[g].active & kEvenLanes, symbol, job_.scratch[g].remaining);
        }
        num_symbols_ = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) list_odd_counts(g);
        if (decode_symbols() != TileFault::none) return TileFault::words;
        symbol = symbols_;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            GroupScratch& scratch = job_.scratch[g];
            for (std::uint64_t lanes = job_.groups[g].active & ~kEvenLanes; lanes != 0; lanes &= lanes - 1) {
                scratch.remaining[std::countr_zero(lanes)] = *symbol++;
            }
            scratch.alive = nonzero_lanes(scratch.remaining);
            job_.out[g].num_positions = kPositions;
        }
        return TileFault::none;
    }

    void list_odd_counts(std::size_t g) noexcept {
        const GroupScratch& scratch = job_.scratch[g];
        const std::uint8_t* const counts = scratch.remaining;
        const std::uint8_t* const odd = tables_.odd[class_of(g)];
        for (std::uint64_t lanes = job_.groups[g].active & ~kEvenLanes; lanes != 0; lanes &= lanes - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
            const unsigned x = lane % 8;
            const unsigned y = lane / 8;
            const unsigned left = counts[x > 0 ? lane - 1 : lane + 1];
            const unsigned right = counts[x < 7 ? lane + 1 : lane - 1];
            const unsigned top = counts[y > 0 ? lane - 8 : lane + 8];
            const unsigned bottom = counts[y < 7 ? lane + 8 : lane - 8];
            const unsigned mean = (((left + right + 1) >> 1) + ((top + bottom + 1) >> 1) + 1) >> 1;
            list(odd[8 * kCountClass[mean] + kDcClass[scratch.magnitudes[0][lane]]]);
        }
    }

    // Positions ----------------------------------------------------------------------------------------------------

    // False if no lane takes part any more.
    bool list_contexts(unsigned k) noexcept {
        num_symbols_ = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            GroupScratch& scratch = job_.scratch[g];
            std::uint64_t lanes = scratch.alive;
            if (lanes == 0) {
                job_.out[g].num_positions = std::min(job_.out[g].num_positions, static_cast<int>(k));
                continue;
            }
            std::uint8_t sums[kLanes];
            sum_neighbours(scratch.magnitudes, kNeighbours[k], sums);
            std::uint8_t classes[kLanes] = {};
            add_classes(scratch.remaining, kCountLimits, 8, classes);
            add_classes(sums, kMagnitudeLimits, 1, classes);
            const std::uint8_t* const map = tables_.positions[class_of(g)][k];
            std::uint8_t* const contexts = contexts_ + num_symbols_;
            num_symbols_ += static_cast<std::size_t>(std::popcount(lanes));
            if (lanes == ~std::uint64_t{0}) {
                for (std::size_t lane = 0; lane < kLanes; ++lane) contexts[lane] = map[classes[lane]];
                continue;
            }
            for (std::size_t i = 0; lanes != 0; lanes &= lanes - 1, ++i) {
                contexts[i] = map[classes[std::countr_zero(lanes)]];
            }
        }
        return num_symbols_ != 0;
    }

    TileFault decode_position(unsigned k) noexcept {
        if (decode_symbols() != TileFault::none) return TileFault::words;
        const std::uint8_t* symbol = symbols_;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            GroupScratch& scratch = job_.scratch[g];
            if (scratch.alive == 0) continue;
            CoefficientGroup& out = job_.out[g];
            std::uint8_t* const tokens = scratch.magnitudes[k];
            hand_out(scratch.alive, symbol, tokens);
            const std::uint8_t largest = largest_of(tokens);
            count_down(tokens, scratch.remaining);
            scratch.alive = nonzero_lanes(scratch.remaining);
            const std::uint64_t nonzero = nonzero_lanes(tokens);
            const bool deferred = defer(k, g, nonzero);
            if (largest <= kLastDirectToken) {
                std::memcpy(out.narrow[k], tokens, kLanes);
                if (!deferred) apply_signs(out.narrow[k], nonzero, raw_);
            } else {
                out.wide_positions |= std::uint64_t{1} << k;
                for (std::size_t lane = 0; lane < kLanes; ++lane) out.wide[k][lane] = tokens[lane];
                if (!deferred) apply_signs(out.wide[k], nonzero, raw_);
                read_extra_bits(tokens, out.wide[k]);
            }
            if (raw_.overrun()) return TileFault::raw;
        }
        return TileFault::none;
    }

    TileFault decode_pair(unsigned k) noexcept {
        if (decode_symbols() != TileFault::none) return TileFault::words;
        const std::uint8_t* symbol = symbols_;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            GroupScratch& scratch = job_.scratch[g];
            if (scratch.alive == 0) continue;
            CoefficientGroup& out = job_.out[g];
            std::uint8_t* const first = scratch.magnitudes[k];
            std::uint8_t* const second = scratch.magnitudes[k + 1];
            std::uint8_t pairs[kLanes];
            hand_out(scratch.alive, symbol, pairs);
            split_pairs(pairs, first, second);
            count_down(first, scratch.remaining);
            count_down(second, scratch.remaining);
            scratch.alive = nonzero_lanes(scratch.remaining);
            for (unsigned i = 0; i < 2; ++i) {
                std::memcpy(out.narrow[k + i], scratch.magnitudes[k + i], kLanes);
                apply_signs(out.narrow[k + i], nonzero_lanes(scratch.magnitudes[k + i]), raw_);
            }
            for (unsigned i = 0; i < 2; ++i) {
                if (largest_of(scratch.magnitudes[k + i]) < kEscape) continue;
                if (!read_escapes(scratch.magnitudes[k + i], k + i, out)) return TileFault::escape;
            }
            if (raw_.overrun()) return TileFault::raw;
        }
        return TileFault::none;
    }

    /// Gives each of `lanes` the next symbol, and zero to all others.
    static void hand_out(std::uint64_t lanes, const std::uint8_t*& symbol, std::uint8_t* out) noexcept {
        if (lanes == ~std::uint64_t{0}) {
            std::memcpy(out, symbol, kLanes);
            symbol += kLanes;
            return;
        }
        std::memset(out, 0, kLanes);
        for (; lanes != 0; lanes &= lanes - 1) out[std::countr_zero(lanes)] = *symbol++;
    }

    template <typename Value>
    static void apply_signs(Value* values, std::uint64_t nonzero, RawBits& bits) noexcept {
        bits.skip(negate(values, nonzero, bits.peek()));
    }

    // Negates the nonzero values whose bit is set; gives the number of bits.
    template <typename Value>
    static unsigned negate(Value* values, std::uint64_t nonzero, std::uint64_t signs) noexcept {
        const auto count = static_cast<unsigned>(std::popcount(nonzero));
        for (; nonzero != 0; nonzero &= nonzero - 1, signs >>= 1) {
            Value& value = values[std::countr_zero(nonzero)];
            const int sign = -static_cast<int>(signs & 1);
            value = static_cast<Value>((value ^ sign) - sign);
        }
        return count;
    }

    // Whether the signs of a group are in the final states.
    bool defer(unsigned k, std::size_t g, std::uint64_t nonzero) noexcept {
        if (nonzero == 0) return true;  // there are none
        num_deferred_bits_ += static_cast<std::size_t>(std::popcount(nonzero));
        if (num_deferred_bits_ > payload_bits_) return false;  // and never again
        deferred_[num_deferred_++] = {static_cast<std::uint8_t>(k), static_cast<std::uint8_t>(g)};
        return true;
    }

    // Magnitudes above 14; `values` has tokens with their signs.
    void read_extra_bits(const std::uint8_t* tokens, std::int16_t* values) noexcept {
        std::uint8_t lanes[kLanes + 1];
        std::uint16_t extra[kLanes + 1];
        std::size_t count = 0;
        unsigned most = largest_of(tokens);
        most = most > kLastDirectToken ? most - kTokenBitsOffset : 0;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {  // without branches: which lanes are large is random
            lanes[count] = static_cast<std::uint8_t>(lane);
            extra[count] = 0;
            count += tokens[lane] > kLastDirectToken ? 1 : 0;
        }
        for (unsigned p = 0; p < most; ++p) {
            std::uint64_t plane = raw_.peek();
            std::size_t used = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const unsigned takes = tokens[lanes[i]] - kTokenBitsOffset > p ? 1 : 0;
                extra[i] = static_cast<std::uint16_t>(extra[i] | (plane & takes) << p);
                plane >>= takes;
                used += takes;
            }
            raw_.skip(used);
        }
        for (std::size_t i = 0; i < count; ++i) {
            std::int16_t& value = values[lanes[i]];
            const unsigned bits = tokens[lanes[i]] - kTokenBitsOffset;
            const int magnitude = static_cast<int>(kTokenBase + (1U << bits) + extra[i]);
            value = static_cast<std::int16_t>(value < 0 ? -magnitude : magnitude);
        }
    }

    // Magnitudes of a pair from 7 on. False if one is too large.
    bool read_escapes(const std::uint8_t* magnitudes, unsigned k, CoefficientGroup& out) noexcept {
        std::uint8_t lanes[kLanes + 1];
        std::uint16_t found[kLanes + 1];  // g without its highest bit
        std::uint8_t highest[kLanes + 1];
        std::size_t count = 0;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            highest[count] = 0;
            found[count] = 0;
            lanes[count] = static_cast<std::uint8_t>(lane);
            count += magnitudes[lane] == kEscape ? 1 : 0;
        }
        if (count == 0) return true;
        unsigned most = 0;
        for (;; ++most) {
            const std::uint64_t plane = raw_.peek();
            std::size_t used = 0;
            unsigned any = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const unsigned takes = highest[i] >= most ? 1 : 0;
                const unsigned more = takes & static_cast<unsigned>(plane >> used);
                highest[i] = static_cast<std::uint8_t>(highest[i] + more);
                used += takes;
                any |= more;
            }
            raw_.skip(used);
            if (any == 0) break;
            if (most == kMaxEscapeBits) return false;
        }
        for (unsigned p = 0; p < most; ++p) {
            const std::uint64_t plane = raw_.peek();
            std::size_t used = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const unsigned takes = highest[i] > p ? 1 : 0;
                found[i] = static_cast<std::uint16_t>(found[i] | (takes & static_cast<unsigned>(plane >> used)) << p);
                used += takes;
            }
            raw_.skip(used);
        }
        out.wide_positions |= std::uint64_t{1} << k;
        for (std::size_t lane = 0; lane < kLanes; ++lane) out.wide[k][lane] = out.narrow[k][lane];
        for (std::size_t i = 0; i < count; ++i) {
            std::int16_t& value = out.wide[k][lanes[i]];
            const int magnitude = static_cast<int>(kEscape - 1 + (1U << highest[i]) + found[i]);
            value = static_cast<std::int16_t>(value < 0 ? -magnitude : magnitude);
        }
        return true;
    }

    // End ----------------------------------------------------------------------------------------------------------

    TileFault finish() noexcept {
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            if (job_.scratch[g].alive != 0) return TileFault::counts;
        }
        if (words_ != job_.parts.words_end) return TileFault::words;
        if (!raw_.used_up()) return TileFault::raw;
        std::uint16_t payload[kNumStates + 8] = {};  // read by whole words from any bit on
        for (std::size_t i = 0; i < kNumStates; ++i) {
            if (states_[i] >> 16 != 1) return TileFault::end;
            payload[i] = static_cast<std::uint16_t>(states_[i]);
        }
        RawBits signs(reinterpret_cast<const std::uint8_t*>(payload), sizeof payload);
        for (std::size_t i = 0; i < num_deferred_; ++i) {
            const auto& [k, g] = deferred_[i];
            CoefficientGroup& out = job_.out[g];
            const std::uint64_t nonzero = nonzero_lanes(job_.scratch[g].magnitudes[k]);
            if ((out.wide_positions >> k & 1) != 0) {
                apply_signs(out.wide[k], nonzero, signs);
            } else {
                apply_signs(out.narrow[k], nonzero, signs);
            }
        }
        return TileFault::none;
    }

    [[nodiscard]] std::size_t class_of(std::size_t g) const noexcept { return job_.groups[g].component == 0 ? 0 : 1; }

    const TileJob& job_;
    const DecodeTables& tables_;
    std::array<std::uint32_t, kNumStates> states_;
    const std::uint8_t* words_;
    RawBits raw_;
    std::size_t payload_bits_;
    std::size_t num_symbols_ = 0;
    std::size_t num_deferred_ = 0;
    std::size_t num_deferred_bits_ = 0;
    Deferred deferred_[kPayloadBits * kNumStates];  // each has a bit at least
    std::uint8_t contexts_[kMaxGroups * kLanes];
    std::uint8_t symbols_[kMaxGroups * kLanes];
};

}  // namespace

TileFault decode_tile_plain(const TileJob& job) noexcept {
    PlainDecoder decoder(job);
    return decoder.run();
}

}  // namespace penstock::sluice
