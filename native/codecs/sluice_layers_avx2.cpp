// Adds layer 2 to a Sluice tile with AVX2: two registers hold one byte of each of the 64 lanes of a group.
//
// The plain twin, which explains the steps, is sluice_layers_plain.cpp.
#if defined(__x86_64__)

#include "codecs/sluice_avx2.h"
#include "codecs/sluice_layers.h"

namespace penstock::sluice {

namespace {

using jpeg::CoefficientGroup;

// Bytes that stay below 128, or words, times 2 to the power of `bits`.
PENSTOCK_INLINE V shift_left(V values, unsigned bits) noexcept {
    return _mm256_sll_epi16(values, _mm_cvtsi32_si128(static_cast<int>(bits)));
}
// Words of 65,535 where a bit is set, of 16 lanes from lane 16 i on.
PENSTOCK_INLINE V spread_words(std::uint64_t bits, int i) noexcept {
    return _mm256_cvtepi8_epi16(half_of(spread(bits >> 32 * (i / 2)), i % 2));
}

// Makes room for larger values at a position of layer 1.
PENSTOCK_INLINE void make_room(CoefficientGroup& group, unsigned k, unsigned bits) noexcept {
    if ((group.wide_positions >> k & 1) != 0) return;
    const Lanes values = load_lanes(group.narrow[k]);
    const V most = _mm256_max_epu8(_mm256_abs_epi8(values.half[0]), _mm256_abs_epi8(values.half[1]));
    const V large = _mm256_cmpgt_epi8(most, bytes(max_narrow(bits)));
    if (_mm256_testz_si256(large, large) != 0) [[likely]]
        return;
    for (int i = 0; i < 4; ++i) store(group.wide[k] + 16 * i, _mm256_cvtepi8_epi16(half_of(values.half[i / 2], i % 2)));
    group.wide_positions |= std::uint64_t{1} << k;
}

template <bool kGather>
class Refiner {
  public:
    Refiner(const TileJob& job, unsigned bits) noexcept
        : job_(job),
          tables_(*job.tables),
          bits_(bits),
          stream_(job.parts),
          raw_{job.parts.raw, 0},
          raw_end_(8 * job.parts.raw_bytes),
          payload_bits_(kPayloadBits * static_cast<unsigned>(job.parts.num_states)) {}

    TileFault run() noexcept {
        for (std::size_t g = 0; g < job_.num_groups; ++g) count_known(g);
        if (!decode_counts()) return TileFault::words;
        for (unsigned k = 1; k < kPositions && list_contexts(k); ++k) {
            if (!decode_symbols()) return TileFault::words;
            if (!put_position(k)) return TileFault::raw;
        }
        return finish();
    }

  private:
    bool decode_symbols() noexcept { return stream_.decode(tables_.entries.data(), contexts_, num_symbols_, symbols_); }

    // Layer 1 ------------------------------------------------------------------------------------------------------

    // Magnitudes of a position in layer 1, as contexts count them.
    static PENSTOCK_INLINE Lanes coarse_magnitudes(const CoefficientGroup& out, unsigned k) noexcept {
        Lanes found;
        if ((out.wide_positions >> k & 1) == 0) {
            for (int h = 0; h < 2; ++h) found.half[h] = _mm256_abs_epi8(load(out.narrow[k] + 32 * h));
        } else {
            for (int h = 0; h < 2; ++h) {
                const V low = _mm256_abs_epi16(load(out.wide[k] + 32 * h));
                const V high = _mm256_abs_epi16(load(out.wide[k] + 32 * h + 16));
                found.half[h] = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xD8);
            }
        }
        for (V& half : found.half) half = _mm256_min_epu8(half, bytes(kCoarseLimit));
        return found;
    }

