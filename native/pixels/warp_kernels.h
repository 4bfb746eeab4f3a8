// Rows of warped pixels, by instruction set: the parts of a row that need no care at the borders of the input.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

/// A run of pixels [begin, end) of output row `y`. Every one of them has all its neighbours in the input, and eight
/// bytes can be read from the first neighbour of each row.
struct WarpRun {
    const std::uint8_t* input;
    std::size_t row_stride;
    const double* map;  ///< eight numbers, `WarpMap`
    bool perspective;
    std::uint32_t y;
    std::uint32_t begin;
    std::uint32_t end;
    std::uint8_t* out;  ///< of pixel `begin`
};

/// A run of nearest pixels, at positions of 16.16 bits that grow by `step_x` and `step_y`. Eight bytes can be read from
/// each.
struct NearestRun {
    const std::uint8_t* input;
    std::size_t row_stride;
    std::int32_t x;
    std::int32_t y;
    std::int32_t step_x;
    std::int32_t step_y;
    std::uint32_t count;
    std::uint8_t* out;
};

/// All are for 8-bit samples, by the number of channels, 1 to 4.
struct WarpKernels {
    void (*bilinear[4])(const WarpRun& run);
    void (*bicubic[4])(const WarpRun& run);
    void (*nearest[4])(const NearestRun& run);
};

extern const WarpKernels kWarpPlain;
extern const WarpKernels kWarpAvx2;
extern const WarpKernels kWarpAvx512;

}  // namespace penstock
