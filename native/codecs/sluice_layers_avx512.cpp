// Adds layer 2 to a Sluice tile with AVX-512: a register holds one byte of each of the 64 lanes of a group.
//
// The plain twin, which explains the steps, is sluice_layers_plain.cpp.
#if defined(__x86_64__)

#include "codecs/sluice_avx512.h"
#include "codecs/sluice_layers.h"

namespace penstock::sluice {

namespace {

using jpeg::CoefficientGroup;

// Makes room for larger values at a position of layer 1.
PENSTOCK_INLINE void make_room(CoefficientGroup& group, unsigned k, unsigned bits) noexcept {
    if ((group.wide_positions >> k & 1) != 0) return;
    const __m512i values = load(group.narrow[k]);
    if (_mm512_cmpgt_epu8_mask(_mm512_abs_epi8(values), bytes(max_narrow(bits))) == 0) [[likely]]
        return;
    store(group.wide[k], _mm512_cvtepi8_epi16(_mm512_castsi512_si256(values)));
    store(group.wide[k] + 32, _mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(values, 1)));
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

    PENSTOCK_INLINE __m512i symbols_at(std::size_t offset, std::uint64_t lanes) const noexcept {
        return _mm512_maskz_expand_epi8(lanes, load_any(symbols_ + offset));
    }

    // Layer 1 ------------------------------------------------------------------------------------------------------