    void count_known(std::size_t g) noexcept {
        CoefficientGroup& out = job_.out[g];
        GroupScratch& scratch = job_.scratch[g];
        const Lanes none{{zero(), zero()}};
        store_lanes(scratch.magnitudes[0], none);
        store_lanes(scratch.magnitudes[kZeroRow], none);
        Lanes unknown = none;
        const int count = out.num_positions;
        for (int k = 1; k < count; ++k) {
            make_room(out, static_cast<unsigned>(k), bits_);
            const Lanes coarse = coarse_magnitudes(out, static_cast<unsigned>(k));
            store_lanes(scratch.magnitudes[k], coarse);  // until the position is refined
            for (int h = 0; h < 2; ++h) {
                unknown.half[h] = _mm256_sub_epi8(unknown.half[h], _mm256_cmpeq_epi8(coarse.half[h], zero()));
            }
        }
        for (int h = 0; h < 2; ++h) {
            const V known = _mm256_sub_epi8(bytes(count - 1), unknown.half[h]);
            const V eightfold = class_of_value(known, kCountLow, kCountHigh);
            store(known_class_[g] + 32 * h,
                  _mm256_srli_epi16(eightfold, 3));  // at most 56: nothing moves between bytes
        }
        coarse_positions_[g] = static_cast<unsigned>(count);
        out.num_positions = kPositions;
        live_[g].group = static_cast<std::uint32_t>(g);
    }

    // Counts -------------------------------------------------------------------------------------------------------

    bool decode_counts() noexcept {
        std::size_t count = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            Lanes tables;
            for (int h = 0; h < 2; ++h) {
                tables.half[h] =
                    _mm256_shuffle_epi8(broadcast16(tables_.even[class_of(g)]), load(known_class_[g] + 32 * h));
            }
            count += compact(tables, job_.groups[g].active & kEvenLanes, contexts_ + count);
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
            for (int h = 0; h < 2; ++h) counts.half[h] = _mm256_or_si256(counts.half[h], even.half[h]);
            store_lanes(job_.scratch[g].remaining, counts);
            offset += count_bits(lanes);
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
            for (int h = 0; h < 2; ++h) {
                const V here = load(even + 32 * h);
                const V across = _mm256_avg_epu8(_mm256_shuffle_epi8(here, left), _mm256_shuffle_epi8(here, right));
                const V down = _mm256_avg_epu8(load_any(rows + 32 * h), load_any(rows + 16 + 32 * h));
                const V neighbour = class_of_value(_mm256_avg_epu8(across, down), kCountLow, kCountHigh);
                tables.half[h] =
                    look_up64(tables_.odd[class_of(g)], _mm256_or_si256(neighbour, load(known_class_[g] + 32 * h)));
            }
            count += compact(tables, job_.groups[g].active & ~kEvenLanes, contexts_ + count);
        }
        num_symbols_ = count;
    }

    // Positions ----------------------------------------------------------------------------------------------------

