// Resize on 32-byte vectors. A weight of 23 bits is split in two of 11 or 12, so that products of 16-bit pairs, added
// two by two, are exact: sum = low + (high << 11).
#include "pixels/resize_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

namespace penstock {

namespace {

constexpr int kBits = 22;
constexpr int kLowBits = 11;

/// Four weights become (low 0, 2) (low 1, 3) (high 0, 2) (high 1, 3), 16 bits each.
void pack(std::int32_t* weights, std::size_t num_groups) {
    for (std::size_t i = 0; i < num_groups; ++i, weights += 4) {
        std::int16_t packed[8];
        constexpr int order[4] = {0, 2, 1, 3};
        for (int k = 0; k < 4; ++k) {
            const std::int32_t weight = weights[order[k]];
            packed[k] = static_cast<std::int16_t>(weight & ((1 << kLowBits) - 1));
            packed[4 + k] = static_cast<std::int16_t>(weight >> kLowBits);
        }
        std::memcpy(weights, packed, sizeof packed);
    }
}

/// Sums of 8 samples, kept apart by the half of the weight.
struct Sums {
    __m256i low = _mm256_set1_epi32(1 << (kBits - 1));
    __m256i high = _mm256_setzero_si256();

    /// `even` holds taps 0 and 2 of each sample as 16-bit pairs, `odd` taps 1 and 3.
    inline void add(__m256i even, __m256i odd, const std::int32_t* weights) {
        low = _mm256_add_epi32(low, _mm256_madd_epi16(even, _mm256_set1_epi32(weights[0])));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(odd, _mm256_set1_epi32(weights[1])));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(even, _mm256_set1_epi32(weights[2])));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(odd, _mm256_set1_epi32(weights[3])));
    }
    [[nodiscard]] inline __m256i rounded() const {
        return _mm256_srai_epi32(_mm256_add_epi32(low, _mm256_slli_epi32(high, kLowBits)), kBits);
    }
};

inline __m256i load_two(const std::uint8_t* a, const std::uint8_t* b) {
    const __m256i lower = _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a)));
    return _mm256_inserti128_si256(lower, _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)), 1);
}

/// Taps 0 and 2 (or 1 and 3) of every channel as 16-bit pairs, from four pixels side by side.
template <int kChannels>
inline __m256i pair_shuffle(int tap) {
    alignas(16) std::int8_t order[16];
    for (int c = 0; c < 4; ++c) {
        for (int k = 0; k < 2; ++k) {
            const int source = (tap + 2 * k) * kChannels + c;
            order[c * 4 + k * 2] = static_cast<std::int8_t>(c < kChannels ? source : -1);
            order[c * 4 + k * 2 + 1] = -1;
        }
    }
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(order)));
}

template <int kChannels>
void filter_pixels(const std::uint8_t* const* rows, const Taps& taps, std::uint8_t* out) {
    const __m256i evens = pair_shuffle<kChannels>(0);
    const __m256i odds = pair_shuffle<kChannels>(1);
    const __m128i by_channel = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    for (std::uint32_t i = 0; i < taps.count; ++i) {
        const std::int32_t* weights = taps.weights + std::size_t{i} * taps.stride * 4;
        std::size_t offset = std::size_t{taps.first[i]} * kChannels;
        Sums upper;
        Sums lower;
        for (std::uint32_t group = 0; group < taps.groups[i]; ++group) {
            const __m256i rows01 = load_two(rows[0] + offset, rows[1] + offset);
            const __m256i rows23 = load_two(rows[2] + offset, rows[3] + offset);
            upper.add(_mm256_shuffle_epi8(rows01, evens), _mm256_shuffle_epi8(rows01, odds), weights);
            lower.add(_mm256_shuffle_epi8(rows23, evens), _mm256_shuffle_epi8(rows23, odds), weights);
            offset += 4 * kChannels;
            weights += 4;
        }
        // Lanes hold rows 0 and 2, 1 and 3 after packing.
        const __m256i words = _mm256_packus_epi32(upper.rounded(), lower.rounded());
        const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        const __m128i in_order = _mm_shuffle_epi32(bytes, _MM_SHUFFLE(3, 1, 2, 0));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(in_order, by_channel));
        out += 4 * kChannels;
    }
}

void filter_rows(const std::uint8_t* const* rows, const Taps& taps, std::uint32_t channels, const std::uint8_t*,
                 std::uint8_t* out) {
    switch (channels) {
        case 1: return filter_pixels<1>(rows, taps, out);
        case 2: return filter_pixels<2>(rows, taps, out);
        case 3: return filter_pixels<3>(rows, taps, out);
        default: return filter_pixels<4>(rows, taps, out);
    }
}

/// Eight samples at `begin`, as 32-bit numbers.
inline __m256i column_sums(const std::uint8_t* const* quads, const std::int32_t* weights, std::size_t num_quads,
                           std::size_t begin) {
    const __m256i low_byte = _mm256_set1_epi16(0xff);
    Sums sums;
    for (std::size_t i = 0; i < num_quads; ++i) {
        const __m256i quad = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(quads[i] + begin * 4));
        sums.add(_mm256_and_si256(quad, low_byte), _mm256_srli_epi16(quad, 8), weights + i * 4);
    }
    return sums.rounded();
}

void filter_columns(const std::uint8_t* const* quads, const std::int32_t* weights, std::size_t num_quads,
                    std::size_t samples, std::uint8_t* out) {
    const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    std::size_t s = 0;
    for (; s + 32 <= samples; s += 32) {
        const __m256i words01 = _mm256_packus_epi32(column_sums(quads, weights, num_quads, s),
                                                    column_sums(quads, weights, num_quads, s + 8));
        const __m256i words23 = _mm256_packus_epi32(column_sums(quads, weights, num_quads, s + 16),
                                                    column_sums(quads, weights, num_quads, s + 24));
        const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words01, words23), in_order);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + s), bytes);
    }
    for (; s < samples; s += 8) {
        const __m256i words = _mm256_packus_epi32(column_sums(quads, weights, num_quads, s), _mm256_setzero_si256());
        const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words, words), in_order);
        std::uint8_t eight[16];
        _mm_storeu_si128(reinterpret_cast<__m128i*>(eight), _mm256_castsi256_si128(bytes));
        std::memcpy(out + s, eight, samples - s < 8 ? samples - s : 8);
    }
}

}  // namespace

const ResizeKernels kResizeAvx2{pack, no_plan_bytes, no_plan, filter_rows, filter_columns};

}  // namespace penstock

#endif