    // Magnitudes of a position in layer 1, as contexts count them.
    static PENSTOCK_INLINE __m512i coarse_magnitudes(const CoefficientGroup& out, unsigned k) noexcept {
        const __m512i limit = bytes(kCoarseLimit);
        if ((out.wide_positions >> k & 1) == 0) return _mm512_min_epu8(_mm512_abs_epi8(load(out.narrow[k])), limit);
        const __m512i word_limit = _mm512_set1_epi16(kCoarseLimit);
        const __m512i low = _mm512_min_epu16(_mm512_abs_epi16(load(out.wide[k])), word_limit);
        const __m512i high = _mm512_min_epu16(_mm512_abs_epi16(load(out.wide[k] + 32)), word_limit);
        return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(low)), _mm512_cvtepi16_epi8(high), 1);
    }

    void count_known(std::size_t g) noexcept {
        CoefficientGroup& out = job_.out[g];
        GroupScratch& scratch = job_.scratch[g];
        store(scratch.magnitudes[0], zero());
        store(scratch.magnitudes[kZeroRow], zero());
        __m512i known = zero();
        for (unsigned k = 1; static_cast<int>(k) < out.num_positions; ++k) {
            make_room(out, k, bits_);
            const __m512i coarse = coarse_magnitudes(out, k);
            store(scratch.magnitudes[k], coarse);  // until the position is refined
            known = _mm512_mask_add_epi8(known, _mm512_test_epi8_mask(coarse, coarse), known, bytes(1));
        }
        store(known_class_[g], _mm512_permutexvar_epi8(known, load(kCountClass.data())));
        coarse_positions_[g] = static_cast<unsigned>(out.num_positions);
        out.num_positions = kPositions;
        live_[g].group = static_cast<std::uint32_t>(g);
    }

    // Counts -------------------------------------------------------------------------------------------------------

    bool decode_counts() noexcept {
        std::size_t count = 0;
        for (std::size_t g = 0; g < job_.num_groups; ++g) {
            const std::uint64_t lanes = job_.groups[g].active & kEvenLanes;
            const __m512i tables = _mm512_permutexvar_epi8(load(known_class_[g]), load(tables_.even[class_of(g)]));
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
        }
        num_live_ = job_.num_groups;
        return true;
    }

    void list_odd_counts() noexcept {
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
            const __m512i tables = _mm512_permutexvar_epi8(_mm512_or_si512(neighbour, load(known_class_[g])),
                                                           load(tables_.odd[class_of(g)]));
            const std::uint64_t lanes = job_.groups[g].active & ~kEvenLanes;
            _mm512_storeu_si512(contexts_ + count, _mm512_maskz_compress_epi8(lanes, tables));
            count += count_bits(lanes);
        }
        num_symbols_ = count;
    }

    // Positions ----------------------------------------------------------------------------------------------------

    // False if no lane takes part any more, now or later, and none is known. Groups without any are dropped.
    bool list_contexts(unsigned k) noexcept {
        const __m512i count_class = _mm512_slli_epi16(load(kCountClass.data()), 3);
        const __m512i magnitude_class = load(kMagnitudeClass.data());
        const Neighbours near = kNeighbours[k];
        std::size_t count = 0;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < num_live_; ++i) {
            const std::uint32_t g = live_[i].group;
            GroupScratch& scratch = job_.scratch[g];
            const __m512i remaining = load(scratch.remaining);
            const __mmask64 unfinished = _mm512_test_epi8_mask(remaining, remaining);
            const bool in_layer1 = k < coarse_positions_[g];
            if (unfinished == 0 && !in_layer1) [[unlikely]] {
                job_.out[g].num_positions = static_cast<int>(k);
                continue;
            }
            if (!in_layer1) store(scratch.magnitudes[k], zero());
            const __m512i coarse = load(scratch.magnitudes[k]);
            const __mmask64 lanes = _mm512_mask_testn_epi8_mask(unfinished, coarse, coarse);
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
    bool put_position(unsigned k) noexcept {
        RawBits raw = raw_;
        const std::size_t raw_end = raw_end_;
        const unsigned bits = bits_;
        for (std::size_t i = 0; i < num_live_; ++i) {
            const Live live = live_[i];
            GroupScratch& scratch = job_.scratch[live.group];
            CoefficientGroup& out = job_.out[live.group];
            __m512i added = symbols_at(live.offset, live.lanes);
            const __mmask64 fresh = _mm512_test_epi8_mask(added, added);
            const __m512i remaining = load(scratch.remaining);
            store(scratch.remaining, _mm512_mask_sub_epi8(remaining, fresh, remaining, bytes(1)));
            const __mmask64 negative = defer(k, live.group, fresh) ? 0 : raw.plane(fresh);
            const __m512i coarse = load(scratch.magnitudes[k]);
            const __mmask64 known = _mm512_test_epi8_mask(coarse, coarse);
            if (known != 0) {
                for (unsigned p = 0; p < bits; ++p) {
                    added = _mm512_mask_add_epi8(added, raw.plane(known), added, bytes(1 << p));
                }
            }
            if (raw.position > raw_end) return false;
            const __m512i whole = _mm512_add_epi8(shift_bytes(coarse, bits), added);
            store(scratch.magnitudes[k], _mm512_min_epu8(whole, bytes(kRefinedLimit)));
            if ((out.wide_positions >> k & 1) != 0) [[unlikely]] {
                put_wide(out.wide[k], added, negative, bits);
                continue;
            }
            // Magnitudes of layer 1 are at most max_narrow(bits) here.
            const __m512i before = k < coarse_positions_[live.group] ? load(out.narrow[k]) : zero();
            const __mmask64 below_zero = _mm512_movepi8_mask(before) | negative;
            const __m512i magnitude = _mm512_add_epi8(shift_bytes(_mm512_abs_epi8(before), bits), added);
            store(out.narrow[k], _mm512_mask_sub_epi8(magnitude, below_zero, zero(), magnitude));
        }
        raw_ = raw;
        return true;
    }

    static __attribute__((noinline)) void put_wide(std::int16_t* values, __m512i added, __mmask64 negative,
                                                   unsigned bits) noexcept {
        for (int half = 0; half < 2; ++half) {
            const __m512i before = load(values + 32 * half);
            const __mmask32 below_zero = _mm512_movepi16_mask(before) |
                                         static_cast<__mmask32>(static_cast<std::uint64_t>(negative) >> 32 * half);
            const __m512i magnitude =
                _mm512_add_epi16(shift_bytes(_mm512_abs_epi16(before), bits), words_of(added, half));
            store(values + 32 * half, _mm512_mask_sub_epi16(magnitude, below_zero, zero(), magnitude));
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
        __m512i left = zero();
        for (std::size_t g = 0; g < job_.num_groups; ++g) left = _mm512_or_si512(left, load(job_.scratch[g].remaining));
        if (_mm512_test_epi8_mask(left, left) != 0) return TileFault::counts;
        if (!stream_.words_used_up()) return TileFault::words;
        if ((raw_.position + 7) / 8 * 8 != raw_end_) return TileFault::raw;
        alignas(64) std::uint16_t payload[kNumStates + 8] = {};  // read by whole words from any bit on
        if (!stream_.payload(payload)) return TileFault::end;
        RawBits signs{reinterpret_cast<const std::uint8_t*>(payload), 0};
        for (std::size_t i = 0; i < num_deferred_; ++i) {
            const Deferred& deferred = deferred_[i];
            CoefficientGroup& out = job_.out[deferred.group];
            const unsigned k = deferred.position;
            const __mmask64 negative = signs.plane(deferred.nonzero);
            if ((out.wide_positions >> k & 1) != 0) {
                for (int half = 0; half < 2; ++half) {
                    const __m512i values = load(out.wide[k] + 32 * half);
                    const auto of_half = static_cast<__mmask32>(static_cast<std::uint64_t>(negative) >> 32 * half);
                    store(out.wide[k] + 32 * half, _mm512_mask_sub_epi16(values, of_half, zero(), values));
                }
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

TileFault refine_tile_avx512(const TileJob& job, unsigned bits) noexcept {
    Refiner<false> refiner(job, bits);
    return refiner.run();
}

TileFault refine_tile_avx512_gather(const TileJob& job, unsigned bits) noexcept {
    Refiner<true> refiner(job, bits);
    return refiner.run();
}

void widen_groups_avx512(CoefficientGroup* groups, std::size_t num_groups, unsigned bits) noexcept {
    const auto offset = static_cast<int>(coarse_offset(bits));
    const __m128i count = _mm_cvtsi32_si128(static_cast<int>(bits));
    for (std::size_t g = 0; g < num_groups; ++g) {
        CoefficientGroup& group = groups[g];
        for (int k = 1; k < group.num_positions; ++k) {
            make_room(group, static_cast<unsigned>(k), bits);
            if ((group.wide_positions >> k & 1) == 0) {
                const __m512i values = load(group.narrow[k]);
                const __m512i magnitude =
                    _mm512_mask_add_epi8(zero(), _mm512_test_epi8_mask(values, values),
                                         shift_bytes(_mm512_abs_epi8(values), bits), bytes(offset));
                store(group.narrow[k], _mm512_mask_sub_epi8(magnitude, _mm512_movepi8_mask(values), zero(), magnitude));
                continue;
            }
            for (int half = 0; half < 2; ++half) {
                const __m512i values = load(group.wide[k] + 32 * half);
                const __m512i magnitude = _mm512_mask_add_epi16(zero(), _mm512_test_epi16_mask(values, values),
                                                                _mm512_sll_epi16(_mm512_abs_epi16(values), count),
                                                                _mm512_set1_epi16(static_cast<short>(offset)));
                store(group.wide[k] + 32 * half,
                      _mm512_mask_sub_epi16(magnitude, _mm512_movepi16_mask(values), zero(), magnitude));
            }
        }
    }
}

#undef PENSTOCK_INLINE

}  // namespace penstock::sluice

#endif
