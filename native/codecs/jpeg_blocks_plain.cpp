// For any processor; and the choice.
#include "base/cpu.h"
#include "codecs/jpeg_blocks_decode.h"

namespace penstock::jpeg {

const BlockKernels kBlocksPlain{decode_blocks<true>, decode_blocks<false>, decode_strip};

const BlockKernels& active_block_kernels() noexcept {
#if defined(__x86_64__)
    if (active_simd_path() >= SimdPath::avx2) return kBlocksAvx2;
#endif
    return kBlocksPlain;
}

}  // namespace penstock::jpeg
