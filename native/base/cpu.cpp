#include "base/cpu.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <string>

#include "base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace penstock {

namespace {

#if defined(__x86_64__)
// Asked of the processor itself: clang 14, which builds the fuzz targets, does not know the name "f16c".
bool has_f16c() noexcept {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

#if defined(__x86_64__)
constexpr std::array kPaths{SimdPath::portable, SimdPath::baseline, SimdPath::avx2, SimdPath::avx512};
#elif defined(__aarch64__)
constexpr std::array kPaths{SimdPath::portable, SimdPath::neon};
#else
constexpr std::array kPaths{SimdPath::portable};
#endif

// How many of `kPaths` this processor has.
std::size_t detect() noexcept {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
                      __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("fma") && has_f16c();
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
                        __builtin_cpu_supports("gfni") && __builtin_cpu_supports("vpclmulqdq") &&
                        __builtin_cpu_supports("avx512vnni");
    return avx512 ? 4 : avx2 ? 3 : 2;
#elif defined(__aarch64__) && defined(__linux__)
    return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0 ? 2 : 1;  // vectors belong to every 64-bit ARM
#else
    return 1;
#endif
}

std::string names_of(std::span<const SimdPath> paths) {
    std::string names;
    for (const SimdPath path : paths) names.append(names.empty() ? "" : ", ").append(simd_path_name(path));
    return names;
}

std::atomic<SimdPath>& active() noexcept {
    static std::atomic<SimdPath> path{best_simd_path()};
    return path;
}

}  // namespace

std::span<const SimdPath> simd_paths() noexcept {
    static const std::size_t count = detect();
    return {kPaths.data(), count};
}

SimdPath best_simd_path() noexcept { return simd_paths().back(); }

SimdPath active_simd_path() noexcept { return active().load(std::memory_order_relaxed); }

void force_simd_path(SimdPath path) {
    if (std::ranges::find(simd_paths(), path) == simd_paths().end()) {
        throw Error(ErrorCode::bad_argument,
                    "this processor cannot run the SIMD path '" + std::string(simd_path_name(path)) + "'",
                    "force_simd_path", "choose one of " + names_of(simd_paths()));
    }
    active().store(path, std::memory_order_relaxed);
}

std::string_view simd_path_name(SimdPath path) noexcept {
    switch (path) {
        case SimdPath::portable: return "portable";
        case SimdPath::baseline: return "baseline";
        case SimdPath::avx2: return "avx2";
        case SimdPath::avx512: return "avx512";
        case SimdPath::neon: return "neon";
    }
    return "portable";
}

}  // namespace penstock
