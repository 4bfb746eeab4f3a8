// Rows of bytes to planes, floats and half floats, by instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

/// Floats are d * slope with d = x - center, both numbers in two parts: fma(d, high, fma(d, low, offset)). So they are
/// within a step of the exact value, x / 255 is the nearest float there is, and every path has the same.
struct Affine {
    float center = 0;
    float high = 1;
    float low = 0;
    float offset = 0;
};

/// The functions of up to four channels, and their values for every byte (256 a channel), for where vectors do not
/// reach.
struct FloatTable {
    Affine affine[4];
    const float* values = nullptr;
};

/// Rows of `pixels` pixels of `channels` samples. With `plane` 0 the channels of the result stay side by side;
/// otherwise channel c begins at out + c * plane.
struct FinishKernels {
    void (*split)(const std::uint8_t* row, std::size_t pixels, std::size_t channels, std::uint8_t* out,
                  std::size_t plane);
    void (*to_floats)(const std::uint8_t* row, std::size_t pixels, std::size_t channels, const FloatTable& table,
                      float* out, std::size_t plane);
    /// IEEE half precision, rounded to the nearest, halves to even.
    void (*to_halves)(const std::uint8_t* row, std::size_t pixels, std::size_t channels, const FloatTable& table,
                      std::uint16_t* out, std::size_t plane);
};

extern const FinishKernels kFinishPlain;
extern const FinishKernels kFinishAvx2;
extern const FinishKernels kFinishAvx512;

/// Returns the kernels of the active SIMD path.
[[nodiscard]] const FinishKernels& active_finish_kernels() noexcept;

/// One float as half precision, rounded to the nearest, halves to even.
[[nodiscard]] std::uint16_t to_half(float value) noexcept;

}  // namespace penstock
