// No vectors: what counts are BMI2's shifts, which take any register for the count, and a cycle less.
#if defined(__x86_64__)

#include "codecs/jpeg_blocks_decode.h"

namespace penstock::jpeg {

const BlockKernels kBlocksAvx2{decode_blocks<true>, decode_blocks<false>, decode_strip};

}  // namespace penstock::jpeg

#endif
