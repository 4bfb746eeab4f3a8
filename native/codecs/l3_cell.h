// One plane of one L3 patch, a "cell": rows of fixed-width deltas, each predicted from the row above (spec/l3.md,
// sections 2 to 4). `l3.cpp` knows the file around the cells; `l3_cell.cpp` is the path to read, the others its
// faster twins.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/image.h"

namespace penstock::l3 {

constexpr std::uint32_t kMinPatch = 8;
constexpr std::uint32_t kMaxPatch = 128;
constexpr std::uint32_t kMaxWidth = 8;

/// The two versions differ in the prediction only.
enum class Version : std::uint8_t { published = 0, repaired = 1 };

struct CellShape {
    std::uint32_t rows = 0;     ///< 1 to kMaxPatch
    std::uint32_t columns = 0;  ///< 1 to kMaxPatch
};

/// Bytes of a row of `columns` deltas of `width` bits behind their 12-bit head.
constexpr std::size_t row_bytes(std::uint32_t columns, std::uint32_t width) {
    return (12 + std::size_t{columns} * width + 7) / 8;
}

constexpr std::size_t kMaxRowBytes = row_bytes(kMaxPatch, kMaxWidth);
constexpr std::size_t kMaxCellBytes = kMaxPatch * kMaxRowBytes;

/// Layout of decoded cells: rows `kCellStride` apart, 64-byte aligned. Bytes to the right of the columns may be
/// overwritten.
constexpr std::size_t kCellStride = kMaxPatch;
constexpr std::size_t kCellPixels = kMaxPatch * kCellStride;

enum class CellFault { none, width_above_8, rows_too_long, rows_too_short };

/// Bytes of a cell, and how far beyond it may be read (but not relied on): up to `readable_end`.
struct CellBytes {
    const std::uint8_t* begin = nullptr;
    const std::uint8_t* end = nullptr;
    const std::uint8_t* readable_end = nullptr;
};

/// Decodes a cell into `out`. Every row is checked against the cell's end before it is read.
using DecodeCell = CellFault (*)(CellBytes bytes, CellShape shape, Version version, std::uint8_t* out);

CellFault decode_cell_plain(CellBytes bytes, CellShape shape, Version version, std::uint8_t* out);
CellFault decode_cell_avx2(CellBytes bytes, CellShape shape, Version version, std::uint8_t* out);
CellFault decode_cell_avx512(CellBytes bytes, CellShape shape, Version version, std::uint8_t* out);

/// Writes `count` pixels of `channels` (2 to 4) planes, `kCellPixels` apart from `planes` on, as interleaved samples.
using Interleave = void (*)(const std::uint8_t* planes, std::uint32_t channels, std::uint32_t count, std::uint8_t* out);

void interleave_plain(const std::uint8_t* planes, std::uint32_t channels, std::uint32_t count, std::uint8_t* out);
void interleave_avx2(const std::uint8_t* planes, std::uint32_t channels, std::uint32_t count, std::uint8_t* out);
void interleave_avx512(const std::uint8_t* planes, std::uint32_t channels, std::uint32_t count, std::uint8_t* out);

/// Encodes plane `plane` of a patch (`patch.shape` is the patch's, at most kMaxPatch a side) as version 1.
///
/// Writes at most kMaxCellBytes and then up to 8 bytes of scratch; returns the end of the cell.
std::uint8_t* encode_cell(ConstImageView patch, std::uint32_t plane, std::uint8_t* out);

}  // namespace penstock::l3
