// The tile encoder for NEON, which every 64-bit ARM has.
#if defined(__aarch64__)
#include <arm_neon.h>

#include "codecs/weir_encode_tile.h"

namespace penstock::weir {

namespace {

struct NeonOps : PlainOps {
    PENSTOCK_INLINE Lanes8 average_up(Lanes8 a, Lanes8 b) noexcept {
        return (Lanes8)vrhaddq_u8((uint8x16_t)a, (uint8x16_t)b);
    }
    PENSTOCK_INLINE Lanes16 average_up(Lanes16 a, Lanes16 b) noexcept {
        return (Lanes16)vrhaddq_u16((uint16x8_t)a, (uint16x8_t)b);
    }

    PENSTOCK_INLINE Lanes8 zigzag(Lanes8 v) noexcept { return (v + v) ^ (Lanes8)vshrq_n_s8((int8x16_t)v, 7); }
    PENSTOCK_INLINE Lanes16 zigzag(Lanes16 v) noexcept { return (v + v) ^ (Lanes16)vshrq_n_s16((int16x8_t)v, 15); }

    PENSTOCK_INLINE Numbers sums(Lanes8 v) noexcept {
        return (Numbers)vpaddlq_u32(vpaddlq_u16(vpaddlq_u8((uint8x16_t)v)));
    }
    PENSTOCK_INLINE Numbers sums(Lanes16 v) noexcept { return (Numbers)vpaddlq_u32(vpaddlq_u16((uint16x8_t)v)); }

    PENSTOCK_INLINE Numbers widths(Lanes8 v) noexcept {
        Words any = (Words)v;
        any |= any >> 32;
        any |= any >> 16;
        any |= any >> 8;
        return bit_widths(any & 0xff);
    }
    PENSTOCK_INLINE Numbers widths(Lanes16 v) noexcept {
        Words any = (Words)v | (Words)swap_halves((Numbers)v);
        any |= any >> 32;
        any |= any >> 16;
        return bit_widths(any & 0xffff);
    }

    PENSTOCK_INLINE std::uint64_t at_least(const std::uint8_t* bytes, std::uint32_t bound) noexcept {
        const uint8x16_t low = vdupq_n_u8(static_cast<std::uint8_t>(bound));
        const uint8x16_t bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));  // lane -> its bit in a byte
        const auto found = [&](int part) { return vandq_u8(vcgeq_u8(vld1q_u8(bytes + 16 * part), low), bits); };
        uint8x16_t sums = vpaddq_u8(vpaddq_u8(found(0), found(1)), vpaddq_u8(found(2), found(3)));
        sums = vpaddq_u8(sums, sums);
        return vgetq_lane_u64(vreinterpretq_u64_u8(sums), 0);
    }

    /// By halves, from pairs of bits up: what lies in an upper half moves down to where its lower half's bits end.
    PENSTOCK_INLINE std::uint64_t gather_bits(std::uint64_t bits, std::uint64_t mask) noexcept {
        const uint8x8_t m = vcreate_u8(mask);
        const uint8x8_t bytes = gather_in_bytes(vcreate_u8(bits & mask), m);
        // Shifts sit in the lowest byte of a lane, the only one the instruction looks at.
        const uint16x4_t by_byte = vreinterpret_u16_u8(vcnt_u8(m));
        const uint32x2_t by_pair = vreinterpret_u32_u16(vsra_n_u16(by_byte, by_byte, 8));
        const uint64x1_t by_four = vreinterpret_u64_u32(vsra_n_u32(by_pair, by_pair, 16));
        const uint16x4_t halves = vreinterpret_u16_u8(bytes);
        const uint32x2_t words = vreinterpret_u32_u16(vorr_u16(
            vand_u16(halves, vdup_n_u16(0xff)), vshl_u16(vshr_n_u16(halves, 8), vreinterpret_s16_u16(by_byte))));
        const uint64x1_t all = vreinterpret_u64_u32(vorr_u32(
            vand_u32(words, vdup_n_u32(0xffff)), vshl_u32(vshr_n_u32(words, 16), vreinterpret_s32_u32(by_pair))));
        const uint64x1_t upper = vshl_u64(vshr_n_u64(all, 32), vreinterpret_s64_u64(by_four));
        return vget_lane_u64(vorr_u64(vand_u64(all, vdup_n_u64(0xffffffff)), upper), 0);
    }

  private:
    PENSTOCK_INLINE uint8x8_t gather_in_bytes(uint8x8_t x, uint8x8_t m) noexcept {
        const uint8x8_t lower = vand_u8(m, vdup_n_u8(0x55));
        x = vbsl_u8(vmul_u8(lower, vdup_n_u8(3)), x, vand_u8(vshr_n_u8(x, 1), vdup_n_u8(0x55)));
        const uint8x8_t fours = vdup_n_u8(0x11);
        const uint8x8_t first = vmul_u8(vand_u8(m, fours), vdup_n_u8(15));
        const uint8x8_t second = vmul_u8(vand_u8(vshr_n_u8(m, 1), fours), vdup_n_u8(15));
        uint8x8_t upper = vand_u8(x, vdup_n_u8(0xcc));
        upper = vbsl_u8(first, upper, vshr_n_u8(upper, 1));
        upper = vbsl_u8(second, upper, vshr_n_u8(upper, 1));
        x = vorr_u8(vand_u8(x, vdup_n_u8(0x33)), upper);
        const int8x8_t by_four = vreinterpret_s8_u8(vcnt_u8(vand_u8(m, vdup_n_u8(15))));
        return vorr_u8(vand_u8(x, vdup_n_u8(15)), vshl_u8(vshr_n_u8(x, 4), by_four));
    }
    PENSTOCK_INLINE Numbers bit_widths(Words v) noexcept { return 32 - (Numbers)vclzq_u32((uint32x4_t)v); }
};

}  // namespace

std::size_t encode_tile_neon(const EncodeJob& job, std::uint8_t* out) noexcept {
    return encode_tile_with<NeonOps>(job, out);
}

}  // namespace penstock::weir
#endif
