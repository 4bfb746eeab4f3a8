#include "base/cpu.h"

#include <atomic>
#include <string>

#include "base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
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

SimdPath detect() noexcept {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
                      __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("fma") && has_f16c();
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
                        __builtin_cpu_supports("gfni") && __builtin_cpu_supports("vpclmulqdq") &&
                        __builtin_cpu_supports("avx512vnni");
    if (avx512) return SimdPath::avx512;
    if (avx2) return SimdPath::avx2;
    return SimdPath::baseline;
#else
    return SimdPath::portable;
#endif
}

std::atomic<SimdPath>& active() noexcept {
    static std::atomic<SimdPath> path{detect()};
    return path;
}

}  // namespace

SimdPath best_simd_path() noexcept {
    static const SimdPath best = detect();
    return best;
}

SimdPath active_simd_path() noexcept { return active().load(std::memory_order_relaxed); }

void force_simd_path(SimdPath path) {
    if (path > best_simd_path()) {
        throw Error(ErrorCode::bad_argument,
                    "this processor cannot run the SIMD path '" + std::string(simd_path_name(path)) + "'",
                    "force_simd_path", "choose '" + std::string(simd_path_name(best_simd_path())) + "' or a lower one");
    }
    active().store(path, std::memory_order_relaxed);
}

std::string_view simd_path_name(SimdPath path) noexcept {
    switch (path) {
        case SimdPath::portable: return "portable";
        case SimdPath::baseline: return "baseline";
        case SimdPath::avx2: return "avx2";
        case SimdPath::avx512: return "avx512";
    }
    return "portable";
}

}  // namespace penstock
