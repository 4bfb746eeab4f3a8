// The back half for any processor, and what its fast twins are compared with: one block, one pixel after the other.
#include <algorithm>

#include "codecs/jpeg_back_kernels.h"
#include "codecs/jpeg_transform.h"

namespace penstock::jpeg {

namespace {

// Sums wrap at 16 bits where vectors add words, and at 32 where they add double words. Only crafted files show it.
std::int16_t add_words(int a, int b) { return static_cast<std::int16_t>(a + b); }

struct Sum {
    std::uint32_t bits = 0;

    Sum& add(int value, int factor) {
        bits += static_cast<std::uint32_t>(value * factor);
        return *this;
    }
    friend Sum operator+(Sum a, Sum b) { return {a.bits + b.bits}; }
    friend Sum operator-(Sum a, Sum b) { return {a.bits - b.bits}; }
};

std::int32_t descale_wide(Sum sum, int shift) {
    return static_cast<std::int32_t>(sum.bits + (std::uint32_t{1} << (shift - 1))) >> shift;
}

std::int16_t descale(Sum sum, int shift) {
    return static_cast<std::int16_t>(std::clamp(descale_wide(sum, shift), -32768, 32767));
}

using Points = std::int16_t[8];

void transform_8(const Points& in, Points& out, int shift) {
    using namespace fixed;
    const Sum low = Sum{}.add(add_words(in[0], in[4]), 1 << kConstantBits);
    const Sum high = Sum{}.add(add_words(in[0], -in[4]), 1 << kConstantBits);
    const Sum second = Sum{}.add(in[2], k0_541 + k0_765).add(in[6], k0_541);
    const Sum sixth = Sum{}.add(in[2], k0_541).add(in[6], k0_541 - k1_847);
    const Sum even[4] = {low + second, high + sixth, high - sixth, low - second};

    const int z3 = add_words(in[3], in[7]);
    const int z4 = add_words(in[1], in[5]);
    const Sum from_z3 = Sum{}.add(z3, k1_175 - k1_961).add(z4, k1_175);
    const Sum from_z4 = Sum{}.add(z3, k1_175).add(z4, k1_175 - k0_390);
    const Sum odd[4] = {Sum(from_z4).add(in[1], k1_501 - k0_899).add(in[7], -k0_899),
                        Sum(from_z3).add(in[3], k3_072 - k2_562).add(in[5], -k2_562),
                        Sum(from_z4).add(in[5], k2_053 - k2_562).add(in[3], -k2_562),
                        Sum(from_z3).add(in[7], k0_298 - k0_899).add(in[1], -k0_899)};
    for (int i = 0; i < 4; ++i) {
        out[i] = descale(even[i] + odd[i], shift);
        out[7 - i] = descale(even[i] - odd[i], shift);
    }
}

// Position 4 does not count.
void transform_4(const Points& in, Points& out, int shift) {
    using namespace fixed;
    const Sum dc = Sum{}.add(in[0], 1 << (kConstantBits + 1));
    const Sum second = Sum{}.add(in[2], k1_847).add(in[6], -k0_765);
    const Sum inner = Sum{}.add(in[7], -k0_211).add(in[5], k1_451).add(in[3], -k2_172).add(in[1], k1_061);
    const Sum outer = Sum{}.add(in[7], -k0_509).add(in[5], -k0_601).add(in[3], k0_899).add(in[1], k2_562);
    out[0] = descale(dc + second + outer, shift + 1);
    out[1] = descale(dc - second + inner, shift + 1);
    out[2] = descale(dc - second - inner, shift + 1);
    out[3] = descale(dc + second - outer, shift + 1);
}

// Of the even positions only the first counts. `dc` is separate: in the second pass it has more than 16 bits.
struct TwoSums {
    Sum first;
    Sum second;
};
TwoSums transform_2(std::int32_t dc, const Points& in) {
    using namespace fixed;
    const Sum even{static_cast<std::uint32_t>(dc) << (kConstantBits + 2)};
    const Sum odd = Sum{}.add(in[7], -k0_720).add(in[5], k0_850).add(in[3], -k1_272).add(in[1], k3_624);
    return {even + odd, even - odd};
}

std::uint8_t to_sample(int value) { return static_cast<std::uint8_t>(std::clamp(value, -128, 127) + 128); }

/// An eighth of a DC. libjpeg looks it up in a table of 1024 entries: ten bits with a sign count.
int mean_of(std::int16_t dc) { return static_cast<std::int16_t>(static_cast<unsigned>(dc + 4) << 3) >> 6; }

int coefficient(const CoefficientGroup& group, std::size_t k, std::size_t lane) {
    return (group.wide_positions >> k & 1) != 0 ? group.wide[k][lane] : group.narrow[k][lane];
}

/// A dequantised coefficient: products keep their low 16 bits.
std::int16_t dequantised(const CoefficientGroup& group, std::size_t k, std::size_t lane, const std::uint16_t* quant) {
    if (k >= static_cast<std::size_t>(group.num_positions)) return 0;
    const auto product = static_cast<unsigned>(coefficient(group, k, lane)) * quant[k];
    return static_cast<std::int16_t>(product);
}

using Block = std::int16_t[8][8];  // [row][column]

// libjpeg-turbo's vector code has a short way for blocks with nothing but a first row, and only there a value of more
// than 14 bits loses its highest ones. With four samples it does not look at the fifth row.
template <int kSize>
bool has_first_row_only(const CoefficientGroup& group, std::size_t lane) {
    for (std::size_t place = 8; place < 64; ++place) {
        const std::size_t k = kZigzagOf[place];
        if (kSize == 4 && place / 8 == 4) continue;
        if (k < static_cast<std::size_t>(group.num_positions) && coefficient(group, k, lane) != 0) return false;
    }
    return true;
}

template <int kSize>
void transform_block_wide(const CoefficientGroup& group, std::size_t lane, const Block& in, std::uint8_t* out,
                          std::size_t stride) {
    constexpr auto transform = kSize == 8 ? transform_8 : transform_4;
    const bool is_short = has_first_row_only<kSize>(group, lane);
    std::int16_t columns[8][8];
    for (std::size_t x = 0; x < 8; ++x) {
        Points column;
        for (std::size_t y = 0; y < 8; ++y) column[y] = in[y][x];
        transform(column, columns[x], kFirstShift);
        if (is_short) std::fill_n(columns[x], kSize, static_cast<std::int16_t>(column[0] * (1 << kFirstPassBits)));
    }
    for (std::size_t y = 0; y < kSize; ++y) {
        Points row;
        Points samples;
        for (std::size_t x = 0; x < 8; ++x) row[x] = columns[x][y];
        transform(row, samples, kSecondShift);
        for (std::size_t x = 0; x < kSize; ++x) out[y * stride + x] = to_sample(samples[x]);
    }
}

void transform_block_2(const Block& in, std::uint8_t* out, std::size_t stride) {
    std::int32_t dc[2] = {};  // of the rows; not limited to 16 bits
    Points rows[2] = {};
    for (std::size_t x = 0; x < 8; ++x) {
        if (x != 0 && x % 2 == 0) continue;
        Points column;
        for (std::size_t y = 0; y < 8; ++y) column[y] = in[y][x];
        const TwoSums sums = transform_2(column[0], column);
        const Sum both[2] = {sums.first, sums.second};
        for (std::size_t y = 0; y < 2; ++y) {
            if (x == 0) dc[y] = descale_wide(both[y], kFirstShift + 2);
            rows[y][x] = descale(both[y], kFirstShift + 2);
        }
    }
    for (std::size_t y = 0; y < 2; ++y) {
        const TwoSums sums = transform_2(dc[y], rows[y]);
        out[y * stride] = to_sample(descale(sums.first, kSecondShift + 2));
        out[y * stride + 1] = to_sample(descale(sums.second, kSecondShift + 2));
    }
}

template <int kSize>
void transform_block(const CoefficientGroup& group, std::size_t lane, const std::uint16_t* quant, std::uint8_t* out,
                     std::size_t stride) {
    if constexpr (kSize == 1) {
        *out = to_sample(mean_of(dequantised(group, 0, lane, quant)));
        return;
    }
    Block in;
    for (std::size_t place = 0; place < 64; ++place) {
        in[place / 8][place % 8] = dequantised(group, kZigzagOf[place], lane, quant);
    }
    if constexpr (kSize == 2) {
        transform_block_2(in, out, stride);
    } else if constexpr (kSize > 2) {
        transform_block_wide<kSize>(group, lane, in, out, stride);
    }
}

template <int kSize>
void inverse_dct_plain(const CoefficientGroup& group, unsigned half, const std::uint16_t* quant,
                       std::uint8_t* const* runs, std::size_t stride) noexcept {
    for (std::size_t run = 0; run < kHalfRuns; ++run) {
        if (runs[run] == nullptr) continue;
        for (std::size_t i = 0; i < 8; ++i) {
            transform_block<kSize>(group, kHalfBlocks * half + 8 * run + i, quant, runs[run] + kSize * i, stride);
        }
    }
}

void take_quads_plain(std::int16_t* quads, CoefficientGroup& group, std::size_t num_positions) noexcept {
    for (std::size_t lane = 0; lane < kHalfBlocks; ++lane) {
        std::int16_t* values = quads + lane / kQuadBlocks * kQuadWords + lane % kQuadBlocks;
        for (std::size_t k = 0; k < num_positions; ++k) {
            group.wide[k][lane] = values[k * kQuadBlocks];
            values[k * kQuadBlocks] = 0;
        }
    }
}

std::uint8_t to_pixel(int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); }

// The factors are those of JFIF times 2^16, rounded.
void ycc_to_rgb_plain(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::uint8_t* out,
                      std::size_t count) noexcept {
    constexpr int kHalf = 1 << 15;
    for (std::size_t i = 0; i < count; ++i) {
        const int blue = cb[i] - 128;
        const int red = cr[i] - 128;
        out[3 * i] = to_pixel(y[i] + ((91881 * red + kHalf) >> 16));
        out[3 * i + 1] = to_pixel(y[i] + ((-22554 * blue - 46802 * red + kHalf) >> 16));
        out[3 * i + 2] = to_pixel(y[i] + ((116130 * blue + kHalf) >> 16));
    }
}

void interleave_plain(const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b, std::uint8_t* out,
                      std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        out[3 * i] = r[i];
        out[3 * i + 1] = g[i];
        out[3 * i + 2] = b[i];
    }
}

