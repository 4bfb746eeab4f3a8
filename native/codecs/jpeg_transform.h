// Numbers of the inverse transforms, for every path: jidctint's factorisation of the 8-point transform (Loeffler,
// Ligtenberg and Moschytz) and the shorter ones for 4 and 2 samples, in fixed point with 13 bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::jpeg {

inline constexpr int kConstantBits = 13;
inline constexpr int kFirstPassBits = 2;  // of the fraction that the first pass keeps

/// cos and sin of multiples of pi / 16 and their sums, times 2^13, rounded. Products with 16-bit values are exact.
namespace fixed {
inline constexpr int k0_298 = 2446;
inline constexpr int k0_390 = 3196;
inline constexpr int k0_541 = 4433;
inline constexpr int k0_765 = 6270;
inline constexpr int k0_899 = 7373;
inline constexpr int k1_175 = 9633;
inline constexpr int k1_501 = 12299;
inline constexpr int k1_847 = 15137;
inline constexpr int k1_961 = 16069;
inline constexpr int k2_053 = 16819;
inline constexpr int k2_562 = 20995;
inline constexpr int k3_072 = 25172;
// Four samples.
inline constexpr int k0_211 = 1730;
inline constexpr int k0_509 = 4176;
inline constexpr int k0_601 = 4926;
inline constexpr int k1_061 = 8697;
inline constexpr int k1_451 = 11893;
inline constexpr int k2_172 = 17799;
// Two samples.
inline constexpr int k0_720 = 5906;
inline constexpr int k0_850 = 6967;
inline constexpr int k1_272 = 10426;
inline constexpr int k3_624 = 29692;
}  // namespace fixed

/// Right shifts at the end of a pass, for blocks of 8, 4 and 2 samples: the constants' bits, what the first pass keeps,
/// and in the second the 3 bits by which the transform is too large.
inline constexpr int kFirstShift = kConstantBits - kFirstPassBits;
inline constexpr int kSecondShift = kConstantBits + kFirstPassBits + 3;

/// From 8 * row + column to the zigzag position.
inline constexpr std::array<std::uint8_t, 64> kZigzagOf = [] {
    std::array<std::uint8_t, 64> position{};
    std::uint8_t next = 0;
    for (int diagonal = 0; diagonal < 15; ++diagonal) {
        for (int i = 0; i <= diagonal; ++i) {
            const int x = diagonal % 2 == 0 ? i : diagonal - i;
            const int y = diagonal - x;
            if (x < 8 && y < 8) position[static_cast<std::size_t>(8 * y + x)] = next++;
        }
    }
    return position;
}();
static_assert(kZigzagOf[1] == 1 && kZigzagOf[8] == 2 && kZigzagOf[16] == 3 && kZigzagOf[62] == 62);

}  // namespace penstock::jpeg
