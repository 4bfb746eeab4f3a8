// The back half of JPEG decoding on vectors, written once for every instruction set. Included by the files named
// `jpeg_back_<path>.cpp` and by nothing else; each brings a vocabulary `V`:
//
//   V::Words, V::kLanes           a vector of 16-bit lanes, one block (or sample) each: 8, 16 or 32
//   V::Longs                      as many bits of 32-bit sums
//   V::Pairs                      two vectors of words, half of the lanes: what a product of pairs takes
//   V::pair_low/high(a, b)        the pairs of either half of the lanes; `V::narrow<n>(low, high)` shifts halves right
//                                 (arithmetic) and puts them together again, saturating to words
//   V::multiply(p, f, g)          f * first + g * second, 32 bits; V::multiply_add(sum, p, f, g)
//   V::both(sum, p, f, g, plus, minus)  sum + product and sum - product
//   V::store_rows(upper, lower, runs, stride, row)   samples of 8 columns, rows `row` and `row + 1`
//   V::store_bytes(words, bytes)  kLanes samples, as they are
//   V::transpose_quads(rows)      kLanes / 4 registers of as many 64-bit parts, transposed
//   V::Bytes and what `spread` and the rows below it use
//
// Everything has internal linkage: the same template compiled for two instruction sets must not meet in the linker
// (docs/decisions/0001).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codecs/jpeg_back_kernels.h"
#include "codecs/jpeg_transform.h"

#define PENSTOCK_INLINE inline __attribute__((always_inline))

namespace penstock::jpeg {

namespace {

constexpr int kDc = 1 << kConstantBits;

// ---------------------------------------------------------------------------------------------------------------------
// Inverse DCT. A lane is a block, so that rows and columns are transformed alike and nothing is transposed before the
// samples are stored. Sums are in another order than jidctint's and give the same 32 bits.

/// Half of the lanes of an 8-point transform whose inputs from `kInputs` on are zero.
template <typename V, int kShift, int kInputs, typename Pair>
PENSTOCK_INLINE void half_transform_8(const typename V::Words (&in)[8], Pair&& pair, typename V::Longs (&out)[8]) {
    using namespace fixed;
    using Longs = typename V::Longs;
    const Longs rounding = V::fill_longs(1 << (kShift - 1));
    Longs even[4];
    if constexpr (kInputs > 4) {
        const auto p04 = pair(V::add(in[0], in[4]), V::subtract(in[0], in[4]));
        even[0] = even[3] = V::multiply_add(rounding, p04, kDc, 0);
        even[1] = even[2] = V::multiply_add(rounding, p04, 0, kDc);
    } else {
        even[0] = even[1] = even[2] = even[3] = V::multiply_add(rounding, pair(in[0], in[0]), kDc, 0);
    }
    if constexpr (kInputs > 2) {
        const auto p26 = pair(in[2], in[6]);
        V::both(even[0], p26, k0_541 + k0_765, k0_541, even[0], even[3]);
        V::both(even[1], p26, k0_541, k0_541 - k1_847, even[1], even[2]);
    }
    const auto z = pair(kInputs > 7 ? V::add(in[3], in[7]) : in[3], kInputs > 5 ? V::add(in[1], in[5]) : in[1]);
    const Longs from_z3 = V::multiply(z, k1_175 - k1_961, k1_175);
    const Longs from_z4 = V::multiply(z, k1_175, k1_175 - k0_390);
    const auto p17 = pair(in[1], in[7]);
    const auto p35 = pair(in[3], in[5]);
    const Longs odd[4] = {V::multiply_add(from_z4, p17, k1_501 - k0_899, -k0_899),
                          V::multiply_add(from_z3, p35, k3_072 - k2_562, -k2_562),
                          V::multiply_add(from_z4, p35, -k2_562, k2_053 - k2_562),
                          V::multiply_add(from_z3, p17, -k0_899, k0_298 - k0_899)};
    for (int i = 0; i < 4; ++i) {
        out[i] = V::add_longs(even[i], odd[i]);
        out[7 - i] = V::subtract_longs(even[i], odd[i]);
    }
}

template <typename V, int kShift, typename Pair>
PENSTOCK_INLINE void half_transform_4(const typename V::Words (&in)[8], Pair&& pair, typename V::Longs (&out)[8]) {
    using namespace fixed;
    using Longs = typename V::Longs;
    const Longs dc = V::multiply_add(V::fill_longs(1 << kShift), pair(in[0], in[0]), 2 * kDc, 0);
    Longs outer_even;
    Longs inner_even;
    V::both(dc, pair(in[2], in[6]), k1_847, -k0_765, outer_even, inner_even);
    const auto p13 = pair(in[1], in[3]);
    const auto p57 = pair(in[5], in[7]);
    const Longs inner = V::multiply_add(V::multiply(p13, k1_061, -k2_172), p57, k1_451, -k0_211);
    const Longs outer = V::multiply_add(V::multiply(p13, k2_562, k0_899), p57, -k0_601, -k0_509);
    out[0] = V::add_longs(outer_even, outer);
    out[1] = V::add_longs(inner_even, inner);
    out[2] = V::subtract_longs(inner_even, inner);
    out[3] = V::subtract_longs(outer_even, outer);
}

template <typename V, int kShift, typename Pair>
PENSTOCK_INLINE void half_transform_2(const typename V::Words (&in)[8], Pair&& pair, typename V::Longs (&out)[8]) {
    using namespace fixed;
    using Longs = typename V::Longs;
    const Longs dc = V::multiply_add(V::fill_longs(2 << kShift), pair(in[0], in[0]), 2 * kDc, 2 * kDc);
    const Longs odd =
        V::multiply_add(V::multiply(pair(in[1], in[3]), k3_624, -k1_272), pair(in[5], in[7]), k0_850, -k0_720);
    out[0] = V::add_longs(dc, odd);
    out[1] = V::subtract_longs(dc, odd);
}

/// One pass over all lanes: 8 inputs, of which those from `kInputs` on are zero, to `kSize` outputs.
template <typename V, int kSize, int kShift, int kInputs = 8>
PENSTOCK_INLINE void transform(const typename V::Words (&in)[8], typename V::Words (&out)[8]) {
    using Words = typename V::Words;
    typename V::Longs low[8];
    typename V::Longs high[8];
    const auto pair_low = [](Words a, Words b) __attribute__((always_inline)) { return V::pair_low(a, b); };
    const auto pair_high = [](Words a, Words b) __attribute__((always_inline)) { return V::pair_high(a, b); };
    if constexpr (kSize == 8) {
        half_transform_8<V, kShift, kInputs>(in, pair_low, low);
        half_transform_8<V, kShift, kInputs>(in, pair_high, high);
    } else if constexpr (kSize == 4) {
        half_transform_4<V, kShift>(in, pair_low, low);
        half_transform_4<V, kShift>(in, pair_high, high);
    } else {
        half_transform_2<V, kShift>(in, pair_low, low);
        half_transform_2<V, kShift>(in, pair_high, high);
    }
    constexpr int kSmaller = kSize == 8 ? 0 : kSize == 4 ? 1 : 2;
    for (int i = 0; i < kSize; ++i) out[i] = V::template narrow<kShift + kSmaller>(low[i], high[i]);
}

template <typename V>
struct Source {
    const CoefficientGroup& group;
    const std::uint16_t* quant;
    std::size_t lane;