    // False if no lane takes part any more, now or later, and none is known. Groups without any are dropped.
    bool list_contexts(unsigned k) noexcept {
        const Neighbours near = kNeighbours[k];
        std::size_t count = 0;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < num_live_; ++i) {
            const std::uint32_t g = live_[i].group;
            GroupScratch& scratch = job_.scratch[g];
            const Lanes remaining = load_lanes(scratch.remaining);
            const std::uint64_t unfinished = nonzero_lanes(remaining);
            const bool in_layer1 = k < coarse_positions_[g];
            if (unfinished == 0 && !in_layer1) [[unlikely]] {
                job_.out[g].num_positions = static_cast<int>(k);
                continue;
            }
            if (!in_layer1) store_lanes(scratch.magnitudes[k], {{zero(), zero()}});
            const std::uint64_t lanes = unfinished & ~nonzero_lanes(load_lanes(scratch.magnitudes[k]));
            live_[kept++] = {lanes, static_cast<std::uint32_t>(count), g};
            if (lanes == 0) continue;
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
    bool put_position(unsigned k) noexcept {
        RawBits raw = raw_;
        const std::size_t raw_end = raw_end_;
        const unsigned bits = bits_;
        for (std::size_t i = 0; i < num_live_; ++i) {
            const Live live = live_[i];
            GroupScratch& scratch = job_.scratch[live.group];
            CoefficientGroup& out = job_.out[live.group];
            Lanes added = expand(symbols_ + live.offset, live.lanes);
            V zeros[2];
            for (int h = 0; h < 2; ++h) {
                zeros[h] = _mm256_cmpeq_epi8(added.half[h], zero());
                const V less = _mm256_add_epi8(load(scratch.remaining + 32 * h), bytes(-1));
                store(scratch.remaining + 32 * h, _mm256_sub_epi8(less, zeros[h]));
            }
            const std::uint64_t fresh = ~top_bits(zeros[0], zeros[1]);
            const std::uint64_t negative = defer(k, live.group, fresh) ? 0 : raw.plane(fresh);
            const Lanes coarse = load_lanes(scratch.magnitudes[k]);
            const std::uint64_t known = nonzero_lanes(coarse);
            for (unsigned p = 0; known != 0 && p < bits; ++p) {
                const std::uint64_t set = raw.plane(known);
                for (int h = 0; h < 2; ++h) {
                    added.half[h] =
                        _mm256_or_si256(added.half[h], _mm256_and_si256(spread(set >> 32 * h), bytes(1 << p)));
                }
            }
            if (raw.position > raw_end) return false;
            for (int h = 0; h < 2; ++h) {
                const V whole = _mm256_add_epi8(shift_left(coarse.half[h], bits), added.half[h]);
                store(scratch.magnitudes[k] + 32 * h, _mm256_min_epu8(whole, bytes(kRefinedLimit)));
            }
            if ((out.wide_positions >> k & 1) != 0) [[unlikely]] {
                put_wide(out.wide[k], added, negative, bits);
            } else {
                put_narrow(out.narrow[k], k < coarse_positions_[live.group], added, negative, bits);
            }
        }
        raw_ = raw;
        return true;
    }

    // Magnitudes of layer 1 are at most max_narrow(bits) here.
    static PENSTOCK_INLINE void put_narrow(std::int8_t* values, bool in_layer1, const Lanes& added,
                                           std::uint64_t negative, unsigned bits) noexcept {
        for (int h = 0; h < 2; ++h) {
            const V before = in_layer1 ? load(values + 32 * h) : zero();
            const V magnitude = _mm256_add_epi8(shift_left(_mm256_abs_epi8(before), bits), added.half[h]);
            const V mask = _mm256_or_si256(_mm256_cmpgt_epi8(zero(), before), spread(negative >> 32 * h));
            store(values + 32 * h, _mm256_sub_epi8(_mm256_xor_si256(magnitude, mask), mask));
        }
    }

    static __attribute__((noinline)) void put_wide(std::int16_t* values, const Lanes& added, std::uint64_t negative,
                                                   unsigned bits) noexcept {
        for (int i = 0; i < 4; ++i) {
            const V before = load(values + 16 * i);
            const V more = _mm256_cvtepu8_epi16(half_of(added.half[i / 2], i % 2));
            const V magnitude = _mm256_add_epi16(shift_left(_mm256_abs_epi16(before), bits), more);
            const V mask = _mm256_or_si256(_mm256_srai_epi16(before, 15), spread_words(negative, i));
            store(values + 16 * i, _mm256_sub_epi16(_mm256_xor_si256(magnitude, mask), mask));
        }
    }

    PENSTOCK_INLINE bool defer(unsigned k, std::uint32_t group, std::uint64_t fresh) noexcept {
        if (fresh == 0) return true;
        if (num_deferred_bits_ > payload_bits_) return false;
        num_deferred_bits_ += count_bits(fresh);
        if (num_deferred_bits_ > payload_bits_) return false;  // and never again
        deferred_[num_deferred_++] = {fresh, static_cast<std::uint8_t>(k), static_cast<std::uint8_t>(group)};
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
        if (!stream_.words_used_up()) return TileFault::words;
        if ((raw_.position + 7) / 8 * 8 != raw_end_) return TileFault::raw;
        std::uint16_t payload[kNumStates + 8] = {};  // read by whole words from any bit on
        if (!stream_.payload(payload)) return TileFault::end;
        RawBits signs{reinterpret_cast<const std::uint8_t*>(payload), 0};
        for (std::size_t i = 0; i < num_deferred_; ++i) {
            const Deferred& deferred = deferred_[i];
            CoefficientGroup& out = job_.out[deferred.group];
            const unsigned k = deferred.position;
            const std::uint64_t negative = signs.plane(deferred.nonzero);
            if ((out.wide_positions >> k & 1) == 0) {
                for (int h = 0; h < 2; ++h) {
                    store(out.narrow[k] + 32 * h, negate_bytes(load(out.narrow[k] + 32 * h), negative >> 32 * h));
                }
                continue;
            }
            for (int j = 0; j < 4; ++j) {
                const V mask = spread_words(negative, j);
                const V value = load(out.wide[k] + 16 * j);
                store(out.wide[k] + 16 * j, _mm256_sub_epi16(_mm256_xor_si256(value, mask), mask));
            }
        }
        return TileFault::none;
    }

    PENSTOCK_INLINE std::size_t class_of(std::size_t g) const noexcept { return job_.groups[g].component == 0 ? 0 : 1; }

    const TileJob& job_;
    const DecodeTables& tables_;
    unsigned bits_;
    SymbolStream<kGather> stream_;
    RawBits raw_;
    std::size_t raw_end_;
    unsigned payload_bits_;
    unsigned num_deferred_bits_ = 0;
    std::size_t num_symbols_ = 0;
    std::size_t num_live_ = 0;
    std::size_t num_deferred_ = 0;
    Live live_[kMaxGroups];
    unsigned coarse_positions_[kMaxGroups];
    alignas(64) std::uint8_t known_class_[kMaxGroups][kLanes];
    alignas(64) std::uint8_t contexts_[(kMaxGroups + 1) * kLanes]{};  // vectors are stored and read whole
    alignas(64) std::uint8_t symbols_[(kMaxGroups + 1) * kLanes];
    Deferred deferred_[kPayloadBits * kNumStates];  // each has a bit at least
};

}  // namespace

