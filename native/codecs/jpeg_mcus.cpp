#include "codecs/jpeg_mcus.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace penstock::jpeg {

namespace {

CodeDefinition definition_of(const JHUFF_TBL& table) {
    return {std::span<const std::uint8_t, 17>(table.bits), std::span<const std::uint8_t, 256>(table.huffval)};
}

// As libjpeg judges it: no more codes of a length than are left, and differences of DC in 15 bits.
bool is_code(const JHUFF_TBL* table, bool is_dc) {
    if (table == nullptr) return false;
    std::uint32_t next_code = 0;
    std::size_t num_symbols = 0;
    for (std::size_t length = 1; length <= 16; ++length) {
        num_symbols += table->bits[length];
        next_code += table->bits[length];
        if (num_symbols > 256 || next_code >= std::uint32_t{1} << length) return false;  // all ones is no code
        next_code <<= 1;
    }
    if (!is_dc) return true;
    return std::all_of(table->huffval, table->huffval + num_symbols, [](UINT8 symbol) { return symbol <= 15; });
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

std::uint32_t divide_up(std::uint32_t value, std::uint32_t by) { return (value + by - 1) / by; }

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

bool McuReader::suits(jpeg_decompress_struct& info) noexcept {
    return !info.progressive_mode && !info.arith_code && info.data_precision == 8 && !jpeg_has_multiple_scans(&info) &&
           info.src->bytes_in_buffer >= kLeastScanBytes;
}

bool McuReader::has_valid_tables(const jpeg_decompress_struct& info) noexcept {
    for (int i = 0; i < info.comps_in_scan; ++i) {
        const jpeg_component_info& component = *info.cur_comp_info[i];
        const auto in_range = [](int index, int limit) { return index >= 0 && index < limit; };
        if (!in_range(component.ac_tbl_no, NUM_HUFF_TBLS) || !in_range(component.dc_tbl_no, NUM_HUFF_TBLS) ||
            !in_range(component.quant_tbl_no, NUM_QUANT_TBLS)) {
            return false;
        }
        if (!is_code(info.ac_huff_tbl_ptrs[component.ac_tbl_no], false) ||
            !is_code(info.dc_huff_tbl_ptrs[component.dc_tbl_no], true) ||
            info.quant_tbl_ptrs[component.quant_tbl_no] == nullptr) {
            return false;
        }
    }
    return true;
}

McuReader::McuReader(const jpeg_decompress_struct& info, ByteView data)
    : bits_(info.src->next_input_byte, info.src->next_input_byte + info.src->bytes_in_buffer),
      begin_(info.src->next_input_byte),
      end_(info.src->next_input_byte + info.src->bytes_in_buffer),
      kernels_(active_block_kernels()),
      tables_(new Tables),
      restart_interval_(info.restart_interval),
      mcus_to_restart_(info.restart_interval) {
    // A lone component has one block in its MCU, whatever its sampling factors say.
    const bool is_lone = info.comps_in_scan == 1;
    const auto mcu_side = [&](int factor) { return static_cast<std::uint32_t>(is_lone ? 1 : factor) * DCTSIZE; };
    num_columns_ = divide_up(info.image_width, mcu_side(info.max_h_samp_factor));
    const std::uint32_t num_rows = divide_up(info.image_height, mcu_side(info.max_v_samp_factor));
    rows_restart_ = restart_interval_ != 0 && num_columns_ % restart_interval_ == 0;
    if (restart_interval_ != 0 && restart_interval_ == num_columns_) {
        row_offsets_ = RowOffsets(data, {begin_, end_}, num_rows);
    }
    build_tables(info);
}

void McuReader::build_tables(const jpeg_decompress_struct& info) {
    unsigned ac_built = 0;
    unsigned dc_built = 0;
    for (int i = 0; i < info.comps_in_scan; ++i) {
        const jpeg_component_info& component = *info.cur_comp_info[i];
        const int ac = component.ac_tbl_no;
        const int dc = component.dc_tbl_no;
        if ((ac_built >> ac & 1) == 0) tables_->ac[ac].build(definition_of(*info.ac_huff_tbl_ptrs[ac]));
        if ((dc_built >> dc & 1) == 0) tables_->dc[dc].build(definition_of(*info.dc_huff_tbl_ptrs[dc]));
        ac_built |= 1U << ac;
        dc_built |= 1U << dc;
        const int num_blocks = info.comps_in_scan == 1 ? 1 : component.h_samp_factor * component.v_samp_factor;
        for (int block = 0; block < num_blocks && num_blocks_ < blocks_.size(); ++block) {
            blocks_[num_blocks_++] = {tables_->ac[ac].entries.data(), &tables_->ac[ac].codes,
                                      tables_->dc[dc].entries.data(), &tables_->dc[dc].codes, &last_dc_[i]};
        }
    }
}

bool McuReader::step_over(std::uint32_t num_mcus, bool up_to_a_restart) {
    if (!up_to_a_restart || restart_interval_ == 0) {
        return read(num_mcus, [this](BitReader& bits, std::uint32_t, std::uint32_t count) {
            bool known = true;
            for (std::uint32_t i = 0; i < count && known; ++i) {
                known = kernels_.step_over(bits, blocks_.data(), num_blocks_, nullptr);
            }
            return known;
        });
    }
    while (num_mcus > 0) {
        if (!begin_interval_if_due()) return false;
        const std::uint32_t count = mcus_of_interval(num_mcus);
        stepped_over_ = true;
        num_mcus -= count;
        pass(count);
    }
    return true;
}

bool McuReader::begin_interval() {
    const std::uint8_t* kept = nullptr;
    if (row_offsets_.has(++row_)) {
        const std::size_t offset = row_offsets_[row_];  // checked when they were found, but the memory is the caller's
        if (offset > static_cast<std::size_t>(end_ - begin_)) return fail(JWRN_HIT_MARKER);
        kept = begin_ + offset;
    }
    if (kept != nullptr && stepped_over_) {
        enter_interval(kept);
        return true;
    }
    const std::uint8_t* marker = find_marker(bits_.next(), end_);
    bits_ = BitReader(marker, end_);
    if (marker == end_) return fail(JWRN_HIT_MARKER);
    if (*marker != JPEG_RST0 + next_restart_) {
        return fail(JWRN_MUST_RESYNC, *marker, static_cast<int>(next_restart_));
    }
    if (kept != nullptr && kept != marker + 1) {  // another row's beginning: who enters by it would get other pixels
        return fail(JWRN_EXTRANEOUS_DATA, static_cast<int>(kept - marker - 1), *marker);
    }
    enter_interval(marker + 1);
    return true;
}

void McuReader::enter_interval(const std::uint8_t* begin) noexcept {
    bits_ = BitReader(begin, end_);
    next_restart_ = (next_restart_ + 1) & 7;
    mcus_to_restart_ = restart_interval_;
    last_dc_.fill(0);
    stepped_over_ = false;
}

bool McuReader::fail(int message, int first, int second) noexcept {
    message_ = message;
    message_values_ = {first, second};
    return false;
}

void McuReader::give_up(jpeg_decompress_struct& info) const {
    info.src->next_input_byte = bits_.next();
    info.src->bytes_in_buffer = static_cast<std::size_t>(end_ - bits_.next());
    if (info.src->bytes_in_buffer < 2) info.src->fill_input_buffer(&info);  // tells that the data has ended
    std::copy(message_values_.begin(), message_values_.end(), info.err->msg_parm.i);
    ERREXIT(&info, message_);
    __builtin_unreachable();  // the error exit does not return
}

}  // namespace penstock::jpeg
