// Quantised DCT coefficients of 64 blocks in the order that vector code wants: one position of all blocks after the
// other. What the entropy decoders of `jpeg` and `sluice` fill and the inverse transform of jpeg_back.h reads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::jpeg {

inline constexpr std::size_t kGroupBlocks = 64;
inline constexpr std::size_t kBlockPositions = 64;

/// Coefficients of up to 64 blocks of one component, by [zigzag position][lane]. A lane is a block.
///
/// A group of a tile has 8x8 blocks, and lanes count row by row; a strip of a plain JPEG has neighbours of one row of
/// blocks. The inverse transform takes lanes by runs of eight and is told where the samples of each run go. Lanes
/// without a block may hold anything.
struct alignas(64) CoefficientGroup {
    std::int8_t narrow[kBlockPositions][kGroupBlocks];
    std::int16_t wide[kBlockPositions][kGroupBlocks];
    std::uint64_t wide_positions;  ///< bit k: position k is stored in `wide`, else in `narrow`
    int num_positions;             ///< 1 to 64: later positions are zero in all blocks, and are not stored
};

/// Coefficients as a Huffman decoder stores them best: by [zigzag position][block] for four blocks at a time. A scaled
/// index reaches every position, and four blocks are eight cache lines instead of one for each position.
inline constexpr std::size_t kQuadBlocks = 4;
inline constexpr std::size_t kQuadWords = kQuadBlocks * kBlockPositions;

}  // namespace penstock::jpeg
