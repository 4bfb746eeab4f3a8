// Loops over rows for tables and limits, written once for every instruction set. Included by `tables_<path>.cpp` and by
// nothing else; everything has internal linkage (see png_unfilter_kernels.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "pixels/table_kernels.h"

namespace penstock {

namespace {

/// Samples [begin, end) of a row, one after the other.
inline void look_up_samples(const std::uint8_t* row, std::size_t begin, std::size_t end, std::size_t channels,
                            const ByteTables& tables, std::uint8_t* out) {
    if (tables.same) {
        for (std::size_t i = begin; i < end; ++i) out[i] = tables.levels[0][row[i]];
        return;
    }
    for (std::size_t i = begin; i < end; ++i) out[i] = tables.levels[i % channels][row[i]];
}

/// Whole pixels, with the tables of their channels side by side.
template <std::size_t kChannels>
inline void look_up_pixels(const std::uint8_t* row, std::size_t pixels, const ByteTables& tables, std::uint8_t* out) {
    for (std::size_t x = 0; x < pixels; ++x) {
        for (std::size_t c = 0; c < kChannels; ++c) out[x * kChannels + c] = tables.levels[c][row[x * kChannels + c]];
    }
}

inline void look_up_plain(const std::uint8_t* row, std::size_t pixels, std::size_t channels, const ByteTables& tables,
                          std::uint8_t* out) {
    if (tables.same || channels == 1) return look_up_samples(row, 0, pixels * channels, channels, tables, out);
    switch (channels) {
        case 2: return look_up_pixels<2>(row, pixels, tables, out);
        case 3: return look_up_pixels<3>(row, pixels, tables, out);
        default: return look_up_pixels<4>(row, pixels, tables, out);
    }
}

inline void widen_lanes(const std::uint8_t* row, std::size_t count, LevelLimits& limits) {
    for (std::size_t i = 0; i < count; ++i) {
        limits.lows[i] = row[i] < limits.lows[i] ? row[i] : limits.lows[i];
        limits.highs[i] = row[i] > limits.highs[i] ? row[i] : limits.highs[i];
    }
}

inline void widen_limits(const std::uint8_t* row, std::size_t samples, LevelLimits& limits) {
    constexpr std::size_t lanes = LevelLimits::kLanes;
    LevelLimits own = limits;
    std::size_t at = 0;
    for (; at + lanes <= samples; at += lanes) widen_lanes(row + at, lanes, own);
    widen_lanes(row + at, samples - at, own);
    limits = own;
}

}  // namespace

}  // namespace penstock
