// Huffman decoding of files with one sequential scan, in the place of libjpeg's own decoder. One lookup gives up to two
// coefficients, magnitudes included; blocks that nobody wants are stepped over without being stored.
//
// Its plain twin is libjpeg's decoder: the same bytes give the same coefficients. It finds all damage that its twin
// finds in what it reads, and codes that do not exist, which libjpeg-turbo takes for zeros.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "codecs/jpeg_bits.h"
#include "codecs/jpeg_blocks.h"
#include "codecs/jpeg_huffman_tables.h"
#include "codecs/jpeg_library.h"
#include "codecs/jpeg_rows.h"

namespace penstock::jpeg {

class HuffmanDecoder {
  public:
    /// MCU columns of every row, half-open.
    struct Columns {
        JDIMENSION begin;
        JDIMENSION end;
    };

    /// Whether it can take this file over: one sequential, Huffman-coded scan, long enough to be worth its tables.
    [[nodiscard]] static bool suits(jpeg_decompress_struct& info) noexcept;

    /// Decodes for `info` from now on, which must stand right after jpeg_start_decompress, and must not be asked for
    /// rows or skips once this is gone. Coefficients outside of `columns` are left zero. Rows that the file, `data`,
    /// keeps the offsets of are entered directly.
    HuffmanDecoder(jpeg_decompress_struct& info, ByteView data, Columns columns);
    HuffmanDecoder(const HuffmanDecoder&) = delete;
    HuffmanDecoder& operator=(const HuffmanDecoder&) = delete;

  private:
    struct Tables {
        std::array<AcTable, NUM_HUFF_TBLS> ac;
        std::array<DcTable, NUM_HUFF_TBLS> dc;
    };

    static boolean decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks);
    [[nodiscard]] bool begin_interval(jpeg_decompress_struct& info);
    void enter_interval(const std::uint8_t* begin) noexcept;
    boolean give_up(jpeg_decompress_struct& info, int message) const;

    BitReader bits_;
    const std::uint8_t* begin_;
    const std::uint8_t* end_;
    BlockKernels kernels_;
    std::unique_ptr<Tables> tables_;
    std::array<BlockTables, D_MAX_BLOCKS_IN_MCU> blocks_{};
    std::array<unsigned, MAX_COMPS_IN_SCAN> last_dc_{};  // unsigned: damaged data may make it overflow
    std::size_t num_blocks_;

    Columns columns_;
    JDIMENSION column_ = 0;
    JDIMENSION num_columns_;

    unsigned restart_interval_;  // MCUs, 0 without restart markers
    unsigned mcus_to_restart_;
    unsigned next_restart_ = 0;  // 0 to 7
    bool rows_restart_;          // every MCU row begins with a restart
    bool stepped_over_ = false;  // something of this interval was not read
    RowOffsets row_offsets_;
    std::size_t row_ = 0;  // if there are offsets: an interval is a row then
};

}  // namespace penstock::jpeg
