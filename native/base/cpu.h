// Vector instructions of this processor, and the path in use. Detected once; tests and benchmarks can lower it to
// force a path.
#pragma once

#include <span>
#include <string_view>

namespace penstock {

/// Ordered on each kind of processor: a path includes everything before it. x86-64 has the first four: `avx2` includes
/// BMI2, PCLMUL, FMA and F16C; `avx512` means F, BW, DQ, VL, VBMI, VBMI2, VNNI, GFNI and VPCLMULQDQ together (Ice Lake,
/// Zen 4 and later). 64-bit ARM has `portable` and, with the CRC instructions (all but the first of 2013), `neon`.
enum class SimdPath : int { portable = 0, baseline = 1, avx2 = 2, avx512 = 3, neon = 4 };

/// The paths of this processor, the plain one first, the best one last.
[[nodiscard]] std::span<const SimdPath> simd_paths() noexcept;

/// The best path of this processor.
[[nodiscard]] SimdPath best_simd_path() noexcept;

/// The path in use: the best one unless `force_simd_path` lowered it.
[[nodiscard]] SimdPath active_simd_path() noexcept;

/// Uses `path` from now on, in the whole process. Throws `bad_argument` if this processor cannot run it.
void force_simd_path(SimdPath path);

/// "portable", "baseline" (SSE2 on x86-64), "avx2", "avx512", "neon".
[[nodiscard]] std::string_view simd_path_name(SimdPath path) noexcept;

}  // namespace penstock