void widen_plain(const std::uint8_t* samples, std::uint16_t* sums, std::size_t count) noexcept {
    std::copy_n(samples, count, sums);
}

void blend_rows_plain(const std::uint8_t* near, const std::uint8_t* far, std::uint16_t* sums,
                      std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) sums[i] = static_cast<std::uint16_t>(3 * near[i] + far[i]);
}

void blend_down_plain(const std::uint8_t* near, const std::uint8_t* far, unsigned bias, std::uint8_t* out,
                      std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint8_t>((3U * near[i] + far[i] + bias) >> 2);
}

template <unsigned kLeftBias, unsigned kRightBias, unsigned kShift>
void spread_plain(const std::uint16_t* sums, std::uint8_t* out, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        const unsigned here = 3U * sums[i];
        out[2 * i] = static_cast<std::uint8_t>((here + *(sums + i - 1) + kLeftBias) >> kShift);
        out[2 * i + 1] = static_cast<std::uint8_t>((here + sums[i + 1] + kRightBias) >> kShift);
    }
}

}  // namespace

const BackKernels kBackPlain{
    {inverse_dct_plain<1>, inverse_dct_plain<2>, inverse_dct_plain<4>, inverse_dct_plain<8>},
    take_quads_plain,
    ycc_to_rgb_plain,
    interleave_plain,
    widen_plain,
    blend_rows_plain,
    blend_down_plain,
    spread_plain<1, 2, 2>,
    spread_plain<8, 7, 4>,
};

}  // namespace penstock::jpeg
