// One byte of each lane of a group, in plain loops that compilers turn into vectors. For the plain decoder and the
// encoder; the files of SIMD paths do not include this.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codecs/sluice_model.h"

namespace penstock::sluice {

/// Bit i: byte i is not zero.
inline std::uint64_t nonzero_lanes(const std::uint8_t* bytes) noexcept {
    constexpr std::uint64_t low_bits = 0x7F7F7F7F7F7F7F7FULL;
    std::uint64_t lanes = 0;
    for (unsigned i = 0; i < 8; ++i) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, bytes + 8 * i, sizeof eight);
        const std::uint64_t flags = (((eight & low_bits) + low_bits) | eight) >> 7 & 0x0101010101010101ULL;
        lanes |= (flags * 0x0102040810204080ULL >> 56) << 8 * i;
    }
    return lanes;
}

inline std::uint8_t largest_of(const std::uint8_t* bytes) noexcept {
    std::uint8_t largest = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) largest = std::max(largest, bytes[lane]);
    return largest;
}

/// Takes one from each lane whose byte is not zero.
inline void count_down(const std::uint8_t* __restrict bytes, std::uint8_t* __restrict remaining) noexcept {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        remaining[lane] = static_cast<std::uint8_t>(remaining[lane] - (bytes[lane] != 0 ? 1 : 0));
    }
}

/// Sums of magnitudes, at most 63.
inline void sum_neighbours(const std::uint8_t (*__restrict rows)[kLanes], const Neighbours& near,
                           std::uint8_t* __restrict sums) noexcept {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const auto twice = static_cast<std::uint8_t>(rows[near.a][lane] + rows[near.b][lane]);
        const auto once = static_cast<std::uint8_t>(rows[near.c][lane] + rows[near.d][lane] + rows[near.e][lane]);
        sums[lane] = std::min<std::uint8_t>(static_cast<std::uint8_t>(twice + twice + once), 63);
    }
}

/// Adds to each class the number of limits below the value, times `weight`.
inline void add_classes(const std::uint8_t* __restrict values, const std::array<std::uint8_t, 7>& limits,
                        std::uint8_t weight, std::uint8_t* __restrict classes) noexcept {
    for (const std::uint8_t limit : limits) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            classes[lane] = static_cast<std::uint8_t>(classes[lane] + (values[lane] > limit ? weight : 0));
        }
    }
}

/// Mean of the counts left, right, above and below an odd lane; outside of the group the opposite neighbour stands in.
inline unsigned mean_of_neighbours(const std::uint8_t* counts, unsigned lane) noexcept {
    const unsigned x = lane % 8;
    const unsigned y = lane / 8;
    const unsigned left = counts[x > 0 ? lane - 1 : lane + 1];
    const unsigned right = counts[x < 7 ? lane + 1 : lane - 1];
    const unsigned top = counts[y > 0 ? lane - 8 : lane + 8];
    const unsigned bottom = counts[y < 7 ? lane + 8 : lane - 8];
    return (((left + right + 1) >> 1) + ((top + bottom + 1) >> 1) + 1) >> 1;
}

/// The two magnitudes of each pair.
inline void split_pairs(const std::uint8_t* __restrict symbols, std::uint8_t* __restrict first,
                        std::uint8_t* __restrict second) noexcept {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        first[lane] = static_cast<std::uint8_t>(symbols[lane] >> 3);
        second[lane] = static_cast<std::uint8_t>(symbols[lane] & 7);
    }
}

}  // namespace penstock::sluice
