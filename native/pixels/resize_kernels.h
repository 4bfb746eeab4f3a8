// The two passes of an 8-bit resize, by instruction set. Rows are filtered four at a time; what they become is kept
// interleaved, the four rows of one sample side by side, as the second pass wants them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

/// Taps of an axis as the kernels see them; `stride` groups of four weights belong to each output.
struct Taps {
    const std::uint32_t* first;
    const std::uint32_t* groups;
    const std::int32_t* weights;
    std::uint32_t count;
    std::uint32_t stride;
};

/// Bytes that the kernels may read past the last sample of a row, and read and write past interleaved rows.
constexpr std::size_t kRowSlack = 128;

struct ResizeKernels {
    /// Rewrites groups of four weights into what the other functions read, in place.
    void (*pack)(std::int32_t* weights, std::size_t num_groups);

    /// The size of a plan for many rows of pixels of `channels` samples; 0 if the kernels have none.
    std::size_t (*plan_bytes)(const Taps& taps, std::uint32_t channels);
    /// Writes that plan to memory aligned to 64 bytes; false if these taps are too far apart for one.
    bool (*plan_rows)(const Taps& taps, std::uint32_t channels, std::uint8_t* plan);

    /// Filters four rows along x: sample s of row r becomes out[4 * s + r]. `plan` may be null.
    void (*filter_rows)(const std::uint8_t* const* rows, const Taps& taps, std::uint32_t channels,
                        const std::uint8_t* plan, std::uint8_t* out);

    /// Filters interleaved rows along y into one row of `samples`. `quads[i]` holds four rows, which `weights + 4 * i`
    /// weighs. Writes exactly `samples` bytes.
    void (*filter_columns)(const std::uint8_t* const* quads, const std::int32_t* weights, std::size_t num_quads,
                           std::size_t samples, std::uint8_t* out);
};

extern const ResizeKernels kResizePlain;
extern const ResizeKernels kResizeAvx2;
extern const ResizeKernels kResizeAvx512;

/// Returns the kernels of the active SIMD path.
[[nodiscard]] const ResizeKernels& active_resize_kernels() noexcept;

/// Plan functions for kernels without plans.
[[nodiscard]] std::size_t no_plan_bytes(const Taps& taps, std::uint32_t channels);
[[nodiscard]] bool no_plan(const Taps& taps, std::uint32_t channels, std::uint8_t* plan);

}  // namespace penstock
