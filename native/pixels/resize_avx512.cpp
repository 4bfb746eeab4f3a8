// Resize on 64-byte vectors with dot products of bytes. A weight of 23 bits is three signed bytes, so that
// sum = first + (second << 8) + (third << 16) is exact.
#include "pixels/resize_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

namespace penstock {

namespace {

constexpr int kBits = 22;

/// Four weights become four first bytes, four second ones, four third ones.
void pack(std::int32_t* weights, std::size_t num_groups) {
    for (std::size_t i = 0; i < num_groups; ++i, weights += 4) {
        std::int8_t packed[16] = {};
        for (int k = 0; k < 4; ++k) {
            std::int32_t rest = weights[k];
            for (int digit = 0; digit < 3; ++digit) {
                packed[digit * 4 + k] = static_cast<std::int8_t>(rest);
                rest = (rest - packed[digit * 4 + k]) >> 8;
            }
        }
        std::memcpy(weights, packed, sizeof packed);
    }
}

/// Sums of 16 samples, kept apart by the byte of the weight.
struct Sums {
    __m512i first = _mm512_set1_epi32(1 << (kBits - 1));
    __m512i second = _mm512_setzero_si512();
    __m512i third = _mm512_setzero_si512();

    /// `taps` holds four taps of each sample side by side.
    inline void add(__m512i taps, const std::int32_t* weights) {
        first = _mm512_dpbusd_epi32(first, taps, _mm512_set1_epi32(weights[0]));
        second = _mm512_dpbusd_epi32(second, taps, _mm512_set1_epi32(weights[1]));
        third = _mm512_dpbusd_epi32(third, taps, _mm512_set1_epi32(weights[2]));
    }
    /// As bytes, after clipping.
    [[nodiscard]] inline __m128i bytes() const {
        const __m512i upper = _mm512_add_epi32(_mm512_slli_epi32(third, 8), second);
        const __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(upper, 8), first);
        const __m512i clipped = _mm512_max_epi32(_mm512_srai_epi32(sum, kBits), _mm512_setzero_si512());
        return _mm512_cvtusepi32_epi8(clipped);
    }
};

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

template <int kChannels>
void filter_pixels(const std::uint8_t* const* rows, const Taps& taps, std::uint8_t* out) {
    const __m512i shuffle = tap_shuffle<kChannels>();
    const __m128i by_channel = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    for (std::uint32_t i = 0; i < taps.count; ++i) {
        const std::int32_t* weights = taps.weights + std::size_t{i} * taps.stride * 4;
        std::size_t offset = std::size_t{taps.first[i]} * kChannels;
        Sums sums;
        for (std::uint32_t group = 0; group < taps.groups[i]; ++group) {
            sums.add(_mm512_shuffle_epi8(load_four(rows, offset), shuffle), weights);
            offset += 4 * kChannels;
            weights += 4;
        }
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(sums.bytes(), by_channel));
        out += 4 * kChannels;
    }
}

void filter_rows(const std::uint8_t* const* rows, const Taps& taps, std::uint32_t channels, std::uint8_t* out) {
    switch (channels) {
        case 1: return filter_pixels<1>(rows, taps, out);
        case 2: return filter_pixels<2>(rows, taps, out);
        case 3: return filter_pixels<3>(rows, taps, out);
        default: return filter_pixels<4>(rows, taps, out);
    }
}

void filter_columns(const std::uint8_t* const* quads, const std::int32_t* weights, std::size_t num_quads,
                    std::size_t samples, std::uint8_t* out) {
    for (std::size_t s = 0; s < samples; s += 16) {
        Sums sums;
        for (std::size_t i = 0; i < num_quads; ++i) {
            sums.add(_mm512_loadu_si512(quads[i] + s * 4), weights + i * 4);
        }
        const std::size_t left = samples - s;
        const auto mask = static_cast<__mmask16>(left >= 16 ? 0xffff : (1u << left) - 1);
        _mm_mask_storeu_epi8(out + s, mask, sums.bytes());
    }
}

}  // namespace

const ResizeKernels kResizeAvx512{pack, filter_rows, filter_columns};

}  // namespace penstock

#endif
