// Walks over the MCUs of one sequential, Huffman-coded scan: tables, restart intervals, rows that the file keeps the
// offsets of, and damage. What happens to the coefficients is up to the kernels that it is called with.
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

/// Reads MCUs in their order. Its functions return false at damage, after which only `give_up` may be called.
class McuReader {
  public:
    /// Whether our decoder takes this file: one sequential, Huffman-coded scan of 8-bit samples, long enough to be
    /// worth its tables. `info` must have read the header.
    [[nodiscard]] static bool suits(jpeg_decompress_struct& info) noexcept;

    /// Whether the Huffman and quantisation tables that the scan names exist and are codes; libjpeg checks the same
    /// when it starts to decompress.
    [[nodiscard]] static bool has_valid_tables(const jpeg_decompress_struct& info) noexcept;

    /// Starts at the first MCU. The Huffman tables must be valid, the scan's bytes stay those of `info`'s source, and
    /// `data` is the file. Needs no more of `info` than its header.
    McuReader(const jpeg_decompress_struct& info, ByteView data);

    [[nodiscard]] std::size_t num_blocks() const noexcept { return num_blocks_; }
    /// How block i of an MCU is coded. Pointers into this object.
    [[nodiscard]] const BlockTables& block(std::size_t i) const noexcept { return blocks_[i]; }
    /// MCUs in a row.
    [[nodiscard]] std::uint32_t num_columns() const noexcept { return num_columns_; }

    /// Runs `decode(bits, first, count)`, which is to read `count` MCUs from `bits` and to return false at a code that
    /// does not exist, for the next `num_mcus` MCUs; more than once if intervals end among them. `first` counts from
    /// the first of these MCUs.
    template <typename Decode>
    [[nodiscard]] bool read(std::uint32_t num_mcus, Decode&& decode) {
        for (std::uint32_t first = 0; first < num_mcus;) {
            if (!begin_interval_if_due()) return false;
            const std::uint32_t count = mcus_of_interval(num_mcus - first);
            const bool known = decode(bits_, first, count);
            if (bits_.overrun()) return fail(JWRN_HIT_MARKER);
            if (!known) return fail(JWRN_HUFF_BAD_CODE);
            first += count;
            pass(count);
        }
        return true;
    }

    /// Steps over MCUs whose coefficients are not wanted. What is between here and the next restart is not read at all
    /// where `up_to_a_restart` says that nothing behind it is needed before one.
    [[nodiscard]] bool step_over(std::uint32_t num_mcus, bool up_to_a_restart);

    /// Whether every row of MCUs begins with a restart.
    [[nodiscard]] bool rows_restart() const noexcept { return rows_restart_; }

    /// Leaves by libjpeg's error exit, with what was found and where. Call it inside of `Decompressor::run`.
    [[noreturn]] void give_up(jpeg_decompress_struct& info) const;

  private:
    struct Tables {
        std::array<AcTable, NUM_HUFF_TBLS> ac;
        std::array<DcTable, NUM_HUFF_TBLS> dc;
    };

    void build_tables(const jpeg_decompress_struct& info);
    [[nodiscard]] bool begin_interval_if_due() {
        return restart_interval_ == 0 || mcus_to_restart_ != 0 || begin_interval();
    }
    [[nodiscard]] std::uint32_t mcus_of_interval(std::uint32_t wanted) const noexcept {
        return restart_interval_ != 0 && mcus_to_restart_ < wanted ? mcus_to_restart_ : wanted;
    }
    void pass(std::uint32_t count) noexcept {
        if (restart_interval_ != 0) mcus_to_restart_ -= count;
    }
    [[nodiscard]] bool begin_interval();
    void enter_interval(const std::uint8_t* begin) noexcept;
    [[nodiscard]] bool fail(int message, int first = 0, int second = 0) noexcept;

    BitReader bits_;
    const std::uint8_t* begin_;
    const std::uint8_t* end_;
    BlockKernels kernels_;
    std::unique_ptr<Tables> tables_;
    std::array<BlockTables, D_MAX_BLOCKS_IN_MCU> blocks_{};
    std::array<unsigned, MAX_COMPS_IN_SCAN> last_dc_{};  // unsigned: damaged data may make it overflow
    std::size_t num_blocks_ = 0;
    std::uint32_t num_columns_ = 0;

    std::uint32_t restart_interval_;  // MCUs, 0 without restart markers
    std::uint32_t mcus_to_restart_;
    unsigned next_restart_ = 0;  // 0 to 7
    bool rows_restart_ = false;
    bool stepped_over_ = false;  // something of this interval was not read
    RowOffsets row_offsets_;
    std::size_t row_ = 0;  // if there are offsets: an interval is a row then

    int message_ = 0;  // libjpeg's, of the damage
    std::array<int, 2> message_values_{};
};

}  // namespace penstock::jpeg
