// The conversions that the vector paths must equal.
#include <bit>

#include "pixels/finish_kernels.h"

namespace penstock {

namespace {

/// Where sample c of pixel x goes.
std::size_t place(std::size_t x, std::size_t c, std::size_t channels, std::size_t plane) noexcept {
    return plane == 0 ? x * channels + c : c * plane + x;
}

void split(const std::uint8_t* row, std::size_t pixels, std::size_t channels, std::uint8_t* out, std::size_t plane) {
    for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t x = 0; x < pixels; ++x) out[place(x, c, channels, plane)] = row[x * channels + c];
    }
}

void to_floats(const std::uint8_t* row, std::size_t pixels, std::size_t channels, const FloatTable& table, float* out,
               std::size_t plane) {
    for (std::size_t c = 0; c < channels; ++c) {
        const float* values = table.values + c * 256;
        for (std::size_t x = 0; x < pixels; ++x) out[place(x, c, channels, plane)] = values[row[x * channels + c]];
    }
}

void to_halves(const std::uint8_t* row, std::size_t pixels, std::size_t channels, const FloatTable& table,
               std::uint16_t* out, std::size_t plane) {
    for (std::size_t c = 0; c < channels; ++c) {
        const float* values = table.values + c * 256;
        for (std::size_t x = 0; x < pixels; ++x) {
            out[place(x, c, channels, plane)] = to_half(values[row[x * channels + c]]);
        }
    }
}

}  // namespace

const FinishKernels kFinishPlain{split, to_floats, to_halves};

std::uint16_t to_half(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000;
    const std::uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);  // rounds to 65536 or more
    if (magnitude < 0x38800000) {
        // Below the smallest normal half: adding 0.5 leaves the bits that remain at the end of the mantissa, rounded.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000));
    }
    const std::uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return static_cast<std::uint16_t>(sign | (rounded - 0x38000000) >> 13);
}

}  // namespace penstock