    PENSTOCK_INLINE typename V::Words operator()(std::size_t k) const {
        if (k >= static_cast<std::size_t>(group.num_positions)) return V::fill(0);
        const auto values = (group.wide_positions >> k & 1) != 0 ? V::load(group.wide[k] + lane)
                                                                 : V::load_narrow(group.narrow[k] + lane);
        return V::multiply_words(values, V::fill(static_cast<std::int16_t>(quant[k])));
    }
};

/// Bits that differ from zero where a value has more than 16 - kSpare bits. Images have none: what happens to such
/// values in libjpeg-turbo is left to the plain code.
template <typename V, int kSpare>
PENSTOCK_INLINE typename V::Words excess_of(typename V::Words value) {
    return V::exclusive_or(value, V::template shift_words_right<kSpare>(V::template shift_words_left<kSpare>(value)));
}

/// kLanes blocks of 8x8 samples whose coefficients are zero outside of the first `kInputs` rows and columns.
///
/// Gives false, nothing stored, if the plain code must take them.
template <typename V, int kInputs>
[[nodiscard]] PENSTOCK_INLINE bool transform_blocks_8(const Source<V>& source, std::uint8_t* const* runs,
                                                      std::size_t stride) {
    using Words = typename V::Words;
    Words columns[8][8];  // [row][column]
    Words excess = V::fill(0);
    for (std::size_t x = 0; x < kInputs; ++x) {
        Words in[8];
        Words out[8];
        for (std::size_t y = 0; y < 8; ++y) in[y] = y < kInputs ? source(kZigzagOf[8 * y + x]) : V::fill(0);
        excess = V::either(excess, excess_of<V, kFirstPassBits>(in[0]));
        transform<V, 8, kFirstShift, kInputs>(in, out);
        for (std::size_t y = 0; y < 8; ++y) columns[y][x] = out[y];
    }
    if (V::is_any(excess)) [[unlikely]]
        return false;
    for (std::size_t y = 0; y < 8; y += 2) {
        Words rows[2][8];
        for (std::size_t i = 0; i < 2; ++i) {
            Words in[8];
            for (std::size_t x = 0; x < 8; ++x) in[x] = x < kInputs ? columns[y + i][x] : V::fill(0);
            transform<V, 8, kSecondShift, kInputs>(in, rows[i]);
        }
        V::store_rows(rows[0], rows[1], runs, stride, y);
    }
    return true;
}

/// Samples of some blocks, which were computed a column at a time, side by side.
template <int kSize, std::size_t kLanes>
PENSTOCK_INLINE void store_small(const std::uint8_t (&samples)[kSize][kSize][kLanes], std::uint8_t* const* runs,
                                 std::size_t stride) {
    for (std::size_t run = 0; run < kLanes / 8; ++run) {
        if (runs[run] == nullptr) continue;
        for (std::size_t y = 0; y < kSize; ++y) {
            for (std::size_t block = 0; block < 8; ++block) {
                std::uint8_t* target = runs[run] + y * stride + kSize * block;
                for (std::size_t x = 0; x < kSize; ++x) target[x] = samples[y][x][8 * run + block];
            }
        }
    }
}

// Columns that a small transform does not look at: 4 for four samples, 2, 4 and 6 for two.
template <int kSize>
constexpr bool is_used(std::size_t column) {
    return kSize == 4 ? column != 4 : column == 0 || column % 2 == 1;
}

template <typename V, int kSize>
[[nodiscard]] PENSTOCK_INLINE bool transform_blocks_small(const Source<V>& source, std::uint8_t* const* runs,
                                                          std::size_t stride) {
    using Words = typename V::Words;
    alignas(64) std::uint8_t samples[kSize][kSize][V::kLanes];
    if constexpr (kSize == 1) {
        // Ten bits of an eighth count, as in libjpeg's table.
        const Words times_eight = V::template shift_words_left<3>(V::add(source(0), V::fill(4)));
        V::store_bytes(V::template shift_words_right<6>(times_eight), samples[0][0]);
    } else {
        Words columns[kSize][8];
        Words excess = V::fill(0);
        for (std::size_t x = 0; x < 8; ++x) {
            Words in[8];
            Words out[8];
            if (!is_used<kSize>(x)) {
                for (std::size_t y = 0; y < kSize; ++y) columns[y][x] = V::fill(0);
                continue;
            }
            for (std::size_t y = 0; y < 8; ++y) in[y] = is_used<kSize>(y) ? source(kZigzagOf[8 * y + x]) : V::fill(0);
            transform<V, kSize, kFirstShift>(in, out);
            for (std::size_t y = 0; y < kSize; ++y) columns[y][x] = out[y];
            if (kSize == 4) excess = V::either(excess, excess_of<V, kFirstPassBits>(in[0]));
            if (kSize == 2 && x == 0) excess = V::either(excess_of<V, 1>(out[0]), excess_of<V, 1>(out[1]));
        }
        if (V::is_any(excess)) [[unlikely]]
            return false;
        for (std::size_t y = 0; y < kSize; ++y) {
            Words out[8];
            transform<V, kSize, kSecondShift>(columns[y], out);
            for (std::size_t x = 0; x < kSize; ++x) V::store_bytes(out[x], samples[y][x]);
        }
    }
    store_small<kSize, V::kLanes>(samples, runs, stride);
    return true;
}

/// Blocks that have a DC only: one sample, repeated.
template <typename V>
PENSTOCK_INLINE bool fill_blocks(const Source<V>& source, std::uint8_t* const* runs, std::size_t stride) {
    alignas(64) std::uint8_t samples[V::kLanes];
    const auto first_pass = V::template shift_words_left<kFirstPassBits>(source(0));
    V::store_bytes(V::template shift_words_right<5>(V::add_saturated(first_pass, V::fill(16))), samples);
    for (std::size_t run = 0; run < V::kLanes / 8; ++run) {
        if (runs[run] == nullptr) continue;
        std::uint64_t row[8];
        for (std::size_t block = 0; block < 8; ++block) row[block] = samples[8 * run + block] * 0x0101010101010101U;
        for (std::size_t y = 0; y < 8; ++y) std::memcpy(runs[run] + y * stride, row, sizeof row);
    }
    return true;
}

template <typename V>
PENSTOCK_INLINE bool is_any_wanted(std::uint8_t* const* runs) {
    bool wanted = false;
    for (std::size_t run = 0; run < V::kLanes / 8; ++run) wanted = wanted || runs[run] != nullptr;
    return wanted;
}

/// The half of a group, kLanes blocks after the other. Where `blocks` gives false the plain code takes the half.
template <typename V, int kSizeLog, typename Blocks>
PENSTOCK_INLINE void for_lanes(const CoefficientGroup& group, unsigned half, const std::uint16_t* quant,
                               std::uint8_t* const* runs, std::size_t stride, Blocks&& blocks) {
    for (std::size_t lane = 0; lane < kHalfBlocks; lane += V::kLanes) {
        std::uint8_t* const* some = runs + lane / 8;
        if (!is_any_wanted<V>(some)) continue;
        if (!blocks(Source<V>{group, quant, kHalfBlocks * half + lane}, some)) {
            return kBackPlain.inverse_dct[kSizeLog](group, half, quant, runs, stride);
        }
    }
}

// Most groups of smooth content end early: zigzag positions below 10 are in the first four rows and columns, those
// below 21 in the first six.
template <typename V, int kInputs>
[[gnu::noinline]] void inverse_dct_of_inputs(const CoefficientGroup& group, unsigned half, const std::uint16_t* quant,
                                             std::uint8_t* const* runs, std::size_t stride) noexcept {
    for_lanes<V, 3>(group, half, quant, runs, stride, [&](const Source<V>& source, std::uint8_t* const* some) {
        return transform_blocks_8<V, kInputs>(source, some, stride);
    });
}

template <typename V>
void inverse_dct_8(const CoefficientGroup& group, unsigned half, const std::uint16_t* quant, std::uint8_t* const* runs,
                   std::size_t stride) noexcept {
    if (group.num_positions > 21) return inverse_dct_of_inputs<V, 8>(group, half, quant, runs, stride);
    if (group.num_positions > 10) return inverse_dct_of_inputs<V, 6>(group, half, quant, runs, stride);
    if (group.num_positions > 1) return inverse_dct_of_inputs<V, 4>(group, half, quant, runs, stride);
    for_lanes<V, 3>(group, half, quant, runs, stride, [&](const Source<V>& source, std::uint8_t* const* some) {
        return fill_blocks<V>(source, some, stride);
    });
}

template <typename V, int kSize>
void inverse_dct_small(const CoefficientGroup& group, unsigned half, const std::uint16_t* quant,
                       std::uint8_t* const* runs, std::size_t stride) noexcept {
    constexpr int kSizeLog = kSize == 4 ? 2 : kSize == 2 ? 1 : 0;
    for_lanes<V, kSizeLog>(group, half, quant, runs, stride, [&](const Source<V>& source, std::uint8_t* const* some) {
        return transform_blocks_small<V, kSize>(source, some, stride);
    });
}

// ---------------------------------------------------------------------------------------------------------------------
// Quads to groups.

template <typename V>
void take_quads(std::int16_t* quads, CoefficientGroup& group, std::size_t num_positions) noexcept {
    constexpr std::size_t kQuads = V::kLanes / kQuadBlocks;  // in a register, and positions of a quad in one
    for (std::size_t lane = 0; lane < kHalfBlocks; lane += V::kLanes) {
        std::int16_t* first = quads + lane / kQuadBlocks * kQuadWords;
        for (std::size_t k = 0; k < num_positions; k += kQuads) {
            typename V::Words rows[kQuads];
            for (std::size_t i = 0; i < kQuads; ++i) {
                std::int16_t* quad = first + i * kQuadWords + k * kQuadBlocks;
                rows[i] = V::load(quad);
                V::store(reinterpret_cast<std::uint16_t*>(quad), V::fill(0));
            }
            V::transpose_quads(rows);
            for (std::size_t i = 0; i < kQuads; ++i) {
                V::store(reinterpret_cast<std::uint16_t*>(group.wide[k + i] + lane), rows[i]);
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Colour. Chroma is centred and doubled, so that all factors fit 16 bits.

constexpr int kGreenOfBlue = -11277;  // half of those of jdcolor, times 2^16
constexpr int kGreenOfRed = -23401;
// As factors of a product that is rounded after a shift by 15: equal to jdcolor's for all 256 values of a sample.
[[maybe_unused]] constexpr std::int16_t kRedFactor = 22971;
[[maybe_unused]] constexpr std::int16_t kBlueFactor = 29033;

/// `V::kPixels` pixels; words are in the order of V::words_low and V::words_high.
template <typename V>
PENSTOCK_INLINE void convert_ycc(typename V::Bytes y, typename V::Bytes cb, typename V::Bytes cr,
                                 typename V::Bytes (&rgb)[3]) {
    typename V::Words words[3][2];
    for (int half = 0; half < 2; ++half) {
        const auto light = half == 0 ? V::words_low(y) : V::words_high(y);
        const auto blue = half == 0 ? V::doubled_low(cb) : V::doubled_high(cb);  // 2 * (cb - 128)
        const auto red = half == 0 ? V::doubled_low(cr) : V::doubled_high(cr);
        const auto rounding = V::fill_longs(1 << 15);
        const auto green = V::high_words(V::multiply_add(rounding, V::pair_low(blue, red), kGreenOfBlue, kGreenOfRed),
                                         V::multiply_add(rounding, V::pair_high(blue, red), kGreenOfBlue, kGreenOfRed));
        words[0][half] = V::add(light, V::red_of(red));
        words[1][half] = V::add(light, green);
        words[2][half] = V::add(light, V::blue_of(blue));
    }
    for (int i = 0; i < 3; ++i) rgb[i] = V::bytes_of(words[i][0], words[i][1]);
}

template <typename V, bool kConvert>
void rows_to_pixels(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c, std::uint8_t* out,
                    std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; i += V::kPixels) {
        typename V::Bytes channels[3] = {V::load_bytes(a + i), V::load_bytes(b + i), V::load_bytes(c + i)};
        if constexpr (kConvert) convert_ycc<V>(channels[0], channels[1], channels[2], channels);
        if (count - i >= V::kPixels) {
            V::store_pixels(channels, out + 3 * i);
        } else {
            V::store_some_pixels(channels, out + 3 * i, count - i);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Upsampling.

template <typename V>
void widen(const std::uint8_t* samples, std::uint16_t* sums, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; i += V::kLanes) V::store(sums + i, V::load_widened(samples + i));
}

template <typename V>
PENSTOCK_INLINE typename V::Words three_and_one(typename V::Words near, typename V::Words far) {
    return V::add(V::add(V::add(near, near), near), far);
}

template <typename V>
void blend_rows(const std::uint8_t* near, const std::uint8_t* far, std::uint16_t* sums, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; i += V::kLanes) {
        V::store(sums + i, three_and_one<V>(V::load_widened(near + i), V::load_widened(far + i)));
    }
}

template <typename V>
void blend_down(const std::uint8_t* near, const std::uint8_t* far, unsigned bias, std::uint8_t* out,
                std::size_t count) noexcept {
    const auto rounding = V::fill(static_cast<std::int16_t>(bias));
    for (std::size_t i = 0; i < count; i += V::kLanes) {
        const auto sum = V::add(three_and_one<V>(V::load_widened(near + i), V::load_widened(far + i)), rounding);
        V::store_low_bytes(out + i, V::template shift_words_right<2>(sum));
    }
}

template <typename V, int kLeftBias, int kRightBias, int kShift>
void spread(const std::uint16_t* sums, std::uint8_t* out, std::size_t count) noexcept {
    const auto* words = reinterpret_cast<const std::int16_t*>(sums);
    for (std::size_t i = 0; i < count; i += V::kLanes) {
        const auto here = V::load_unaligned(words + i);
        const auto left = V::add(three_and_one<V>(here, V::load_unaligned(words + i - 1)), V::fill(kLeftBias));
        const auto right = V::add(three_and_one<V>(here, V::load_unaligned(words + i + 1)), V::fill(kRightBias));
        V::store_alternating(out + 2 * i, V::template shift_words_right<kShift>(left),
                             V::template shift_words_right<kShift>(right));
    }
}

template <typename V>
constexpr BackKernels kernels_of() {
    return {{inverse_dct_small<V, 1>, inverse_dct_small<V, 2>, inverse_dct_small<V, 4>, inverse_dct_8<V>},
            take_quads<V>,
            rows_to_pixels<V, true>,
            rows_to_pixels<V, false>,
            widen<V>,
            blend_rows<V>,
            blend_down<V>,
            spread<V, 1, 2, 2>,
            spread<V, 8, 7, 4>};
}

}  // namespace

}  // namespace penstock::jpeg
