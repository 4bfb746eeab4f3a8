// The ways `crc32c` goes; all take and give the inverted register, as the instruction does.
#pragma once

#include <cstdint>

#include "base/image.h"

namespace penstock {

[[nodiscard]] std::uint32_t crc32c_plain(ByteView data, std::uint32_t state) noexcept;
[[nodiscard]] std::uint32_t crc32c_avx2(ByteView data, std::uint32_t state) noexcept;
[[nodiscard]] std::uint32_t crc32c_avx512(ByteView data, std::uint32_t state) noexcept;
[[nodiscard]] std::uint32_t crc32c_neon(ByteView data, std::uint32_t state) noexcept;

/// The two factors that carry 128 bits of a message over `distance` bits of what follows, without changing the CRC:
/// x^(distance + 32) for the first half and x^(distance - 32) for the second, modulo the polynomial, reflected, shifted
/// by one because a carry-less product of reflected numbers comes out one place too low.
struct FoldFactors {
    std::uint64_t first;
    std::uint64_t second;
};

constexpr FoldFactors fold_factors(std::uint32_t distance) noexcept {
    const auto power = [](std::uint32_t exponent) {
        std::uint32_t remainder = 0x80000000;  // x^0, reflected
        for (std::uint32_t i = 0; i < exponent; ++i) {
            remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? 0x82F63B78 : 0);
        }
        return std::uint64_t{remainder} << 1;
    };
    return {power(distance + 32), power(distance - 32)};
}

}  // namespace penstock
