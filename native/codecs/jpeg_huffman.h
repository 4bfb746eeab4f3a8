// Huffman decoding of files with one sequential scan, in the place of libjpeg's own decoder: where libjpeg makes the
// pixels. jpeg_strips.h does without libjpeg altogether.
//
// Its plain twin is libjpeg's decoder: the same bytes give the same coefficients. It finds all damage that its twin
// finds in what it reads, and codes that do not exist, which libjpeg-turbo takes for zeros.
#pragma once

#include <cstdint>

#include "codecs/jpeg_library.h"
#include "codecs/jpeg_mcus.h"

namespace penstock::jpeg {

class HuffmanDecoder {
  public:
    /// MCU columns of every row, half-open.
    struct Columns {
        JDIMENSION begin;
        JDIMENSION end;
    };

    /// Whether it can take this file over.
    [[nodiscard]] static bool suits(jpeg_decompress_struct& info) noexcept;

    /// Decodes for `info` from now on, which must stand right after jpeg_start_decompress, and must not be asked for
    /// rows or skips once this is gone. Coefficients outside of `columns` are left zero. Rows that the file, `data`,
    /// keeps the offsets of are entered directly.
    HuffmanDecoder(jpeg_decompress_struct& info, ByteView data, Columns columns);
    HuffmanDecoder(const HuffmanDecoder&) = delete;
    HuffmanDecoder& operator=(const HuffmanDecoder&) = delete;

  private:
    static boolean decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks);

    McuReader reader_;
    DecodeBlocks store_;
    Columns columns_;
    JDIMENSION column_ = 0;
};

}  // namespace penstock::jpeg
