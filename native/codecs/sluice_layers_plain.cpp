// Adds layer 2 to a Sluice tile without vector instructions: the one to read beside spec/sluice.md, "Two layers".
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "codecs/sluice_lanes.h"
#include "codecs/sluice_layers.h"
#include "codecs/sluice_plain.h"

namespace penstock::sluice {

namespace {

using jpeg::CoefficientGroup;

constexpr std::size_t kMaxDeferred = kPayloadBits * kNumStates;  // each has a bit at least

/// A (position, group) whose signs are in the final states.
struct Deferred {
    std::uint64_t nonzero;
    std::uint8_t position;
    std::uint8_t group;
};

int value_at(const CoefficientGroup& group, unsigned k, std::size_t lane) noexcept {
    return (group.wide_positions >> k & 1) != 0 ? group.wide[k][lane] : group.narrow[k][lane];
}

void set_value(CoefficientGroup& group, unsigned k, std::size_t lane, int value) noexcept {
    if ((group.wide_positions >> k & 1) != 0) {
        group.wide[k][lane] = static_cast<std::int16_t>(value);
    } else {
        group.narrow[k][lane] = static_cast<std::int8_t>(value);
    }
}

// Makes room for larger values at a position of layer 1.
void make_room(CoefficientGroup& group, unsigned k, unsigned bits) noexcept {
    if ((group.wide_positions >> k & 1) != 0) return;
    const auto too_large = [bits](std::int8_t value) { return std::abs(value) > max_narrow(bits); };
    if (std::none_of(group.narrow[k], group.narrow[k] + kLanes, too_large)) return;
    std::copy_n(group.narrow[k], kLanes, group.wide[k]);
    group.wide_positions |= std::uint64_t{1} << k;
}

class PlainRefiner {
  public:
    PlainRefiner(const TileJob& job, unsigned bits) noexcept
        : job_(job),
          tables_(*job.tables),
          bits_(bits),
          stream_(job.parts),
          raw_(job.parts.raw, job.parts.raw_bytes),
          payload_bits_(kPayloadBits * job.parts.num_states) {}

    TileFault run() noexcept {
        for (std::size_t g = 0; g < job_.num_groups; ++g) count_known(g);
        if (!decode_counts()) return TileFault::words;
        for (unsigned k = 1; k < kPositions && list_contexts(k); ++k) {
            const TileFault fault = decode_position(k);
            if (fault != TileFault::none) return fault;
        }
        return finish();
    }

  private:
    [[nodiscard]] std::size_t class_of(std::size_t g) const noexcept { return job_.groups[g].component == 0 ? 0 : 1; }
    [[nodiscard]] bool has_layer1(std::size_t g, unsigned k) const noexcept {
        return static_cast<int>(k) < coarse_positions_[g];
    }
    bool decode_symbols() noexcept { return stream_.decode(tables_.entries.data(), contexts_, num_symbols_, symbols_); }
    void list(std::uint8_t table) noexcept { contexts_[num_symbols_++] = table; }

    void count_known(std::size_t g) noexcept {
        CoefficientGroup& out = job_.out[g];
        GroupScratch& scratch = job_.scratch[g];
        coarse_positions_[g] = out.num_positions;
        out.num_positions = kPositions;
        std::memset(scratch.magnitudes[0], 0, kLanes);
        std::memset(scratch.magnitudes[kZeroRow], 0, kLanes);
        std::uint8_t known[kLanes] = {};
        for (unsigned k = 1; has_layer1(g, k); ++k) {
            make_room(out, k, bits_);
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                known[lane] = static_cast<std::uint8_t>(known[lane] + (value_at(out, k, lane) != 0 ? 1 : 0));
            }
        }
        for (std::size_t lane = 0; lane < kLanes; ++lane) known_class_[g][lane] = kCountClass[known[lane]];
    }

