// Which code decodes and encodes tiles on this processor.
#include "base/cpu.h"
#include "codecs/weir.h"

namespace penstock::weir {

DecodeTile active_decode_tile() noexcept {
#if defined(__x86_64__)
    const SimdPath path = active_simd_path();
    if (path >= SimdPath::avx512) return decode_tile_avx512;
    if (path >= SimdPath::avx2) return decode_tile_avx2;
#elif defined(__aarch64__)
    if (active_simd_path() == SimdPath::neon) return decode_tile_neon;
#endif
    return decode_tile_plain;
}

EncodeTile active_encode_tile() noexcept {
#if defined(__x86_64__)
    if (active_simd_path() >= SimdPath::avx512) return encode_tile_avx512;
    if (active_simd_path() >= SimdPath::avx2) return encode_tile_avx2;
#elif defined(__aarch64__)
    if (active_simd_path() == SimdPath::neon) return encode_tile_neon;
#endif
    return encode_tile_plain;
}

}  // namespace penstock::weir