TileFault refine_tile_avx2(const TileJob& job, unsigned bits) noexcept {
    Refiner<false> refiner(job, bits);
    return refiner.run();
}

TileFault refine_tile_avx2_gather(const TileJob& job, unsigned bits) noexcept {
    Refiner<true> refiner(job, bits);
    return refiner.run();
}

void widen_groups_avx2(CoefficientGroup* groups, std::size_t num_groups, unsigned bits) noexcept {
    const auto offset = static_cast<int>(coarse_offset(bits));
    for (std::size_t g = 0; g < num_groups; ++g) {
        CoefficientGroup& group = groups[g];
        for (int k = 1; k < group.num_positions; ++k) {
            make_room(group, static_cast<unsigned>(k), bits);
            if ((group.wide_positions >> k & 1) == 0) {
                for (int h = 0; h < 2; ++h) {
                    const V value = load(group.narrow[k] + 32 * h);
                    const V magnitude = _mm256_add_epi8(shift_left(_mm256_abs_epi8(value), bits), bytes(offset));
                    store(group.narrow[k] + 32 * h, _mm256_sign_epi8(magnitude, value));  // zeros stay zero
                }
                continue;
            }
            for (int i = 0; i < 4; ++i) {
                const V value = load(group.wide[k] + 16 * i);
                const V more = _mm256_set1_epi16(static_cast<short>(offset));
                const V magnitude = _mm256_add_epi16(shift_left(_mm256_abs_epi16(value), bits), more);
                store(group.wide[k] + 16 * i, _mm256_sign_epi16(magnitude, value));
            }
        }
    }
}

#undef PENSTOCK_INLINE

}  // namespace penstock::sluice

#endif
