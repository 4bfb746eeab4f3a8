// The tile decoder that all vector paths of Sluice share: the steps of spec/sluice.md, written once over a small
// vocabulary `V` that each path brings. Included by sluice_decode_<path>.cpp and by nothing else. The plain twin, which
// explains the steps, is sluice_decode_plain.cpp.
//
//   V::Lanes                       one byte of each of the 64 lanes of a group
//   V::Mask                        a set of lanes, as signs and extra bits are read
//   V::load(bytes), V::store(bytes, lanes), V::fill(value)
//   V::nonzero(lanes)              lanes that are not zero, as bits
//   V::take_one(counts, values)    one less where a value is not zero; V::take_two for both values of a pair
//   V::context_sum(a, b, c, d, e)  2 (a + b) + c + d + e, at most 63
//   V::contexts(remaining, sum, map), V::even_contexts(tokens, map), V::odd_contexts(counts, tokens, map)
//                                  tables of all lanes
//   V::compact(lanes, set, out)    the bytes of a set, one after the other; up to 64 bytes are written. Gives their
//   number V::expand(bytes, set)          the next bytes go to a set, zero to other lanes V::plane(raw, set) the next
//   raw bits, one for each lane of a set V::negate(lanes, mask), V::negate_words(words, mask), V::widen(bytes, words),
//   V::either(a, b) V::has_above(lanes, limit)     whether a lane is above it V::put_large, V::put_escapes   values
//   that do not fit a token or a pair V::undo_prediction(words)      DC differences to values V::split(symbols, first,
//   second) V::States                      the rANS states, with load, decode and finish
//
// Everything has internal linkage: the same template compiled for two instruction sets must not meet in the linker
// (docs/decisions/0001).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codecs/sluice.h"

#define PENSTOCK_INLINE inline __attribute__((always_inline))

namespace penstock::sluice {

namespace {

using jpeg::CoefficientGroup;

PENSTOCK_INLINE unsigned count_bits(std::uint64_t bits) noexcept {
    return static_cast<unsigned>(__builtin_popcountll(bits));
}

/// Raw bits: a position in a stream that is filled from the least significant bit of each byte.
struct RawBits {
    const std::uint8_t* data;
    std::size_t position;

    /// The next 64 bits. Skips `count` of them.
    PENSTOCK_INLINE std::uint64_t take(unsigned count) noexcept {
        const std::uint8_t* const at = data + position / 8;
        const unsigned shift = position % 8;
        std::uint64_t low = 0;
        std::memcpy(&low, at, sizeof low);
        position += count;
        return low >> shift | (std::uint64_t{at[8]} << 1) << (63 - shift);
    }
};

/// Contexts and symbols of a step, and where its words come from.
struct Step {
    const std::uint8_t* contexts;
    std::uint8_t* symbols;
    std::size_t count;
    const std::uint8_t* words_end;
    const std::uint32_t* entries;
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
    std::uint16_t group;
    std::uint16_t component_class;
};

/// The largest token whose magnitudes, 11 + 2^5 + 31 at most, are stored as bytes; and the same for the bits of an
/// escape, 6 + 2^6 - 1 at most.
constexpr unsigned kLastNarrowToken = 18;
[[maybe_unused]] constexpr unsigned kNarrowEscapeBits = 5;

template <typename V>
class Decoder {
    using Lanes = typename V::Lanes;
    using Mask = typename V::Mask;

  public:
    explicit Decoder(const TileJob& job) noexcept
        : job_(job),
          tables_(*job.tables),
          words_(job.parts.words),
          raw_{job.parts.raw, 0},
          raw_end_(8 * job.parts.raw_bytes),
          payload_bits_(kPayloadBits * static_cast<unsigned>(job.parts.num_states)) {
        states_.load(job.parts.states.data());
    }

    TileFault run() noexcept {
        TileFault fault = decode_dc();
        if (fault != TileFault::none) return fault;
        if (!decode_counts()) return TileFault::words;
        const unsigned first_pair = tables_.first_pair;
        for (unsigned k = 1; k < kPositions && list_contexts(k);) {
            if (!decode_symbols()) return TileFault::words;
            if (k < first_pair) {
                fault = num_deferred_bits_ < payload_bits_ ? put_position<true>(k) : put_position<false>(k);
                k += 1;
            } else {
                fault = put_pair(k);
                k += 2;
            }
            if (fault != TileFault::none) return fault;
        }
        return finish();
    }

  private:
    // False if there are too few words.
    PENSTOCK_INLINE bool decode_symbols() noexcept {
        return states_.decode({contexts_, symbols_, num_symbols_, job_.parts.words_end, tables_.entries.data()},
                              words_);
    }

