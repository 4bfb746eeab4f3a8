// The vocabulary of jpeg_back_simd.h in NEON, which every 64-bit ARM has: 8 blocks at a time. Products of words are 32
// bits wide here, so that pairs need no interleaving: they are two registers.
#if defined(__aarch64__)

#include <arm_neon.h>

#include "codecs/jpeg_back_simd.h"

namespace penstock::jpeg {

namespace {

struct Neon {
    using Words = int16x8_t;
    using Longs = int32x4_t;
    struct Pairs {
        int16x4_t first;
        int16x4_t second;
    };
    using Bytes = uint8x16_t;
    static constexpr std::size_t kLanes = 8;
    static constexpr std::size_t kPixels = 16;

    static PENSTOCK_INLINE Words fill(std::int16_t value) { return vdupq_n_s16(value); }
    static PENSTOCK_INLINE Longs fill_longs(int value) { return vdupq_n_s32(value); }
    static PENSTOCK_INLINE Words load(const std::int16_t* words) { return vld1q_s16(words); }
    static PENSTOCK_INLINE Words load_unaligned(const std::int16_t* words) { return vld1q_s16(words); }
    static PENSTOCK_INLINE Words load_narrow(const std::int8_t* bytes) { return vmovl_s8(vld1_s8(bytes)); }
    static PENSTOCK_INLINE Words load_widened(const std::uint8_t* bytes) {
        return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(bytes)));
    }
    static PENSTOCK_INLINE void store(std::uint16_t* target, Words words) {
        vst1q_u16(target, vreinterpretq_u16_s16(words));
    }

    static PENSTOCK_INLINE Words add(Words a, Words b) { return vaddq_s16(a, b); }
    static PENSTOCK_INLINE Words subtract(Words a, Words b) { return vsubq_s16(a, b); }
    static PENSTOCK_INLINE Words add_saturated(Words a, Words b) { return vqaddq_s16(a, b); }
    static PENSTOCK_INLINE Words multiply_words(Words a, Words b) { return vmulq_s16(a, b); }
    static PENSTOCK_INLINE Words exclusive_or(Words a, Words b) { return veorq_s16(a, b); }
    static PENSTOCK_INLINE Words either(Words a, Words b) { return vorrq_s16(a, b); }
    static PENSTOCK_INLINE bool is_any(Words a) { return vmaxvq_u16(vreinterpretq_u16_s16(a)) != 0; }
    template <int kCount>
    static PENSTOCK_INLINE Words shift_words_left(Words a) {
        return vshlq_n_s16(a, kCount);
    }
    template <int kCount>
    static PENSTOCK_INLINE Words shift_words_right(Words a) {
        return vshrq_n_s16(a, kCount);
    }

    static PENSTOCK_INLINE Pairs pair_low(Words a, Words b) { return {vget_low_s16(a), vget_low_s16(b)}; }
    static PENSTOCK_INLINE Pairs pair_high(Words a, Words b) { return {vget_high_s16(a), vget_high_s16(b)}; }
    template <int kCount>
    static PENSTOCK_INLINE Words narrow(Longs low, Longs high) {
        // Of more than 16 bits nothing saturates: the upper words are all there is.
        if constexpr (kCount > 16) return vshrq_n_s16(high_words(low, high), kCount - 16);
        return vqshrn_high_n_s32(vqshrn_n_s32(low, kCount > 16 ? 16 : kCount), high, kCount > 16 ? 16 : kCount);
    }
    static PENSTOCK_INLINE Longs multiply(Pairs pairs, int first, int second) {
        return vmlal_n_s16(vmull_n_s16(pairs.first, static_cast<std::int16_t>(first)), pairs.second,
                           static_cast<std::int16_t>(second));
    }
    static PENSTOCK_INLINE Longs multiply_add(Longs sum, Pairs pairs, int first, int second) {
        if (first != 0) sum = vmlal_n_s16(sum, pairs.first, static_cast<std::int16_t>(first));
        if (second != 0) sum = vmlal_n_s16(sum, pairs.second, static_cast<std::int16_t>(second));
        return sum;
    }
    static PENSTOCK_INLINE void both(Longs sum, Pairs pairs, int first, int second, Longs& plus, Longs& minus) {
        const Longs product = multiply(pairs, first, second);
        minus = vsubq_s32(sum, product);
        plus = vaddq_s32(sum, product);
    }
    static PENSTOCK_INLINE Longs add_longs(Longs a, Longs b) { return vaddq_s32(a, b); }
    static PENSTOCK_INLINE Longs subtract_longs(Longs a, Longs b) { return vsubq_s32(a, b); }
    static PENSTOCK_INLINE Words high_words(Longs low, Longs high) {
        return vshrn_high_n_s32(vshrn_n_s32(low, 16), high, 16);
    }

