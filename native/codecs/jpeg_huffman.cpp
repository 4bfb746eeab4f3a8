#include "codecs/jpeg_huffman.h"

#include <cstring>
#include <span>

namespace penstock::jpeg {

namespace {

// The head of libjpeg's entropy decoding module, whose methods are there to be replaced. It is the same in libjpeg 6b
// and in every 2.x and 3.x of libjpeg-turbo; its header, jpegint.h, is not installed everywhere.
struct EntropyModule {
    void (*start_pass)(j_decompress_ptr);
    boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW*);
};
constexpr bool kModuleIsKnown = LIBJPEG_TURBO_VERSION_NUMBER >= 2000000 && LIBJPEG_TURBO_VERSION_NUMBER < 4000000;

CodeDefinition definition_of(const JHUFF_TBL& table) {
    return {std::span<const std::uint8_t, 17>(table.bits), std::span<const std::uint8_t, 256>(table.huffval)};
}

// The code of the next marker from `position` on, whatever stands before it; `end` if there is none.
const std::uint8_t* find_marker(const std::uint8_t* position, const std::uint8_t* end) {
    while (position < end) {
        const auto* found = std::memchr(position, 0xFF, static_cast<std::size_t>(end - position));
        if (found == nullptr) return end;
        position = static_cast<const std::uint8_t*>(found);
        while (position < end && *position == 0xFF) ++position;
        if (position < end && *position != 0) return position;
    }
    return end;
}

}  // namespace

void BitReader::refill_by_byte() noexcept {
    buffer_ = num_bits_ == 0 ? 0 : buffer_ & ~std::uint64_t{0} << (64 - num_bits_);
    for (; num_bits_ < 56; num_bits_ += 8) {
        const std::uint8_t* after = next_;
        while (after < end_ && *after == 0xFF) ++after;
        if (after == end_ || (after != next_ && *after != 0)) {  // a marker, or nothing more
            num_padding_ += 8;
            continue;
        }
        buffer_ |= std::uint64_t{after == next_ ? *after : 0xFFU} << (56 - num_bits_);
        next_ = after + 1;
    }
    const void* found = std::memchr(next_, 0xFF, static_cast<std::size_t>(end_ - next_));
    clear_end_ = found != nullptr ? static_cast<const std::uint8_t*>(found) : end_;
}

bool HuffmanDecoder::suits(jpeg_decompress_struct& info) noexcept {
    return kModuleIsKnown && !info.progressive_mode && !info.arith_code && !jpeg_has_multiple_scans(&info) &&
           info.src->bytes_in_buffer >= kLeastScanBytes;
}

HuffmanDecoder::HuffmanDecoder(jpeg_decompress_struct& info, ByteView data, Columns columns)
    : bits_(info.src->next_input_byte, info.src->next_input_byte + info.src->bytes_in_buffer),
      begin_(info.src->next_input_byte),
      end_(info.src->next_input_byte + info.src->bytes_in_buffer),
      kernels_(active_block_kernels()),
      tables_(new Tables),
      num_blocks_(static_cast<std::size_t>(info.blocks_in_MCU)),
      columns_(columns),
      num_columns_(info.MCUs_per_row),
      restart_interval_(info.restart_interval),
      mcus_to_restart_(info.restart_interval),
      rows_restart_(restart_interval_ != 0 && num_columns_ % restart_interval_ == 0) {
    if (restart_interval_ != 0 && restart_interval_ == num_columns_) {
        row_offsets_ = RowOffsets(data, {begin_, end_}, info.MCU_rows_in_scan);
    }
    unsigned ac_built = 0;
    unsigned dc_built = 0;
    for (std::size_t i = 0; i < num_blocks_; ++i) {
        const int index = info.MCU_membership[i];
        const int ac = info.cur_comp_info[index]->ac_tbl_no;
        const int dc = info.cur_comp_info[index]->dc_tbl_no;
        if ((ac_built >> ac & 1) == 0) tables_->ac[ac].build(definition_of(*info.ac_huff_tbl_ptrs[ac]));
        if ((dc_built >> dc & 1) == 0) tables_->dc[dc].build(definition_of(*info.dc_huff_tbl_ptrs[dc]));
        ac_built |= 1U << ac;
        dc_built |= 1U << dc;
        blocks_[i] = {tables_->ac[ac].entries.data(), &tables_->ac[ac].codes, tables_->dc[dc].entries.data(),
                      &tables_->dc[dc].codes, &last_dc_[index]};
    }
    info.client_data = this;
    reinterpret_cast<EntropyModule*>(info.entropy)->decode_mcu = decode_mcu;
}

