// Resize on 64-byte vectors with dot products of bytes. A weight of 23 bits is three signed bytes, its digits, so that
// sum = first + (second << 8) + (third << 16) is exact.
#include "pixels/resize_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

namespace penstock {

namespace {

constexpr int kBits = 22;

/// Lowest byte of every number, with its sign.
inline __m512i low_digit(__m512i numbers) { return _mm512_srai_epi32(_mm512_slli_epi32(numbers, 24), 24); }

/// Four weights become four first digits, four second ones, four third ones, and four bytes of nothing.
void pack(std::int32_t* weights, std::size_t num_groups) {
    const __m512i by_digit =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const std::size_t count = num_groups * 4;
    for (std::size_t i = 0; i < count; i += 16) {
        const auto lanes = static_cast<__mmask16>(count - i >= 16 ? 0xffff : (1u << (count - i)) - 1);
        const __m512i whole = _mm512_maskz_loadu_epi32(lanes, weights + i);
        const __m512i first = low_digit(whole);
        const __m512i rest = _mm512_srai_epi32(_mm512_sub_epi32(whole, first), 8);
        const __m512i second = low_digit(rest);
        const __m512i third = _mm512_srai_epi32(_mm512_sub_epi32(rest, second), 8);
        const __m512i bytes =
            _mm512_or_si512(_mm512_and_si512(first, _mm512_set1_epi32(0xff)),
                            _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(second, _mm512_set1_epi32(0xff)), 8),
                                            _mm512_slli_epi32(_mm512_and_si512(third, _mm512_set1_epi32(0xff)), 16)));
        _mm512_mask_storeu_epi32(weights + i, lanes, _mm512_shuffle_epi8(bytes, by_digit));
    }
}

/// The digits of four weights, for as many samples as a vector holds.
struct Digits {
    __m512i first;
    __m512i second;
    __m512i third;

    /// The same weights for all samples.
    static inline Digits same(const std::int32_t* weights) {
        return {_mm512_set1_epi32(weights[0]), _mm512_set1_epi32(weights[1]), _mm512_set1_epi32(weights[2])};
    }
};

/// Sums of 16 samples, kept apart by digit.
struct Sums {
    __m512i first = _mm512_set1_epi32(1 << (kBits - 1));
    __m512i second = _mm512_setzero_si512();
    __m512i third = _mm512_setzero_si512();

    /// `taps` holds four taps of each sample side by side.
    inline void add(__m512i taps, const Digits& digits) {
        first = _mm512_dpbusd_epi32(first, taps, digits.first);
        second = _mm512_dpbusd_epi32(second, taps, digits.second);
        third = _mm512_dpbusd_epi32(third, taps, digits.third);
    }
    [[nodiscard]] inline __m512i rounded() const {
        const __m512i upper = _mm512_add_epi32(_mm512_slli_epi32(third, 8), second);
        return _mm512_srai_epi32(_mm512_add_epi32(_mm512_slli_epi32(upper, 8), first), kBits);
    }
    /// Within 0 to 255.
    [[nodiscard]] inline __m512i clipped() const {
        return _mm512_min_epi32(_mm512_max_epi32(rounded(), _mm512_setzero_si512()), _mm512_set1_epi32(255));
    }
};

/// The horizontal pass over 16 samples in a row: where in 64 or 128 bytes the four taps of each are, and their weights.
struct alignas(64) PlanStep {
    std::uint8_t order[64];
    std::int32_t digits[3][16];
};

/// A plan is whether any step needs 128 bytes; for every 16 samples a number of steps; then where each step's bytes
/// begin; then the steps.
struct Plan {
    std::uint32_t* wide;
    std::uint32_t* num_steps;
    std::uint32_t* begins;
    PlanStep* steps;
    std::size_t num_vectors;
    std::size_t stride;

    static std::size_t count_vectors(const Taps& taps, std::uint32_t channels) {
        return (std::size_t{taps.count} * channels + 15) / 16;
    }
    static std::size_t header_bytes(std::size_t vectors, std::size_t steps_each) {
        return ((1 + vectors * (1 + steps_each)) * 4 + 63) / 64 * 64;
    }

    Plan(const Taps& taps, std::uint32_t channels, const std::uint8_t* memory)
        : num_vectors(count_vectors(taps, channels)), stride(taps.stride) {
        auto* bytes = const_cast<std::uint8_t*>(memory);
        wide = reinterpret_cast<std::uint32_t*>(bytes);
        num_steps = wide + 1;
        begins = num_steps + num_vectors;
        steps = reinterpret_cast<PlanStep*>(bytes + header_bytes(num_vectors, stride));
    }
};

std::size_t plan_bytes(const Taps& taps, std::uint32_t channels) {
    const std::size_t vectors = Plan::count_vectors(taps, channels);
    return Plan::header_bytes(vectors, taps.stride) + vectors * taps.stride * sizeof(PlanStep);
}