    /// Signed samples around zero as bytes around 128.
    static PENSTOCK_INLINE uint8x8_t to_samples(Words words) {
        return veor_u8(vreinterpret_u8_s8(vqmovn_s16(words)), vdup_n_u8(128));
    }
    static PENSTOCK_INLINE void store_bytes(Words words, std::uint8_t* target) { vst1_u8(target, to_samples(words)); }

    static PENSTOCK_INLINE void transpose_quads(Words (&rows)[2]) {
        const int64x2_t first = vreinterpretq_s64_s16(rows[0]);
        const int64x2_t second = vreinterpretq_s64_s16(rows[1]);
        rows[0] = vreinterpretq_s16_s64(vzip1q_s64(first, second));
        rows[1] = vreinterpretq_s16_s64(vzip2q_s64(first, second));
    }

    static PENSTOCK_INLINE void store_rows(const Words (&upper)[8], const Words (&lower)[8], std::uint8_t* const* runs,
                                           std::size_t stride, std::size_t row) {
        Bytes c[8];  // eight blocks of one column, the upper row, then the lower
        for (int x = 0; x < 8; ++x) c[x] = vcombine_u8(to_samples(upper[x]), to_samples(lower[x]));
        for (std::size_t i = 0; i < 2; ++i) {
            Bytes fours[4];
            for (int x = 0; x < 4; ++x) fours[x] = i == 0 ? vzip1q_u8(c[x], c[x + 4]) : vzip2q_u8(c[x], c[x + 4]);
            const Bytes even[2] = {vzip1q_u8(fours[0], fours[2]), vzip2q_u8(fours[0], fours[2])};
            const Bytes odd[2] = {vzip1q_u8(fours[1], fours[3]), vzip2q_u8(fours[1], fours[3])};
            std::uint8_t* target = runs[0] + (row + i) * stride;
            for (std::size_t two = 0; two < 2; ++two) {
                vst1q_u8(target + 32 * two, vzip1q_u8(even[two], odd[two]));
                vst1q_u8(target + 32 * two + 16, vzip2q_u8(even[two], odd[two]));
            }
        }
    }

    static PENSTOCK_INLINE Bytes load_bytes(const std::uint8_t* bytes) { return vld1q_u8(bytes); }
    static PENSTOCK_INLINE Words words_low(Bytes bytes) { return vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes))); }
    static PENSTOCK_INLINE Words words_high(Bytes bytes) { return vreinterpretq_s16_u16(vmovl_high_u8(bytes)); }
    static PENSTOCK_INLINE Words doubled(uint8x8_t bytes) {
        return vshlq_n_s16(vreinterpretq_s16_u16(vsubl_u8(bytes, vdup_n_u8(128))), 1);
    }
    static PENSTOCK_INLINE Words doubled_low(Bytes bytes) { return doubled(vget_low_u8(bytes)); }
    static PENSTOCK_INLINE Words doubled_high(Bytes bytes) { return doubled(vget_high_u8(bytes)); }
    static PENSTOCK_INLINE Words red_of(Words words) { return vqrdmulhq_n_s16(words, kRedFactor); }
    static PENSTOCK_INLINE Words blue_of(Words words) { return vqrdmulhq_n_s16(words, kBlueFactor); }
    static PENSTOCK_INLINE Bytes bytes_of(Words low, Words high) { return vqmovun_high_s16(vqmovun_s16(low), high); }

    static PENSTOCK_INLINE void store_pixels(const Bytes (&channels)[3], std::uint8_t* out) {
        vst3q_u8(out, uint8x16x3_t{{channels[0], channels[1], channels[2]}});
    }
    static PENSTOCK_INLINE void store_some_pixels(const Bytes (&channels)[3], std::uint8_t* out, std::size_t count) {
        alignas(16) std::uint8_t pixels[3 * kPixels];
        store_pixels(channels, pixels);
        std::memcpy(out, pixels, 3 * count);
    }

    static PENSTOCK_INLINE void store_low_bytes(std::uint8_t* target, Words words) {
        vst1_u8(target, vmovn_u16(vreinterpretq_u16_s16(words)));
    }
    static PENSTOCK_INLINE void store_alternating(std::uint8_t* target, Words even, Words odd) {
        vst1q_u8(target, vreinterpretq_u8_s16(vorrq_s16(even, vshlq_n_s16(odd, 8))));
    }
};

}  // namespace

const BackKernels kBackNeon = kernels_of<Neon>();

}  // namespace penstock::jpeg

#endif