boolean HuffmanDecoder::decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks) {
    auto& self = *static_cast<HuffmanDecoder*>(info->client_data);
    if (self.restart_interval_ != 0 && self.mcus_to_restart_-- == 0 && !self.begin_interval(*info)) return FALSE;
    const JDIMENSION column = self.column_;
    self.column_ = column + 1 == self.num_columns_ ? 0 : column + 1;
    const bool wanted = blocks != nullptr && column >= self.columns_.begin && column < self.columns_.end;
    // libjpeg skips whole rows: where those restart, nothing of a skipped one, or right of the columns, is needed
    // later.
    if (!wanted && self.rows_restart_ && (blocks == nullptr || column >= self.columns_.end)) {
        self.stepped_over_ = true;
        return TRUE;
    }
    const DecodeBlocks decode = wanted ? self.kernels_.store : self.kernels_.step_over;
    const bool known = decode(self.bits_, self.blocks_.data(), self.num_blocks_, blocks);
    if (self.bits_.overrun()) return self.give_up(*info, JWRN_HIT_MARKER);
    if (!known) return self.give_up(*info, JWRN_HUFF_BAD_CODE);
    return TRUE;
}

bool HuffmanDecoder::begin_interval(jpeg_decompress_struct& info) {
    const std::uint8_t* kept = nullptr;
    if (row_offsets_.has(++row_)) {
        const std::size_t offset = row_offsets_[row_];  // checked when they were found, but the memory is the caller's
        if (offset > static_cast<std::size_t>(end_ - begin_)) return give_up(info, JWRN_HIT_MARKER) != FALSE;
        kept = begin_ + offset;
    }
    if (kept != nullptr && stepped_over_) {
        enter_interval(kept);
        return true;
    }
    const std::uint8_t* marker = find_marker(bits_.next(), end_);
    bits_ = BitReader(marker, end_);
    if (marker == end_) return give_up(info, JWRN_HIT_MARKER) != FALSE;
    if (*marker != JPEG_RST0 + next_restart_) {
        info.err->msg_parm.i[0] = *marker;
        info.err->msg_parm.i[1] = static_cast<int>(next_restart_);
        return give_up(info, JWRN_MUST_RESYNC) != FALSE;
    }
    if (kept != nullptr && kept != marker + 1) {  // another row's beginning: who enters by it would get other pixels
        info.err->msg_parm.i[0] = static_cast<int>(kept - marker - 1);
        info.err->msg_parm.i[1] = *marker;
        return give_up(info, JWRN_EXTRANEOUS_DATA) != FALSE;
    }
    enter_interval(marker + 1);
    return true;
}

void HuffmanDecoder::enter_interval(const std::uint8_t* begin) noexcept {
    bits_ = BitReader(begin, end_);
    next_restart_ = (next_restart_ + 1) & 7;
    mcus_to_restart_ = restart_interval_ - 1;
    last_dc_.fill(0);
    stepped_over_ = false;
}

boolean HuffmanDecoder::give_up(jpeg_decompress_struct& info, int message) const {
    info.src->next_input_byte = bits_.next();
    info.src->bytes_in_buffer = static_cast<std::size_t>(end_ - bits_.next());
    if (info.src->bytes_in_buffer < 2) info.src->fill_input_buffer(&info);  // tells that the data has ended
    ERREXIT(&info, message);
    return FALSE;
}

}  // namespace penstock::jpeg
