// Undoing PNG's five row filters. `png_unfilter.cpp` holds the plain twin and the choice; the vector paths are
// `png_unfilter_{baseline,avx2,avx512}.cpp`, one algorithm (`png_unfilter_kernels.h`) in three vocabularies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace penstock::png {

/// Undoes a filter of one row: `size` bytes of `source`, with `above` the finished row over it, into `target`.
///
/// The three do not overlap. `source` may be read up to 64 bytes past its end; `above` is never read and `target`
/// never written outside `size`. Safe from many threads.
using UnfilterRow = void (*)(const std::uint8_t* source, const std::uint8_t* above, std::uint8_t* target,
                             std::size_t size);

/// The kernels of one filter distance: the bytes from a sample to the same sample of the pixel to its left.
struct Unfilter {
    UnfilterRow sub = nullptr;
    UnfilterRow up = nullptr;
    UnfilterRow average = nullptr;
    UnfilterRow paeth = nullptr;
};

/// Largest valid filter type: 0 none, 1 sub, 2 up, 3 average, 4 Paeth.
inline constexpr std::uint8_t kMaxFilter = 4;

/// Kernels for a distance of 1, 2, 3, 4, 6 or 8 bytes; the path must be one this processor can run.
[[nodiscard]] Unfilter unfilter_for(std::size_t distance, SimdPath path) noexcept;

/// One row of any filter type up to `kMaxFilter`; `size` is at least the distance.
void unfilter_row(const Unfilter& kernels, std::uint8_t filter, const std::uint8_t* source, const std::uint8_t* above,
                  std::uint8_t* target, std::size_t size) noexcept;

// One table per file; only `unfilter_for` calls these.
[[nodiscard]] Unfilter unfilter_plain(std::size_t distance) noexcept;
#if defined(__x86_64__)
[[nodiscard]] Unfilter unfilter_baseline(std::size_t distance) noexcept;
[[nodiscard]] Unfilter unfilter_avx2(std::size_t distance) noexcept;
[[nodiscard]] Unfilter unfilter_avx512(std::size_t distance) noexcept;
#endif

}  // namespace penstock::png
