// Which vector instructions this processor has, and which of them we use. Asked once; can be lowered, by
// tests and benchmarks, to force a path.
#pragma once

#include <string_view>

namespace penstock {

/// Ordered: a path includes everything before it. `avx2` includes BMI2, PCLMUL, FMA and F16C;
/// `avx512` means F, BW, DQ, VL, VBMI, VBMI2, VNNI, GFNI and VPCLMULQDQ together (Ice Lake, Zen 4 and later).
enum class SimdPath : int { portable = 0, baseline = 1, avx2 = 2, avx512 = 3 };

/// The best path of this processor.
[[nodiscard]] SimdPath best_simd_path() noexcept;

/// The path in use: the best one unless `force_simd_path` lowered it.
[[nodiscard]] SimdPath active_simd_path() noexcept;

/// Uses `path` from now on, in the whole process. Throws `bad_argument` if this processor cannot run it.
void force_simd_path(SimdPath path);

/// "portable", "baseline" (SSE2 on x86-64), "avx2", "avx512".
[[nodiscard]] std::string_view simd_path_name(SimdPath path) noexcept;

}  // namespace penstock
