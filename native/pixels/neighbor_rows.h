// Sharpening and blurs, written once for every instruction set: loops without branches that the compiler turns into
// vectors of the set at hand. Included by `neighbor_<path>.cpp` and by nothing else; everything has internal linkage
// (see png_unfilter_kernels.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "pixels/neighbor_kernels.h"

namespace penstock {

namespace {

constexpr std::size_t kChunk = 128;

inline std::size_t chunk_from(std::size_t at, std::size_t end) { return end - at < kChunk ? end - at : kChunk; }

/// Pillow's SMOOTH of samples: nine of them, the middle one five times, over 13 and rounded. Its sum of floats is
/// never near a half, so that integers give the same.
inline void smooth(const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below, std::size_t channels,
                   std::size_t count, std::uint16_t* out) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t left = i;
        const std::size_t here = i + channels;
        const std::size_t right = i + 2 * channels;
        const auto sum =
            static_cast<std::uint16_t>(above[left] + above[here] + above[right] + row[left] + 5 * row[here] +
                                       row[right] + below[left] + below[here] + below[right]);
        const auto twice = static_cast<std::uint16_t>(2 * sum + 13);
        out[i] = static_cast<std::uint16_t>((std::uint32_t{twice} * 40330u >> 16) >> 4);  // over 26
    }
}

inline void blend(const std::uint16_t* from, const std::uint8_t* to, std::size_t count, float factor,
                  std::uint8_t* out) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t first = from[i];
        const float mixed = static_cast<float>(first) + factor * static_cast<float>(std::int32_t{to[i]} - first);
        const float above = mixed < 0.0f ? 0.0f : mixed;
        out[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(above > 255.0f ? 255.0f : above));
    }
}

void sharpen(const std::uint8_t* const* rows, std::size_t samples, std::size_t channels, bool keeps_alpha, float factor,
             std::uint8_t* out) {
    const std::size_t end = samples - channels;
    std::uint16_t smoothed[kChunk];
    for (std::size_t at = channels; at < end; at += kChunk) {
        const std::size_t count = chunk_from(at, end);
        const std::size_t left = at - channels;
        smooth(rows[0] + left, rows[1] + left, rows[2] + left, channels, count, smoothed);
        blend(smoothed, rows[1] + at, count, factor, out + at);
    }
    for (std::size_t c = 0; c < channels; ++c) {
        out[c] = rows[1][c];
        out[end + c] = rows[1][end + c];
    }
    if (!keeps_alpha) return;
    for (std::size_t i = channels - 1; i < samples; i += channels) out[i] = rows[1][i];
}

inline std::uint8_t boxed(std::uint32_t sum, std::uint32_t edges, std::uint32_t whole, std::uint32_t edge) {
    return static_cast<std::uint8_t>((sum * whole + edges * edge + (1u << 23)) >> 24);
}

/// `Sum` holds the sum of a box.
template <typename Sum>
inline void box_row_of(const std::uint8_t* padded, std::size_t samples, std::size_t channels, const BoxWeights& weights,
                       std::uint8_t* out) {
    const std::uint32_t whole = weights.whole;
    const std::uint32_t edge = weights.edge;
    const std::size_t num_whole = 2 * std::size_t{weights.radius} + 1;
    for (std::size_t at = 0; at < samples; at += kChunk) {
        const std::size_t count = chunk_from(at, samples);
        Sum sums[kChunk] = {};
        for (std::size_t d = 1; d <= num_whole; ++d) {
            const std::uint8_t* row = padded + at + d * channels;
            for (std::size_t i = 0; i < count; ++i) sums[i] = static_cast<Sum>(sums[i] + row[i]);
        }
        const std::uint8_t* before = padded + at;
        const std::uint8_t* behind = before + (num_whole + 1) * channels;
        for (std::size_t i = 0; i < count; ++i) {
            out[at + i] = boxed(sums[i], std::uint32_t{before[i]} + behind[i], whole, edge);
        }
    }
}

void box_row(const std::uint8_t* padded, std::size_t samples, std::size_t channels, const BoxWeights& weights,
             std::uint8_t* out) {
    if (weights.radius < 128) return box_row_of<std::uint16_t>(padded, samples, channels, weights, out);
    box_row_of<std::uint32_t>(padded, samples, channels, weights, out);
}

void box_column(std::uint32_t* __restrict sums, const std::uint8_t* before, const std::uint8_t* behind,
                const std::uint8_t* leaving, std::size_t samples, const BoxWeights& weights,
                std::uint8_t* __restrict out) {
    const std::uint32_t whole = weights.whole;
    const std::uint32_t edge = weights.edge;
    for (std::size_t i = 0; i < samples; ++i) {
        const std::uint32_t sum = sums[i];
        out[i] = boxed(sum, std::uint32_t{before[i]} + behind[i], whole, edge);
        sums[i] = sum + behind[i] - leaving[i];
    }
}

void weigh_row(const std::uint8_t* padded, std::size_t samples, std::size_t channels, const float* weights,
               std::size_t taps, float* __restrict out) {
    for (std::size_t at = 0; at < samples; at += kChunk) {
        const std::size_t count = chunk_from(at, samples);
        float sums[kChunk] = {};
        for (std::size_t tap = 0; tap < taps; ++tap) {
            const std::uint8_t* row = padded + at + tap * channels;
            const float weight = weights[tap];
            for (std::size_t i = 0; i < count; ++i) sums[i] += weight * static_cast<float>(row[i]);
        }
        for (std::size_t i = 0; i < count; ++i) out[at + i] = sums[i];
    }
}

void weigh_column(const float* const* rows, std::size_t samples, const float* weights, std::size_t taps,
                  std::uint8_t* __restrict out) {
    constexpr float to_even = 12582912.0f;  // 1.5 * 2^23: a sum with it has no fraction
    for (std::size_t at = 0; at < samples; at += kChunk) {
        const std::size_t count = chunk_from(at, samples);
        float sums[kChunk] = {};
        for (std::size_t tap = 0; tap < taps; ++tap) {
            const float* row = rows[tap] + at;
            const float weight = weights[tap];
            for (std::size_t i = 0; i < count; ++i) sums[i] += weight * row[i];
        }
        for (std::size_t i = 0; i < count; ++i) {
            const float rounded = (sums[i] + to_even) - to_even;
            out[at + i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(rounded > 255.0f ? 255.0f : rounded));
        }
    }
}

constexpr NeighborKernels kKernels{sharpen, box_row, box_column, weigh_row, weigh_column};

}  // namespace

}  // namespace penstock
