// The model of spec/sluice.md as constants: tokens, classes, neighbours, and where each context stands in a table set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::sluice {

inline constexpr unsigned kSlotBits = 10;
inline constexpr std::uint32_t kNumSlots = 1U << kSlotBits;
inline constexpr std::uint32_t kLowestState = 65536;
inline constexpr std::size_t kNumStates = 64;
inline constexpr std::size_t kLanes = 64;
inline constexpr unsigned kPositions = 64;
inline constexpr std::size_t kMaxGroups = 40;  // of a tile

inline constexpr unsigned kNumTokens = 25;
inline constexpr unsigned kNumSymbols = 64;  // of pairs and counts
inline constexpr unsigned kLastDirectToken = 14;
inline constexpr unsigned kTokenBase = 11;        // magnitude of a token above 14: kTokenBase + 2^b + extra
inline constexpr unsigned kTokenBitsOffset = 13;  // b = token - kTokenBitsOffset
inline constexpr unsigned kMaxMagnitude = 4106;
inline constexpr unsigned kEscape = 7;          // of a pair: 6 + g
inline constexpr unsigned kMaxEscapeBits = 12;  // of the highest bit of g
inline constexpr unsigned kPayloadBits = 16;    // deferred signs in a state

/// Lanes 8y + x with x + y even.
inline constexpr std::uint64_t kEvenLanes = 0xAA55AA55AA55AA55ULL;

inline constexpr std::array<std::uint8_t, 64> kZigzag{0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                                      12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                                      35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                                      58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/// Earlier positions whose magnitudes make a context: 2(a + b) + c + d + e.
struct Neighbours {
    std::uint8_t a, b, c, d, e;
};

/// The row of magnitudes that is always zero.
inline constexpr std::uint8_t kZeroRow = 64;

inline constexpr std::array<Neighbours, 64> kNeighbours = [] {
    std::array<std::uint8_t, 64> position{};  // by 8 * row + column
    for (unsigned k = 0; k < 64; ++k) position[kZigzag[k]] = static_cast<std::uint8_t>(k);
    std::array<Neighbours, 64> all{};
    for (unsigned k = 0; k < 64; ++k) {
        const int v = kZigzag[k] / 8;
        const int u = kZigzag[k] % 8;
        const auto at = [&](int row, int column) -> std::uint8_t {
            if (row < 0 || column < 0) return kZeroRow;
            const std::uint8_t found = position[static_cast<unsigned>(8 * row + column)];
            return found < k ? found : kZeroRow;
        };
        if (k == 0) {
            all[k] = {kZeroRow, kZeroRow, kZeroRow, kZeroRow, kZeroRow};
        } else if (v == 0) {
            all[k] = {at(0, u - 1), at(0, u - 2), at(0, u - 1), at(1, u - 1), at(1, u - 1)};
        } else if (u == 0) {
            all[k] = {at(v - 1, 0), at(v - 2, 0), at(v - 1, 0), at(v - 1, 1), at(v - 1, 1)};
        } else {
            all[k] = {at(v, u - 1), at(v - 1, u), at(v - 1, u - 1), at(v, u - 2), at(v - 2, u)};
        }
    }
    return all;
}();

namespace detail {

// Class of each value: the number of limits below it.
constexpr std::array<std::uint8_t, 64> classes(const std::array<std::uint8_t, 7>& limits) {
    std::array<std::uint8_t, 64> found{};
    for (int value = 0; value < 64; ++value) {
        for (const std::uint8_t limit : limits) {
            if (value > limit) ++found[static_cast<unsigned>(value)];
        }
    }
    return found;
}

}  // namespace detail

/// The last value of each class but the highest.
inline constexpr std::array<std::uint8_t, 7> kDcLimits{0, 1, 2, 4, 6, 12, 15};
inline constexpr std::array<std::uint8_t, 7> kCountLimits{1, 3, 6, 10, 15, 23, 31};
inline constexpr std::array<std::uint8_t, 7> kMagnitudeLimits{0, 2, 4, 7, 12, 23, 39};

alignas(64) inline constexpr std::array<std::uint8_t, 64> kDcClass = detail::classes(kDcLimits);
alignas(64) inline constexpr std::array<std::uint8_t, 64> kCountClass = detail::classes(kCountLimits);
/// Classes of sums of magnitudes; larger sums count as 63.
alignas(64) inline constexpr std::array<std::uint8_t, 64> kMagnitudeClass = detail::classes(kMagnitudeLimits);

// Contexts of a class, in the order of the context map ------------------------------------------------------------

inline constexpr unsigned kDcContext = 0;
inline constexpr unsigned kEvenContexts = 1;
inline constexpr unsigned kOddContexts = 9;
inline constexpr unsigned kPositionContexts = 73;

/// Steps that positions 1 to 63 take if pairs begin at `first_pair`.
constexpr unsigned num_position_steps(unsigned first_pair) { return first_pair - 1 + (kPositions - first_pair) / 2; }

/// Contexts of one class.
constexpr unsigned num_contexts(unsigned first_pair) { return kPositionContexts + 64 * num_position_steps(first_pair); }

/// The first of the 64 contexts of position k (or of the pair that begins there).
constexpr unsigned position_contexts(unsigned k, unsigned first_pair) {
    const unsigned step = k < first_pair ? k - 1 : first_pair - 1 + (k - first_pair) / 2;
    return kPositionContexts + 64 * step;
}

/// The token of a magnitude up to kMaxMagnitude.
constexpr unsigned token_of(unsigned magnitude) {
    if (magnitude <= kLastDirectToken) return magnitude;
    unsigned bits = 2;
    while (magnitude - kTokenBase >= 2U << bits) ++bits;
    return bits + kTokenBitsOffset;
}

}  // namespace penstock::sluice
