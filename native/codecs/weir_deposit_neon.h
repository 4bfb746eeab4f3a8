// The vocabulary of masks and bits in NEON, which has no instruction to deposit bits; included by weir_decode_bits.h
// only.
//
// Bits are dealt out by halves: of 64 bits, the lower 32 places take the first ones, as many as the mask has there, the
// upper 32 places the ones behind them; then each half deals to its halves, down to single bits. What lies above the
// bits that a half owns is never cleared on the way: the mask does so in the end. Down to bytes that is a shift by lane
// and an interleaving for each step; below, shifts are choices between bits.
#pragma once

#include <arm_neon.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace penstock::weir {
namespace {

PENSTOCK_INLINE unsigned count_ones(std::uint64_t mask) { return static_cast<unsigned>(std::popcount(mask)); }

/// The lowest `count` bits, 0 to 64.
PENSTOCK_INLINE std::uint64_t lowest_bits(std::uint64_t bits, unsigned count) {
    return count >= 64 ? bits : bits & ((std::uint64_t{1} << count) - 1);
}

/// Steps 64 -> 32 -> 16 -> 8 for two words: places of a half are shifted to where the half begins. Shifts are negative
/// and sit in the lowest byte of a lane, the only one the instruction looks at.
PENSTOCK_INLINE uint8x16_t deal_to_bytes(uint64x2_t bits, int8x16_t by_byte, int8x16_t by_pair, int8x16_t by_four) {
    const uint32x4_t words = vreinterpretq_u32_u64(bits);
    const uint32x4_t upper_words = vreinterpretq_u32_u64(vshlq_u64(bits, vreinterpretq_s64_s8(by_four)));
    const uint32x4_t dealt_words = vtrn1q_u32(words, upper_words);
    const uint16x8_t halves = vreinterpretq_u16_u32(dealt_words);
    const uint16x8_t upper_halves = vreinterpretq_u16_u32(vshlq_u32(dealt_words, vreinterpretq_s32_s8(by_pair)));
    const uint16x8_t dealt_halves = vtrn1q_u16(halves, upper_halves);
    const uint8x16_t upper_bytes = vreinterpretq_u8_u16(vshlq_u16(dealt_halves, vreinterpretq_s16_s8(by_byte)));
    return vtrn1q_u8(vreinterpretq_u8_u16(dealt_halves), upper_bytes);
}

/// Steps 8 -> 4 -> 2 -> 1: `m` has the mask of each byte, `x` its bits.
PENSTOCK_INLINE uint8x16_t deal_to_bits(uint8x16_t x, uint8x16_t m) {
    const int8x16_t minus_ones{0, -1, -1, -2, -1, -2, -2, -3, -1, -2, -2, -3, -2, -3, -3, -4};  // of four bits
    x = vsliq_n_u8(x, vshlq_u8(x, vqtbl1q_s8(minus_ones, vandq_u8(m, vdupq_n_u8(15)))), 4);
    // The upper pair of four bits begins 2 below its places, and 1 higher for each place of the lower pair.
    const uint8x16_t fours = vdupq_n_u8(0x11);
    const uint8x16_t first = vmulq_u8(vandq_u8(m, fours), vdupq_n_u8(15));
    const uint8x16_t second = vmulq_u8(vandq_u8(vshrq_n_u8(m, 1), fours), vdupq_n_u8(15));
    uint8x16_t upper = vbslq_u8(first, x, vaddq_u8(x, x));
    upper = vbslq_u8(second, upper, vaddq_u8(upper, upper));
    x = vbslq_u8(vdupq_n_u8(0x33), x, upper);
    // The upper bit of two is the second one if the lower place is taken, else the first.
    x = vbslq_u8(vorrq_u8(vaddq_u8(m, m), vdupq_n_u8(0x55)), x, vaddq_u8(x, x));
    return vandq_u8(x, m);
}

PENSTOCK_INLINE uint64x2_t deposit_two(uint64x2_t bits, uint64x2_t masks) {
    const uint8x16_t m = vreinterpretq_u8_u64(masks);
    const int8x16_t by_byte = vnegq_s8(vreinterpretq_s8_u8(vcntq_u8(m)));
    const uint16x8_t bytes = vreinterpretq_u16_s8(by_byte);
    const uint16x8_t pairs = vsraq_n_u16(bytes, bytes, 8);
    const uint32x4_t pair_words = vreinterpretq_u32_u16(pairs);
    const uint32x4_t fours = vsraq_n_u32(pair_words, pair_words, 16);
    const uint8x16_t dealt = deal_to_bytes(bits, by_byte, vreinterpretq_s8_u16(pairs), vreinterpretq_s8_u32(fours));
    return vreinterpretq_u64_u8(deal_to_bits(dealt, m));
}

/// The lowest bits of `bits`, in order, at the places where `mask` is set.
PENSTOCK_INLINE std::uint64_t deposit(std::uint64_t bits, std::uint64_t mask) {
    return vgetq_lane_u64(deposit_two(vdupq_n_u64(bits), vdupq_n_u64(mask)), 0);
}

/// The same for several masks, two at a time. `out` may be `masks`.
template <std::size_t Count>
PENSTOCK_INLINE void deposit_each(const std::uint64_t (&bits)[Count], const std::uint64_t (&masks)[Count],
                                  std::uint64_t (&out)[Count]) {
    for (std::size_t i = 0; i + 1 < Count; i += 2) {
        const uint64x2_t two = deposit_two(uint64x2_t{bits[i], bits[i + 1]}, uint64x2_t{masks[i], masks[i + 1]});
        out[i] = vgetq_lane_u64(two, 0);
        out[i + 1] = vgetq_lane_u64(two, 1);
    }
    if constexpr (Count % 2 != 0) out[Count - 1] = deposit(bits[Count - 1], masks[Count - 1]);
}

/// The lowest bytes of `bytes`, in order, at the bytes where `ones` is 1 and not 0: a byte looks up how many ones are
/// before it, or nothing.
PENSTOCK_INLINE std::uint64_t deposit_bytes(std::uint64_t bytes, std::uint64_t ones) {
    const uint8x8_t before = vcreate_u8((ones * kOnes << 8) | ~(ones * 255));
    return vget_lane_u64(vreinterpret_u64_u8(vtbl1_u8(vcreate_u8(bytes), before)), 0);
}

/// Four fields of `width` bits, 0 to 16, become four lanes of two bytes.
PENSTOCK_INLINE std::uint64_t spread_fields(std::uint64_t bits, std::uint32_t width) {
    const auto back = -static_cast<std::int32_t>(width);
    const uint64x1_t all = vcreate_u64(bits);
    const uint32x2_t words =
        vtrn1_u32(vreinterpret_u32_u64(all), vreinterpret_u32_u64(vshl_u64(all, vdup_n_s64(2 * back))));
    const uint16x4_t upper = vreinterpret_u16_u32(vshl_u32(words, vdup_n_s32(back)));
    const uint16x4_t lanes = vtrn1_u16(vreinterpret_u16_u32(words), upper);
    const uint16x4_t mask = vdup_n_u16(static_cast<std::uint16_t>((1U << width) - 1));
    return vget_lane_u64(vreinterpret_u64_u16(vand_u16(lanes, mask)), 0);
}

}  // namespace
}  // namespace penstock::weir
