// The unary streams of the profile dense: quotients of a plane's group, read level by level and counted in binary.
// Scalar code over masks of 64 lanes, the same for all vector paths; included by weir_decode_simd.h.
//
// M(n) is the mask of lanes whose quotient is at least n. M(1) comes from the payload, each further one from as many
// bits of the stream as the one before has ones. M(n) lies inside M(n - 1), so bit k of all quotients is the XOR of
// every 2^k-th mask: counting takes no adder and no vector.
#pragma once

#include "codecs/weir_decode_bits.h"

namespace penstock::weir {
namespace {

constexpr std::uint32_t kDigits = 4;  // of a quotient, in binary

struct Quotients {
    std::uint64_t digits[kDigits][kGroupRows];  ///< bit j: digit of lane j
};

/// The lanes of M(3), side by side in one word, and the levels that follow. Few lanes live that long, so that the bits
/// of several levels fit into a window of one word: a level takes four cycles.
struct NarrowLevels {
    std::uint64_t lanes;     ///< those in M(level)
    std::uint64_t window;    ///< the stream from `position` + `used` on
    std::uint64_t position;  ///< in bits
    std::uint32_t used;
    std::uint64_t digits[kDigits];  ///< of the levels from 4 on

    PENSTOCK_INLINE void refill(const std::uint8_t* stream) {
        position += used;
        used = 0;
        window = bits_at(stream, position);
    }
    template <std::uint32_t Level>
    PENSTOCK_INLINE void count() {
        for (std::uint32_t k = 0; k < kDigits; ++k) {
            if (Level % (1U << k) == 0) digits[k] ^= lanes;
        }
    }
    template <std::uint32_t Level>
    PENSTOCK_INLINE void read(const std::uint8_t* stream) {
        const unsigned bits = count_ones(lanes);
        if (__builtin_expect(used + bits > 64, 0)) refill(stream);
        lanes = deposit(window, lanes);
        window >>= bits & 63;  // 64 leave nothing: the next level that has lanes refills
        used += bits;
        count<Level>();
    }
    template <std::uint32_t Level>
    PENSTOCK_INLINE void read_three(const std::uint8_t* stream) {
        read<Level>(stream);
        read<Level + 1>(stream);
        read<Level + 2>(stream);
    }
};

/// The next mask of each row, from as many bits of the stream as the one before has ones; gives the new position.
PENSTOCK_INLINE std::uint64_t read_wide_level(const std::uint64_t (&alive)[kGroupRows],
                                              std::uint64_t (&next)[kGroupRows], const std::uint8_t* stream,
                                              std::uint64_t position) {
    std::uint64_t bits[kGroupRows];
    for (std::uint32_t r = 0; r < kGroupRows; ++r) {
        const unsigned count = count_ones(alive[r]);
        bits[r] = next_bits(stream, position, count);
        position += count;
    }
    deposit_each(bits, alive, next);
    return position;
}

/// One group of a plane on its way from M(1) to quotients, in three steps. Planes do not depend on each other: a caller
/// that takes each step for all planes lets the processor run them at the same time.
struct UnaryGroup {
    Quotients quotients;               ///< of levels 1 to 3
    std::uint64_t alive[kGroupRows];   ///< M(3)
    std::uint32_t begins[kGroupRows];  ///< lanes of M(3) in the rows above
    NarrowLevels narrow;
    const std::uint8_t* stream;
};

/// The levels from 4 on where M(3) has more than 64 lanes. Noise of an unlucky width: rare, so kept out of the way.
[[gnu::noinline]] inline std::uint64_t read_wide_levels(UnaryGroup& group, std::uint64_t position) {
    for (std::uint32_t level = 4; level <= kMaxQuotient; ++level) {
        position = read_wide_level(group.alive, group.alive, group.stream, position);
        for (std::uint32_t k = 0; k < kDigits; ++k) {
            for (std::uint32_t r = 0; level % (1U << k) == 0 && r < kGroupRows; ++r) {
                group.quotients.digits[k][r] ^= group.alive[r];
            }
        }
    }
    return position;
}

/// Levels up to 7, from M(1) on. Says whether there may be more. Until the group is read, that is at most 14 x 32 bytes
/// of the stream, and 9 more where it ends.
PENSTOCK_INLINE bool start_quotients(UnaryGroup& group, const std::uint64_t (&first)[kGroupRows],
                                     const std::uint8_t* stream, std::uint64_t position) {
    std::uint64_t second[kGroupRows];
    std::uint64_t third[kGroupRows];
    position = read_wide_level(first, second, stream, position);
    position = read_wide_level(second, third, stream, position);
    std::uint32_t count = 0;
    for (std::uint32_t r = 0; r < kGroupRows; ++r) {
        group.alive[r] = third[r];
        group.begins[r] = count;
        group.quotients.digits[0][r] = first[r] ^ second[r] ^ third[r];
        group.quotients.digits[1][r] = second[r];
        group.quotients.digits[2][r] = group.quotients.digits[3][r] = 0;
        count += count_ones(third[r]);
    }
    group.stream = stream;
    if (__builtin_expect(count > 64, 0)) {
        position = read_wide_levels(group, position);
        count = 0;
    }
    NarrowLevels narrow;
    narrow.lanes = lowest_bits(bits_at(stream, position), count);
    narrow.position = position + count;
    narrow.used = 0;
    narrow.refill(stream);
    for (std::uint64_t& digit : narrow.digits) digit = 0;
    narrow.count<4>();
    narrow.read_three<5>(stream);
    group.narrow = narrow;
    return narrow.lanes != 0;
}

/// Reads levels from 8 on, if there are any.
PENSTOCK_INLINE void read_long_quotients(UnaryGroup& group) {
    NarrowLevels narrow = group.narrow;
    narrow.read<8>(group.stream);
    narrow.read_three<9>(group.stream);
    if (narrow.lanes != 0) {
        narrow.read<12>(group.stream);
        narrow.read_three<13>(group.stream);
    }
    group.narrow = narrow;
}

/// The quotients; `position` goes behind the group.
PENSTOCK_INLINE Quotients finish_quotients(const UnaryGroup& group, std::uint64_t& position) {
    Quotients result;
    for (std::uint32_t k = 0; k < kDigits; ++k) {
        std::uint64_t late[kGroupRows];
        for (std::uint32_t r = 0; r < kGroupRows; ++r) late[r] = group.narrow.digits[k] >> (group.begins[r] & 63);
        deposit_each(late, group.alive, late);
        for (std::uint32_t r = 0; r < kGroupRows; ++r) result.digits[k][r] = group.quotients.digits[k][r] ^ late[r];
    }
    position = group.narrow.position + group.narrow.used;
    return result;
}

}  // namespace
}  // namespace penstock::weir
