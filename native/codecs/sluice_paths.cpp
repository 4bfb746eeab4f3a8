// Which code decodes a Sluice tile on this processor.
#include <atomic>

#include "base/cpu.h"
#include "codecs/sluice.h"
#include "codecs/sluice_layers.h"
#include "codecs/sluice_transcode.h"

namespace penstock::sluice {

namespace {

std::atomic<int> forced_gather{-1};

#if defined(__x86_64__)
// Zen 4 takes 0.61 ns a symbol with gathers and 0.50 with single loads; a Xeon (Emerald Rapids) took about 0.4 with
// gathers.
bool gathers() noexcept {
    const int forced = forced_gather.load(std::memory_order_relaxed);
    if (forced >= 0) return forced != 0;
    static const bool intel = [] {
        __builtin_cpu_init();
        return __builtin_cpu_is("intel") != 0;
    }();
    return intel;
}
#endif

}  // namespace

void force_gather(int gather) noexcept { forced_gather.store(gather, std::memory_order_relaxed); }

DecodeTile active_decode_tile() noexcept {
#if defined(__x86_64__)
    if (active_simd_path() >= SimdPath::avx512) return gathers() ? decode_tile_avx512_gather : decode_tile_avx512;
    if (active_simd_path() >= SimdPath::avx2) return gathers() ? decode_tile_avx2_gather : decode_tile_avx2;
#elif defined(__aarch64__)
    if (active_simd_path() == SimdPath::neon) return decode_tile_neon;
#endif
    return decode_tile_plain;
}

LayerDecoders active_layer_decoders() noexcept {
#if defined(__x86_64__)
    if (active_simd_path() >= SimdPath::avx512) {
        return {gathers() ? refine_tile_avx512_gather : refine_tile_avx512, widen_groups_avx512};
    }
    if (active_simd_path() >= SimdPath::avx2) {
        return {gathers() ? refine_tile_avx2_gather : refine_tile_avx2, widen_groups_avx2};
    }
#endif
    return {};
}

}  // namespace penstock::sluice
