// Which code decodes a Sluice tile on this processor.
#include "base/cpu.h"
#include "codecs/sluice.h"

namespace penstock::sluice {

DecodeTile active_decode_tile() noexcept {
#if defined(__x86_64__)
    if (active_simd_path() >= SimdPath::avx512) return decode_tile_avx512;
    if (active_simd_path() >= SimdPath::avx2) return decode_tile_avx2;
#endif
    return decode_tile_plain;
}

}  // namespace penstock::sluice