    bool decode_counts() noexcept {
        num_symbols_ = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const std::uint8_t* const even = tables_.even[class_of(g)];
            for (std::uint64_t lanes = job_.groups[g].active & kEvenLanes; lanes != 0; lanes &= lanes - 1) {
                list(even[known_class_[g][std::countr_zero(lanes)]]);
            }
        }
        if (!decode_symbols()) return false;
        const std::uint8_t* symbol = symbols_;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            hand_out(job_.groups[g].active & kEvenLanes, symbol, job_.scratch[g].remaining);
        }
        num_symbols_ = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) list_odd_counts(g);
        if (!decode_symbols()) return false;
        symbol = symbols_;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            for (std::uint64_t lanes = job_.groups[g].active & ~kEvenLanes; lanes != 0; lanes &= lanes - 1) {
                job_.scratch[g].remaining[std::countr_zero(lanes)] = *symbol++;
            }
        }
        return true;
    }

    void list_odd_counts(std::size_t g) noexcept {
        const std::uint8_t* const counts = job_.scratch[g].remaining;
        const std::uint8_t* const odd = tables_.odd[class_of(g)];
        for (std::uint64_t lanes = job_.groups[g].active & ~kEvenLanes; lanes != 0; lanes &= lanes - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
            list(odd[8 * kCountClass[mean_of_neighbours(counts, lane)] + known_class_[g][lane]]);
        }
    }

    // False if no lane takes part any more, now or later, and none is known.
    bool list_contexts(unsigned k) noexcept {
        num_symbols_ = 0;
        bool any = false;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            GroupScratch& scratch = job_.scratch[g];
            const std::uint64_t unfinished = nonzero_lanes(scratch.remaining);
            is_live_[g] = unfinished != 0 || has_layer1(g, k);
            if (!is_live_[g]) {
                job_.out[g].num_positions = std::min(job_.out[g].num_positions, static_cast<int>(k));
                continue;
            }
            any = true;
            std::memset(coarse_[g], 0, kLanes);
            for (std::size_t lane = 0; has_layer1(g, k) && lane < kLanes; ++lane) {
                coarse_[g][lane] =
                    static_cast<std::uint8_t>(std::min<int>(kCoarseLimit, std::abs(value_at(job_.out[g], k, lane))));
            }
            takes_[g] = unfinished & ~nonzero_lanes(coarse_[g]);
            std::uint8_t sums[kLanes];
            sum_neighbours(scratch.magnitudes, kNeighbours[k], sums);
            std::uint8_t classes[kLanes] = {};
            add_classes(scratch.remaining, kCountLimits, 8, classes);
            add_classes(sums, kMagnitudeLimits, 1, classes);
            const std::uint8_t* const map = tables_.positions[class_of(g)][k];
            for (std::uint64_t lanes = takes_[g]; lanes != 0; lanes &= lanes - 1) {
                list(map[classes[std::countr_zero(lanes)]]);
            }
        }
        return any;
    }

    TileFault decode_position(unsigned k) noexcept {
        if (!decode_symbols()) return TileFault::words;
        const std::uint8_t* symbol = symbols_;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            if (!is_live_[g]) continue;
            std::uint8_t added[kLanes];
            hand_out(takes_[g], symbol, added);
            count_down(added, job_.scratch[g].remaining);
            const std::uint64_t fresh = nonzero_lanes(added);
            const std::uint64_t negative = defer(k, g, fresh) ? 0 : read_plane(raw_, fresh);
            const std::uint64_t known = nonzero_lanes(coarse_[g]);
            for (unsigned p = 0; p < bits_; ++p) {
                for (std::uint64_t set = read_plane(raw_, known); set != 0; set &= set - 1) {
                    added[std::countr_zero(set)] |= static_cast<std::uint8_t>(1U << p);
                }
            }
            if (raw_.overrun()) return TileFault::raw;
            put(k, g, added, negative);
        }
        return TileFault::none;
    }

    void put(unsigned k, std::size_t g, const std::uint8_t* added, std::uint64_t negative) noexcept {
        CoefficientGroup& out = job_.out[g];
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const unsigned magnitude = (unsigned{coarse_[g][lane]} << bits_) + added[lane];
            job_.scratch[g].magnitudes[k][lane] =
                static_cast<std::uint8_t>(std::min<unsigned>(kRefinedLimit, magnitude));
            const int coarse = has_layer1(g, k) ? value_at(out, k, lane) : 0;
            const bool below_zero = coarse < 0 || (negative >> lane & 1) != 0;
            const int whole = std::abs(coarse) * (1 << bits_) + added[lane];
            set_value(out, k, lane, below_zero ? -whole : whole);
        }
    }

    // Whether the signs of a group are in the final states.
    bool defer(unsigned k, std::size_t g, std::uint64_t fresh) noexcept {
        if (fresh == 0) return true;  // there are none
        num_deferred_bits_ += static_cast<std::size_t>(std::popcount(fresh));
        if (num_deferred_bits_ > payload_bits_) return false;  // and never again
        deferred_[num_deferred_++] = {fresh, static_cast<std::uint8_t>(k), static_cast<std::uint8_t>(g)};
        return true;
    }

    TileFault finish() noexcept {
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            if (nonzero_lanes(job_.scratch[g].remaining) != 0) return TileFault::counts;
        }
        if (stream_.words != stream_.words_end) return TileFault::words;
        if (!raw_.used_up()) return TileFault::raw;
        std::uint16_t payload[kNumStates + 8] = {};  // read by whole words from any bit on
        for (std::size_t i = 0; i < kNumStates; ++i) {
            if (stream_.states[i] >> 16 != 1) return TileFault::end;
            payload[i] = static_cast<std::uint16_t>(stream_.states[i]);
        }
        RawBits signs(reinterpret_cast<const std::uint8_t*>(payload), sizeof payload);
        for (std::size_t i = 0; i < num_deferred_; ++i) {
            const auto& [fresh, k, g] = deferred_[i];
            for (std::uint64_t set = read_plane(signs, fresh); set != 0; set &= set - 1) {
                const auto lane = static_cast<std::size_t>(std::countr_zero(set));
                set_value(job_.out[g], k, lane, -value_at(job_.out[g], k, lane));
            }
        }
        return TileFault::none;
    }

    const TileJob& job_;
    const DecodeTables& tables_;
    unsigned bits_;
    SymbolStream stream_;
    RawBits raw_;
    std::size_t payload_bits_;
    std::size_t num_symbols_ = 0;
    std::size_t num_deferred_ = 0;
    std::size_t num_deferred_bits_ = 0;
    int coarse_positions_[kMaxGroups];
    bool is_live_[kMaxGroups];
    std::uint64_t takes_[kMaxGroups];          // lanes that take part in this step
    std::uint8_t coarse_[kMaxGroups][kLanes];  // magnitudes of layer 1 at this position, as contexts count them
    std::uint8_t known_class_[kMaxGroups][kLanes];
    Deferred deferred_[kMaxDeferred];
    std::uint8_t contexts_[kMaxGroups * kLanes];
    std::uint8_t symbols_[kMaxGroups * kLanes];
};

}  // namespace

TileFault refine_tile_plain(const TileJob& job, unsigned bits) noexcept {
    PlainRefiner refiner(job, bits);
    return refiner.run();
}

void widen_groups_plain(CoefficientGroup* groups, std::size_t num_groups, unsigned bits) noexcept {
    const auto offset = static_cast<int>(coarse_offset(bits));
    for (std::size_t g = 0; g < num_groups; ++g) {
        for (unsigned k = 1; static_cast<int>(k) < groups[g].num_positions; ++k) {
            make_room(groups[g], k, bits);
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                const int value = value_at(groups[g], k, lane);
                const int sign = (value > 0 ? 1 : 0) - (value < 0 ? 1 : 0);
                set_value(groups[g], k, lane, value * (1 << bits) + sign * offset);
            }
        }
    }
}

}  // namespace penstock::sluice