/// Where the taps of group `group` of samples [begin, end) begin and end, in bytes.
struct Reach {
    std::uint32_t begin = 0xffffffff;
    std::uint32_t end = 0;

    Reach(const Taps& taps, std::uint32_t channels, std::size_t first_sample, std::size_t end_sample,
          std::uint32_t group) {
        for (std::size_t pixel = first_sample / channels; pixel <= (end_sample - 1) / channels; ++pixel) {
            if (group >= taps.groups[pixel]) continue;
            const std::uint32_t at = (taps.first[pixel] + group * 4) * channels;
            begin = at < begin ? at : begin;
            end = at + 4 * channels > end ? at + 4 * channels : end;
        }
    }
};

/// Fills in the step of group `group` of samples [begin, end), whose bytes begin at `origin`.
void plan_step(const Taps& taps, std::uint32_t channels, std::size_t begin, std::size_t end, std::uint32_t group,
               std::uint32_t origin, PlanStep& step) {
    std::memset(&step, 0, sizeof step);
    std::size_t pixel = begin / channels;
    auto channel = static_cast<std::uint32_t>(begin % channels);
    for (std::size_t lane = 0; lane < end - begin; ++lane) {
        if (group < taps.groups[pixel]) {
            const std::uint32_t first = (taps.first[pixel] + group * 4) * channels + channel - origin;
            const std::uint32_t order = first * 0x01010101u + channels * 0x03020100u;
            std::memcpy(step.order + lane * 4, &order, 4);
            const std::int32_t* weights = taps.weights + (pixel * taps.stride + group) * 4;
            for (int digit = 0; digit < 3; ++digit) step.digits[digit][lane] = weights[digit];
        }
        if (++channel == channels) {
            channel = 0;
            ++pixel;
        }
    }
}

bool plan_rows(const Taps& taps, std::uint32_t channels, std::uint8_t* memory) {
    const Plan plan(taps, channels, memory);
    const std::size_t samples = std::size_t{taps.count} * channels;
    *plan.wide = 0;
    for (std::size_t v = 0; v < plan.num_vectors; ++v) {
        const std::size_t begin = v * 16;
        const std::size_t end = begin + 16 < samples ? begin + 16 : samples;
        std::uint32_t num_steps = 0;
        for (std::size_t pixel = begin / channels; pixel <= (end - 1) / channels; ++pixel) {
            num_steps = taps.groups[pixel] > num_steps ? taps.groups[pixel] : num_steps;
        }
        plan.num_steps[v] = num_steps;
        for (std::uint32_t group = 0; group < num_steps; ++group) {
            const Reach reach(taps, channels, begin, end, group);
            if (reach.end - reach.begin > 128) return false;
            if (reach.end - reach.begin > 64) *plan.wide = 1;
            plan.begins[v * plan.stride + group] = reach.begin;
            plan_step(taps, channels, begin, end, group, reach.begin, plan.steps[v * plan.stride + group]);
        }
    }
    return true;
}

template <bool kWide>
inline __m512i find_taps(const std::uint8_t* bytes, __m512i order) {
    const __m512i source = _mm512_loadu_si512(bytes);
    if constexpr (!kWide) return _mm512_permutexvar_epi8(order, source);
    return _mm512_permutex2var_epi8(source, order, _mm512_loadu_si512(bytes + 64));
}

/// 16 samples of four rows at a time: one shuffle finds the taps of all.
template <bool kWide>
void filter_planned(const std::uint8_t* const* rows, const Plan& plan, std::uint8_t* out) {
    for (std::size_t v = 0; v < plan.num_vectors; ++v) {
        Sums sums[4];
        for (std::size_t index = v * plan.stride; index < v * plan.stride + plan.num_steps[v]; ++index) {
            const PlanStep& step = plan.steps[index];
            const __m512i order = _mm512_load_si512(step.order);
            const Digits digits{_mm512_load_si512(step.digits[0]), _mm512_load_si512(step.digits[1]),
                                _mm512_load_si512(step.digits[2])};
            for (int r = 0; r < 4; ++r) sums[r].add(find_taps<kWide>(rows[r] + plan.begins[index], order), digits);
        }
        const __m512i upper = _mm512_or_si512(sums[0].clipped(), _mm512_slli_epi32(sums[1].clipped(), 8));
        const __m512i lower = _mm512_or_si512(sums[2].clipped(), _mm512_slli_epi32(sums[3].clipped(), 8));
        _mm512_storeu_si512(out + v * 64, _mm512_or_si512(upper, _mm512_slli_epi32(lower, 16)));
    }
}

inline __m128i load_lane(const std::uint8_t* bytes) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)); }

inline __m512i load_four(const std::uint8_t* const* rows, std::size_t offset) {
    __m512i four = _mm512_castsi128_si512(load_lane(rows[0] + offset));
    four = _mm512_inserti32x4(four, load_lane(rows[1] + offset), 1);
    four = _mm512_inserti32x4(four, load_lane(rows[2] + offset), 2);
    return _mm512_inserti32x4(four, load_lane(rows[3] + offset), 3);
}

