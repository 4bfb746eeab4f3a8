// The blocks of an MCU out of Huffman-coded bits: what a path of the processor does in its own way.
#pragma once

#include <cstddef>

#include "codecs/jpeg_bits.h"
#include "codecs/jpeg_group.h"
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

/// A block of the MCUs of a strip: how it is coded, and where its coefficients go.
struct StripBlock {
    BlockTables tables;
    std::int16_t* quads;      ///< of its row of blocks, all zero
    std::size_t first_lane;   ///< its place among the row's blocks in the first MCU
    std::size_t step;         ///< lanes from one MCU to the next
    unsigned* num_positions;  ///< raised to what the row's blocks need
};

/// Decodes the blocks of MCUs [first_mcu, first_mcu + num_mcus) of a strip; false at a code that does not exist.
using DecodeStrip = bool (*)(BitReader& bits, const StripBlock* blocks, std::size_t num_blocks, std::size_t first_mcu,
                             std::size_t num_mcus) noexcept;

struct BlockKernels {
    DecodeBlocks store;      ///< `out` must be zero
    DecodeBlocks step_over;  ///< the same, nothing kept but `last_dc`; `out` may be null
    DecodeStrip store_strip;
};

extern const BlockKernels kBlocksPlain;
extern const BlockKernels kBlocksAvx2;

/// Those of the active SIMD path.
[[nodiscard]] const BlockKernels& active_block_kernels() noexcept;

}  // namespace penstock::jpeg