    // DC and counts ------------------------------------------------------------------------------------------------

    TileFault decode_dc() noexcept {
        std::size_t count = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            count += V::compact(V::fill(tables_.dc[class_of(g)]), job_.groups[g].active, contexts_ + count);
        }
        num_symbols_ = count;
        if (!decode_symbols()) return TileFault::words;
        std::size_t offset = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            GroupScratch& scratch = job_.scratch[g];
            CoefficientGroup& out = job_.out[g];
            const Lanes tokens = V::expand(symbols_ + offset, job_.groups[g].active);
            offset += count_bits(job_.groups[g].active);
            V::store(scratch.magnitudes[0], tokens);
            V::store(scratch.magnitudes[kZeroRow], V::fill(0));
            out.wide_positions = 0;
            out.num_positions = kPositions;
            put_values<false>(out, 0, tokens, V::nonzero(tokens), raw_);
            if (out.wide_positions == 0) {
                V::widen(out.narrow[0], out.wide[0]);
                out.wide_positions = 1;
            }
            V::undo_prediction(out.wide[0]);
            if (raw_.position > raw_end_) return TileFault::raw;
        }
        return TileFault::none;
    }

    bool decode_counts() noexcept {
        std::size_t count = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const Lanes tokens = V::load(job_.scratch[g].magnitudes[0]);
            count += V::compact(V::even_contexts(tokens, tables_.even[class_of(g)]), job_.groups[g].active & kEvenLanes,
                                contexts_ + count);
        }
        num_symbols_ = count;
        if (!decode_symbols()) return false;
        std::size_t offset = 0;
        count = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            GroupScratch& scratch = job_.scratch[g];
            const std::uint64_t lanes = job_.groups[g].active & kEvenLanes;
            const Lanes counts = V::expand(symbols_ + offset, lanes);
            offset += count_bits(lanes);
            V::store(scratch.remaining, counts);
            const Lanes contexts =
                V::odd_contexts(scratch.remaining, V::load(scratch.magnitudes[0]), tables_.odd[class_of(g)]);
            count += V::compact(contexts, job_.groups[g].active & ~kEvenLanes, contexts_ + count);
        }
        num_symbols_ = count;
        if (!decode_symbols()) return false;
        offset = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            GroupScratch& scratch = job_.scratch[g];
            const std::uint64_t lanes = job_.groups[g].active & ~kEvenLanes;
            const Lanes counts = V::either(V::load(scratch.remaining), V::expand(symbols_ + offset, lanes));
            offset += count_bits(lanes);
            V::store(scratch.remaining, counts);
            live_[g] = {0, 0, static_cast<std::uint16_t>(g), static_cast<std::uint16_t>(class_of(g))};
        }
        num_live_ = job_.num_groups;
        return true;
    }

    // Positions ----------------------------------------------------------------------------------------------------

    // Lists the contexts of position k. Groups without lanes that take part are dropped; false if none is left.
    bool list_contexts(unsigned k) noexcept {
        const Neighbours near = kNeighbours[k];
        const GroupScratch* const all = job_.scratch;
        const std::size_t num_live = num_live_;
        std::size_t count = 0;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < num_live; ++i) {
            const Live live = live_[i];
            const GroupScratch& scratch = all[live.group];
            const Lanes remaining = V::load(scratch.remaining);
            const std::uint64_t lanes = V::nonzero(remaining);
            if (lanes == 0) [[unlikely]] {
                job_.out[live.group].num_positions = static_cast<int>(k);
                continue;
            }
            live_[kept++] = {lanes, static_cast<std::uint32_t>(count), live.group, live.component_class};
            const auto& rows = scratch.magnitudes;
            const Lanes sum = V::context_sum(rows[near.a], rows[near.b], rows[near.c], rows[near.d], rows[near.e]);
            const Lanes contexts = V::contexts(remaining, sum, tables_.positions[live.component_class][k]);
            count += V::compact(contexts, lanes, contexts_ + count);
        }
        num_live_ = kept;
        num_symbols_ = count;
        return kept != 0;
    }

    template <bool kMayDefer>
    TileFault put_position(unsigned k) noexcept {
        RawBits raw = raw_;
        const std::size_t raw_end = raw_end_;
        const std::size_t num_live = num_live_;
        for (std::size_t i = 0; i < num_live; ++i) {
            const Live live = live_[i];
            GroupScratch& scratch = job_.scratch[live.group];
            CoefficientGroup& out = job_.out[live.group];
            const Lanes tokens = V::expand(symbols_ + live.offset, live.lanes);
            const std::uint64_t nonzero = V::nonzero(tokens);
            V::store(scratch.remaining, V::take_one(V::load(scratch.remaining), tokens));
            V::store(scratch.magnitudes[k], tokens);
            if (kMayDefer && defer(k, live.group, nonzero)) {
                put_values<true>(out, k, tokens, nonzero, raw);
            } else {
                put_values<false>(out, k, tokens, nonzero, raw);
            }
            if (raw.position > raw_end) return TileFault::raw;
        }
        raw_ = raw;
        return TileFault::none;
    }

    PENSTOCK_INLINE bool defer(unsigned k, std::uint16_t group, std::uint64_t nonzero) noexcept {
        if (nonzero == 0) return true;
        num_deferred_bits_ += count_bits(nonzero);
        if (num_deferred_bits_ > payload_bits_) return false;  // and never again
        deferred_[num_deferred_++] = {nonzero, static_cast<std::uint8_t>(k), static_cast<std::uint8_t>(group)};
        return true;
    }

    template <bool kDeferred>
    static PENSTOCK_INLINE void put_values(CoefficientGroup& out, unsigned k, const Lanes& tokens,
                                           std::uint64_t nonzero, RawBits& raw) noexcept {
        Mask signs{};
        if constexpr (!kDeferred) signs = V::plane(raw, nonzero);
        if (V::has_above(tokens, kLastDirectToken)) [[unlikely]] {
            raw.position = V::put_large(out, k, tokens, signs, raw);
            return;
        }
        if constexpr (kDeferred) {
            V::store(out.narrow[k], tokens);
        } else {
            V::store(out.narrow[k], V::negate(tokens, signs));
        }
    }

    TileFault put_pair(unsigned k) noexcept {
        RawBits raw = raw_;
        const std::size_t raw_end = raw_end_;
        const std::size_t num_live = num_live_;
        for (std::size_t i = 0; i < num_live; ++i) {
            const Live live = live_[i];
            GroupScratch& scratch = job_.scratch[live.group];
            CoefficientGroup& out = job_.out[live.group];
            Lanes first;
            Lanes second;
            V::split(V::expand(symbols_ + live.offset, live.lanes), first, second);
            V::store(scratch.remaining, V::take_two(V::load(scratch.remaining), first, second));
            V::store(scratch.magnitudes[k], first);
            V::store(scratch.magnitudes[k + 1], second);
            const Mask first_signs = V::plane(raw, V::nonzero(first));
            const Mask second_signs = V::plane(raw, V::nonzero(second));
            V::store(out.narrow[k], V::negate(first, first_signs));
            V::store(out.narrow[k + 1], V::negate(second, second_signs));
            if (V::has_above(V::larger(first, second), kEscape - 1)) [[unlikely]] {
                if (!V::put_escapes(out, k, first, first_signs, raw) ||
                    !V::put_escapes(out, k + 1, second, second_signs, raw)) {
                    return TileFault::escape;
                }
            }
            if (raw.position > raw_end) return TileFault::raw;
        }
        raw_ = raw;
        return TileFault::none;
    }

    // End ----------------------------------------------------------------------------------------------------------

    TileFault finish() noexcept {
        Lanes left = V::fill(0);
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            left = V::either(left, V::load(job_.scratch[g].remaining));
        }
        if (V::nonzero(left) != 0) return TileFault::counts;
        if (words_ != job_.parts.words_end) return TileFault::words;
        if ((raw_.position + 7) / 8 * 8 != raw_end_) return TileFault::raw;
        alignas(64) std::uint16_t payload[kNumStates + 8] = {};  // read by whole words from any bit on
        if (!states_.finish(payload)) return TileFault::end;
        RawBits signs{reinterpret_cast<const std::uint8_t*>(payload), 0};
        for (std::size_t i = 0; i < num_deferred_; ++i) {
            const Deferred& deferred = deferred_[i];
            CoefficientGroup& out = job_.out[deferred.group];
            const unsigned k = deferred.position;
            const Mask negative = V::plane(signs, deferred.nonzero);
            if ((out.wide_positions >> k & 1) != 0) {
                V::negate_words(out.wide[k], negative);
            } else {
                V::store(out.narrow[k], V::negate(V::load(out.narrow[k]), negative));
            }
        }
        return TileFault::none;
    }

    PENSTOCK_INLINE std::size_t class_of(std::size_t g) const noexcept { return job_.groups[g].component == 0 ? 0 : 1; }

    const TileJob& job_;
    const DecodeTables& tables_;
    typename V::States states_;
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

}  // namespace

}  // namespace penstock::sluice
