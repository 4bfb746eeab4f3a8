// The blocks of an MCU out of Huffman-coded bits: what a path of the processor does in its own way.
#pragma once

#include <cstddef>

#include "codecs/jpeg_bits.h"
#include "codecs/jpeg_huffman_tables.h"
#include "codecs/jpeg_library.h"

namespace penstock::jpeg {

/// How a block of an MCU is coded. Pointers into tables instead of tables: a path's file calls nothing that is inline
/// elsewhere (docs/decisions/0001).
struct BlockTables {
    const AcTable::Entry* ac;
    const LongCodes* ac_codes;
    const DcTable::Entry* dc;
    const LongCodes* dc_codes;
    unsigned* last_dc;  ///< of its component; changed
};

/// Decodes the blocks of one MCU into `out`, one for each of `tables`; false at a code that does not exist. Past the
/// end of a segment it reads zeros, which `bits.overrun()` tells.
using DecodeBlocks = bool (*)(BitReader& bits, const BlockTables* tables, std::size_t num_blocks,
                              JBLOCKROW* out) noexcept;

struct BlockKernels {
    DecodeBlocks store;      ///< `out` must be zero
    DecodeBlocks step_over;  ///< the same, nothing kept but `last_dc`; `out` may be null
};

extern const BlockKernels kBlocksPlain;
extern const BlockKernels kBlocksAvx2;

/// Those of the active SIMD path.
[[nodiscard]] const BlockKernels& active_block_kernels() noexcept;

}  // namespace penstock::jpeg