/// Four taps of every channel side by side, from four pixels side by side.
template <int kChannels>
inline __m512i tap_shuffle() {
    alignas(16) std::int8_t order[16];
    for (int c = 0; c < 4; ++c) {
        for (int tap = 0; tap < 4; ++tap) {
            order[c * 4 + tap] = static_cast<std::int8_t>(c < kChannels ? tap * kChannels + c : -1);
        }
    }
    return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(order)));
}

/// One pixel of four rows at a time, for taps of any distance.
template <int kChannels>
void filter_pixels(const std::uint8_t* const* rows, const Taps& taps, std::uint8_t* out) {
    const __m512i shuffle = tap_shuffle<kChannels>();
    const __m128i by_channel = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    for (std::uint32_t i = 0; i < taps.count; ++i) {
        const std::int32_t* weights = taps.weights + std::size_t{i} * taps.stride * 4;
        std::size_t offset = std::size_t{taps.first[i]} * kChannels;
        Sums sums;
        for (std::uint32_t group = 0; group < taps.groups[i]; ++group) {
            sums.add(_mm512_shuffle_epi8(load_four(rows, offset), shuffle), Digits::same(weights));
            offset += 4 * kChannels;
            weights += 4;
        }
        const __m128i bytes = _mm512_cvtepi32_epi8(sums.clipped());
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(bytes, by_channel));
        out += 4 * kChannels;
    }
}

void filter_rows(const std::uint8_t* const* rows, const Taps& taps, std::uint32_t channels, const std::uint8_t* plan,
                 std::uint8_t* out) {
    if (plan != nullptr) {
        const Plan steps(taps, channels, plan);
        return *steps.wide != 0 ? filter_planned<true>(rows, steps, out) : filter_planned<false>(rows, steps, out);
    }
    switch (channels) {
        case 1: return filter_pixels<1>(rows, taps, out);
        case 2: return filter_pixels<2>(rows, taps, out);
        case 3: return filter_pixels<3>(rows, taps, out);
        default: return filter_pixels<4>(rows, taps, out);
    }
}

/// 16 samples at `begin`; the weights of the first `kHeld` quads are in registers.
template <std::size_t kHeld>
inline Sums column_sums(const std::uint8_t* const* quads, const Digits* held, const std::int32_t* weights,
                        std::size_t num_quads, std::size_t begin) {
    Sums sums;
    for (std::size_t i = 0; i < kHeld; ++i) sums.add(_mm512_loadu_si512(quads[i] + begin * 4), held[i]);
    for (std::size_t i = kHeld; i < num_quads; ++i) {
        sums.add(_mm512_loadu_si512(quads[i] + begin * 4), Digits::same(weights + i * 4));
    }
    return sums;
}

template <std::size_t kHeld>
void filter_samples(const std::uint8_t* const* quads, const std::int32_t* weights, std::size_t num_quads,
                    std::size_t samples, std::uint8_t* out) {
    const __m512i in_order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    Digits held[kHeld];
    for (std::size_t i = 0; i < kHeld; ++i) held[i] = Digits::same(weights + i * 4);
    std::size_t s = 0;
    for (; s + 64 <= samples; s += 64) {
        __m512i sums[4];
        for (std::size_t k = 0; k < 4; ++k) {
            sums[k] = column_sums<kHeld>(quads, held, weights, num_quads, s + k * 16).rounded();
        }
        // Saturation clips; what a filter adds beyond 0 to 255 is far from the limits of 16 bits.
        const __m512i words01 = _mm512_packs_epi32(sums[0], sums[1]);
        const __m512i words23 = _mm512_packs_epi32(sums[2], sums[3]);
        const __m512i bytes = _mm512_packus_epi16(words01, words23);
        _mm512_storeu_si512(out + s, _mm512_permutexvar_epi32(in_order, bytes));
    }
    for (; s < samples; s += 16) {
        const auto lanes = static_cast<__mmask16>(samples - s >= 16 ? 0xffff : (1u << (samples - s)) - 1);
        const Sums sums = column_sums<kHeld>(quads, held, weights, num_quads, s);
        _mm_mask_storeu_epi8(out + s, lanes, _mm512_cvtepi32_epi8(sums.clipped()));
    }
}

void filter_columns(const std::uint8_t* const* quads, const std::int32_t* weights, std::size_t num_quads,
                    std::size_t samples, std::uint8_t* out) {
    switch (num_quads) {
        case 1: return filter_samples<1>(quads, weights, 1, samples, out);
        case 2: return filter_samples<2>(quads, weights, 2, samples, out);
        default: return filter_samples<3>(quads, weights, num_quads, samples, out);
    }
}

}  // namespace

const ResizeKernels kResizeAvx512{pack, plan_bytes, plan_rows, filter_rows, filter_columns};

}  // namespace penstock

#endif
