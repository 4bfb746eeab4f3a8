#include "codecs/jpeg_scan_write.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace penstock::jpeg {

namespace {

// What a block takes at most: 64 codes and magnitudes of 33 bits, and what is in store.
constexpr std::size_t kMaxBlockBytes = 320;

[[noreturn]] void fail(const std::string& what) {
    throw Error(ErrorCode::corrupt, what, "restoration data of a jpeg",
                "the data is damaged: restore it from its source");
}

/// Codes by symbol, with room for sizes of magnitudes that no symbol has; a length of 0 means that there is none.
struct CodeTable {
    struct Entry {
        std::uint16_t code;
        std::uint16_t length;
    };
    static constexpr unsigned kSizes = 18;  // of a run: DC differences of arbitrary coefficients have up to 17 bits

    std::array<Entry, std::size_t{16} * kSizes> entries;

    /// A code and the small value behind it, together: `bits << 8 | number of bits`, 0 for none.
    static constexpr int kSmall = 16;
    std::array<std::uint32_t, std::size_t{16} * 2 * kSmall> small;

    [[nodiscard]] const Entry& of(unsigned symbol) const noexcept {
        return entries[(symbol >> 4) * kSizes + (symbol & 15)];
    }

    void build(const HuffmanCode& code) noexcept {
        entries.fill({});
        unsigned next_code = 0;
        std::size_t index = 0;
        for (unsigned length = 1; length <= 16; ++length) {
            for (unsigned i = 0; i < code.counts[length]; ++i, ++next_code) {
                const unsigned symbol = code.symbols[index++];
                Entry& entry = entries[(symbol >> 4) * kSizes + (symbol & 15)];
                if (entry.length != 0) continue;  // listed twice: the shorter code counts
                entry = {static_cast<std::uint16_t>(next_code), static_cast<std::uint16_t>(length)};
            }
            next_code <<= 1;
        }
    }

    void build_small() noexcept {
        for (unsigned run = 0; run < 16; ++run) {
            for (int value = -kSmall; value < kSmall; ++value) {
                const auto size = static_cast<unsigned>(std::bit_width(static_cast<unsigned>(std::abs(value))));
                const Entry entry = entries[run * kSizes + size];
                const auto low = static_cast<std::uint32_t>(value < 0 ? value - 1 : value) & ((1U << size) - 1);
                const std::uint32_t bits = std::uint32_t{entry.code} << size | low;
                small[run * 2 * kSmall + static_cast<unsigned>(value + kSmall)] =
                    entry.length == 0 ? 0 : bits << 8 | (entry.length + size);
            }
        }
    }
};

/// Bits, most significant first, without the zero bytes that are stuffed later: nothing here depends on the data, so
/// nothing is mispredicted. Copy it into a local, use that, copy it back: stores of bytes would make the compiler load
/// its members again and again. The caller sees to room.
class PlainBits {
  public:
    [[nodiscard]] std::uint8_t* next() const noexcept { return next_; }
    void move_to(std::uint8_t* next) noexcept { next_ = next; }

    /// Appends a code and the low `size` (0 to 17) bits of `value`.
    [[gnu::always_inline]] void put(const CodeTable::Entry& entry, std::uint32_t value, unsigned size) noexcept {
        shortest_ = std::min<unsigned>(shortest_, entry.length);
        const std::uint32_t low = value & ((std::uint32_t{1} << size) - 1);
        put(std::uint32_t{entry.code} << size | low, entry.length + size);
    }

    /// Whether a code was appended that does not exist.
    [[nodiscard]] bool lacks_code() const noexcept { return shortest_ == 0; }

    /// Appends the low `count` (0 to 33) bits; those above must be zero. Writes eight bytes, of which only those count
    /// that are whole.
    [[gnu::always_inline]] void put(std::uint32_t bits, unsigned count) noexcept {
        const unsigned total = used_ + count;
        buffer_ |= std::uint64_t{bits} << 1 << (63 - total);
        std::uint64_t word = buffer_;
        if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
        std::memcpy(next_, &word, 8);
        next_ += total >> 3;
        buffer_ <<= total & 56;
        used_ = total & 7;
    }

    /// Bits to the next whole byte.
    [[nodiscard]] unsigned bits_to_pad() const noexcept { return (8 - used_) & 7; }

  private:
    std::uint8_t* next_ = nullptr;
    std::uint64_t buffer_ = 0;  // left-aligned
    unsigned used_ = 0;         // 0 to 7 between calls
    unsigned shortest_ = 16;    // of all codes
};

/// The file that is written, and a piece of a scan that waits for its stuffed bytes.
class Output {
  public:
    Output(ByteBuffer& out, std::size_t max_bytes) : out_(out), max_bytes_(max_bytes), piece_(kPieceBytes) {}

    /// Makes room for so many bytes of bits, at most `kMaxBlockBytes`.
    [[gnu::always_inline]] void need(std::size_t bytes, PlainBits& bits) {
        if (static_cast<std::size_t>(piece_.data() + kPieceBytes - bits.next()) >= bytes) [[likely]]
            return;
        drain(bits);
    }

    /// Where bits are put first.
    [[nodiscard]] std::uint8_t* begin() noexcept { return piece_.data(); }

    /// Moves whole bytes to the file, with a zero byte behind each 0xFF.
    void drain(PlainBits& bits) {
        const std::uint8_t* next = piece_.data();
        const std::uint8_t* const end = bits.next();
        while (next < end) {
            const void* found = std::memchr(next, 0xFF, static_cast<std::size_t>(end - next));
            const std::uint8_t* after = found != nullptr ? static_cast<const std::uint8_t*>(found) + 1 : end;
            append(next, static_cast<std::size_t>(after - next));
            static constexpr std::uint8_t kStuffed = 0;
            if (found != nullptr) append(&kStuffed, 1);
            next = after;
        }
        bits.move_to(piece_.data());
    }

    void append_marker(std::uint8_t marker) {
        const std::uint8_t bytes[2] = {0xFF, marker};
        append(bytes, sizeof bytes);
    }

  private:
    static constexpr std::size_t kPieceBytes = std::size_t{1} << 14;

    void append(const std::uint8_t* bytes, std::size_t size) {
        if (size > max_bytes_ - std::min(max_bytes_, out_.size())) {
            fail("restoration data describes a longer jpeg than it says");
        }
        out_.append(bytes, size);
    }

    ByteBuffer& out_;
    std::size_t max_bytes_;
    ByteBuffer piece_;
};

#if defined(__SSE2__)
std::uint64_t nonzero_places(const std::int16_t* block) noexcept {
    const __m128i zero = _mm_setzero_si128();
    std::uint64_t zeros = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * i));
        const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * i + 8));
        const __m128i equal = _mm_packs_epi16(_mm_cmpeq_epi16(first, zero), _mm_cmpeq_epi16(second, zero));
        zeros |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(equal))} << 16 * i;
    }
    return ~zeros;
}
#else
std::uint64_t nonzero_places(const std::int16_t* block) noexcept {
    std::uint64_t places = 0;
    for (unsigned k = 0; k < kBlockCoefficients; ++k) places |= std::uint64_t{block[k] != 0} << k;
    return places;
}
#endif

[[nodiscard]] unsigned size_of(unsigned magnitude) noexcept { return static_cast<unsigned>(std::bit_width(magnitude)); }

}  // namespace

struct ScanWriter::Tables {
    std::array<CodeTable, kMaxComponents> dc;
    std::array<CodeTable, kMaxComponents> ac;
    std::array<const CodeTable*, kMaxComponents> slot_dc{};  // components of a scan often share a code
    std::array<const CodeTable*, kMaxComponents> slot_ac{};

    void build(const Scan& scan) {
        for (std::size_t slot = 0; slot < scan.num_components; ++slot) {
            const ScanComponent& component = scan.components[slot];
            slot_dc[slot] = &dc[slot];
            slot_ac[slot] = &ac[slot];
            for (std::size_t other = 0; other < slot; ++other) {
                if (scan.components[other].dc == component.dc) slot_dc[slot] = slot_dc[other];
                if (scan.components[other].ac == component.ac) slot_ac[slot] = slot_ac[other];
            }
            if (component.dc != nullptr && slot_dc[slot] == &dc[slot]) dc[slot].build(*component.dc);
            if (component.ac == nullptr || slot_ac[slot] != &ac[slot]) continue;
            ac[slot].build(*component.ac);
            if (scan.kind() == Scan::Kind::sequential) ac[slot].build_small();
        }
    }
};

namespace {

/// One scan, from its first bit to its last.
template <typename Tables>
class WritePass {
  public:
    WritePass(ByteBuffer& out, std::size_t max_bytes, const Tables& tables, const Scan& scan, const ScanNotes& notes)
        : out_(out, max_bytes), tables_(tables), scan_(scan), notes_(notes), rule_(notes.end_runs) {
        bits_.move_to(out_.begin());
    }

    void sequential_block(std::size_t slot, const std::int16_t* block) {
        out_.need(kMaxBlockBytes, bits_);
        PlainBits bits = bits_;
        put_value(bits, *tables_.slot_dc[slot], 0, block[0] - last_dc_[slot]);
        last_dc_[slot] = block[0];
        const CodeTable& codes = *tables_.slot_ac[slot];
        std::uint64_t places = nonzero_places(block) & ~std::uint64_t{1};
        unsigned before = 0;
        while (places != 0) {
            const auto k = static_cast<unsigned>(std::countr_zero(places));
            places &= places - 1;
            unsigned run = k - before - 1;
            for (; run > 15; run -= 16) bits.put(codes.of(0xF0), 0, 0);
            const int value = block[k];
            const auto index = static_cast<unsigned>(value + CodeTable::kSmall);
            const std::uint32_t small =
                index < 2 * CodeTable::kSmall ? codes.small[run * 2 * CodeTable::kSmall + index] : 0;
            if (small != 0) [[likely]] {
                bits.put(small >> 8, small & 255);
            } else {
                put_value(bits, codes, run, value);
            }
            before = k;
        }
        unsigned left = 63 - before;
        if (has_extra_zeros()) [[unlikely]] {
            for (std::uint32_t i = take_extra_zeros(); i != 0; --i) put_extra_zeros(bits, codes, left);
        }
        if (left != 0) bits.put(codes.of(0), 0, 0);
        bits_ = bits;
        ++block_;
    }

    void dc_first_block(std::size_t slot, const std::int16_t* block) {
        out_.need(kMaxBlockBytes, bits_);
        put_dc(slot, block[0] >> scan_.low);
        ++block_;
    }

    void dc_refine_block(const std::int16_t* block) {
        out_.need(kMaxBlockBytes, bits_);
        bits_.put(static_cast<std::uint32_t>(block[0] >> scan_.low & 1), 1);
        ++block_;
    }

    void ac_first_block(const std::int16_t* block) {
        const CodeTable& codes = *tables_.slot_ac[0];
        unsigned run = 0;
        for (unsigned k = scan_.first; k <= scan_.last; ++k) {
            const int magnitude = std::abs(int{block[k]}) >> scan_.low;
            if (magnitude == 0) {
                ++run;
                continue;
            }
            flush_end_run();
            out_.need(kMaxBlockBytes, bits_);
            for (; run > 15; run -= 16) put_symbol(codes, 0xF0);
            put_value(bits_, codes, run, block[k] < 0 ? -magnitude : magnitude);
            run = 0;
        }
        for (std::uint32_t i = take_extra_zeros(); i != 0; --i) {
            flush_end_run();
            out_.need(kMaxBlockBytes, bits_);
            put_extra_zeros(bits_, codes, run);
        }
        if (run != 0) end_block();
        ++block_;
    }

    void ac_refine_block(const std::int16_t* block) {
        const CodeTable& codes = *tables_.slot_ac[0];
        const std::size_t corrections_before = corrections_.size();
        std::uint32_t extra = take_extra_zeros();
        unsigned last_new = 0;
        for (unsigned k = scan_.first; k <= scan_.last; ++k) {
            if (std::abs(int{block[k]}) >> scan_.low == 1) last_new = k;
        }
        unsigned run = 0;
        std::size_t begin = corrections_before;  // of the corrections since the last symbol
        for (unsigned k = scan_.first; k <= scan_.last; ++k) {
            const int magnitude = std::abs(int{block[k]}) >> scan_.low;
            if (magnitude == 0) {
                ++run;
                continue;
            }
            while (run > 15 && (k <= last_new || extra != 0)) {
                if (k > last_new) --extra;
                put_refinement(codes, 0xF0, begin);
                run -= 16;
            }
            if (magnitude > 1) {
                corrections_.push_back(static_cast<std::uint8_t>(magnitude & 1));
                continue;
            }
            put_refinement(codes, run << 4 | 1, begin, block[k] < 0 ? 0 : 1);
            run = 0;
        }
        for (; extra != 0; --extra) {
            if (run < 16) fail("restoration data has a run of zeros that does not fit its block");
            put_refinement(codes, 0xF0, begin);
            run -= 16;
        }
        if (run != 0 || corrections_.size() != begin) end_block();
        ++block_;
    }

    void restart() {
        end_interval();
        out_.append_marker(static_cast<std::uint8_t>(kRst0 + next_restart_));
        next_restart_ = (next_restart_ + 1) & 7;
        last_dc_.fill(0);
    }

    void finish() {
        end_interval();
        if (bits_.lacks_code()) fail("restoration data has a Huffman code without a symbol that the image needs");
        if (next_padding_ != notes_.padding_bits.size() || next_run_ != notes_.run_lengths.size() ||
            next_extra_ != notes_.extra_zeros.size()) {
            fail("restoration data describes more of a scan than there is");
        }
    }

  private:
    // A symbol and the magnitude behind it, whose bits are its own, or all inverted.
    [[gnu::always_inline]] static void put_value(PlainBits& bits, const CodeTable& codes, unsigned run,
                                                 int value) noexcept {
        const int sign = value >> 31;
        const unsigned size = size_of(static_cast<unsigned>((value ^ sign) - sign));
        bits.put(codes.entries[run * CodeTable::kSizes + size], static_cast<std::uint32_t>(value + sign), size);
    }

    void put_symbol(const CodeTable& codes, unsigned symbol) noexcept { bits_.put(codes.of(symbol), 0, 0); }

    void put_dc(std::size_t slot, int dc) noexcept {
        const int difference = dc - last_dc_[slot];
        last_dc_[slot] = dc;
        put_value(bits_, *tables_.slot_dc[slot], 0, difference);
    }

    static void put_extra_zeros(PlainBits& bits, const CodeTable& codes, unsigned& zeros) {
        if (zeros < 16) fail("restoration data has a run of zeros that does not fit its block");
        bits.put(codes.of(0xF0), 0, 0);
        zeros -= 16;
    }

    [[nodiscard]] bool has_extra_zeros() const noexcept {
        return next_extra_ != notes_.extra_zeros.size() && notes_.extra_zeros[next_extra_].block == block_;
    }

    [[nodiscard]] std::uint32_t take_extra_zeros() noexcept {
        return has_extra_zeros() ? notes_.extra_zeros[next_extra_++].runs : 0;
    }

    // A symbol of a refining scan, its sign if it has one, and the corrections that were passed on the way to it. Those
    // lie behind the corrections of the run that is flushed first.
    void put_refinement(const CodeTable& codes, unsigned symbol, std::size_t& begin, int sign = -1) {
        const std::size_t own = corrections_.size() - begin;
        const std::size_t waiting = begin;
        flush_end_run(waiting);
        out_.need(kMaxBlockBytes, bits_);
        put_symbol(codes, symbol);
        if (sign >= 0) bits_.put(static_cast<std::uint32_t>(sign), 1);
        put_corrections(corrections_.size() - own, corrections_.size());
        corrections_.clear();
        begin = 0;
    }

    void put_corrections(std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            if ((i - begin) % 1024 == 0) out_.need(kMaxBlockBytes, bits_);
            bits_.put(corrections_[i], 1);
        }
    }

    // A block that does not end with its last coefficient: one more of the run.
    void end_block() {
        ++end_run_;
        if (notes_.end_runs != EndRuns::explicit_) {
            if (rule_.is_full(end_run_, static_cast<std::uint32_t>(corrections_.size()))) flush_whole_run();
            return;
        }
        if (next_run_ == notes_.run_lengths.size()) fail("restoration data lacks the length of a run of blocks");
        if (end_run_ == notes_.run_lengths[next_run_]) flush_whole_run();
    }

    void flush_whole_run() {
        flush_end_run(corrections_.size());
        corrections_.clear();
    }

    void flush_end_run() {
        if (end_run_ != 0) flush_whole_run();
    }

    // Ends the run of blocks, if there is one; the first `num_corrections` belong to it.
    void flush_end_run(std::size_t num_corrections) {
        if (end_run_ == 0) return;
        if (notes_.end_runs == EndRuns::explicit_ && end_run_ != notes_.run_lengths[next_run_++]) {
            fail("restoration data has a run of blocks that goes on behind its end");
        }
        out_.need(kMaxBlockBytes, bits_);
        const unsigned size = size_of(end_run_) - 1;
        put_symbol(*tables_.slot_ac[0], size << 4);
        bits_.put(end_run_ & ((1U << size) - 1), size);
        put_corrections(0, num_corrections);
        end_run_ = 0;
    }

    void end_interval() {
        flush_end_run();
        out_.need(kMaxBlockBytes, bits_);
        for (unsigned count = bits_.bits_to_pad(); count != 0; --count) bits_.put(next_padding_bit(), 1);
        out_.drain(bits_);
    }

    [[nodiscard]] std::uint32_t next_padding_bit() {
        if (notes_.padding != Padding::explicit_) return notes_.padding == Padding::ones ? 1 : 0;
        if (next_padding_ == notes_.padding_bits.size()) fail("restoration data lacks bits that pad an interval");
        return notes_.padding_bits[next_padding_++];
    }

    Output out_;
    PlainBits bits_;
    const Tables& tables_;
    const Scan& scan_;
    const ScanNotes& notes_;
    RunRule rule_;
    std::array<int, kMaxComponents> last_dc_{};
    std::vector<std::uint8_t>
        corrections_;  // bits of blocks in the run, then those of this block since its last symbol
    std::uint32_t end_run_ = 0;
    std::uint32_t block_ = 0;
    std::size_t next_padding_ = 0;
    std::size_t next_run_ = 0;
    std::size_t next_extra_ = 0;
    unsigned next_restart_ = 0;
};

// What libjpeg puts into fill blocks: the DC of the block before, which is of the same MCU, and nothing else.
class FillBlocks {
  public:
    [[nodiscard]] const std::int16_t* block(std::size_t slot, const std::int16_t* block) noexcept {
        if (block == nullptr) return blocks_[slot].data();
        blocks_[slot][0] = block[0];
        return block;
    }

  private:
    std::array<std::array<std::int16_t, kBlockCoefficients>, kMaxComponents> blocks_{};
};

}  // namespace

ScanWriter::ScanWriter(ByteBuffer& out, std::size_t max_bytes)
    : out_(out), max_bytes_(max_bytes), tables_(std::make_unique<Tables>()) {}

ScanWriter::~ScanWriter() = default;

void ScanWriter::write(const Scan& scan, const std::array<Plane<const std::int16_t>, kMaxComponents>& planes,
                       const ScanNotes& notes) {
    tables_->build(scan);
    WritePass pass(out_, max_bytes_, *tables_, scan, notes);
    FillBlocks fills;
    const auto visit = [&](auto code_block) {
        BlockVisit(
            scan, planes,
            [&](std::size_t slot, const std::int16_t* block) { code_block(slot, fills.block(slot, block)); },
            [&] { pass.restart(); })
            .run();
    };
    using Block = const std::int16_t*;
    switch (scan.kind()) {
        case Scan::Kind::sequential:
            visit([&](std::size_t slot, Block block) { pass.sequential_block(slot, block); });
            break;
        case Scan::Kind::dc_first:
            visit([&](std::size_t slot, Block block) { pass.dc_first_block(slot, block); });
            break;
        case Scan::Kind::dc_refine: visit([&](std::size_t, Block block) { pass.dc_refine_block(block); }); break;
        case Scan::Kind::ac_first: visit([&](std::size_t, Block block) { pass.ac_first_block(block); }); break;
        case Scan::Kind::ac_refine: visit([&](std::size_t, Block block) { pass.ac_refine_block(block); }); break;
    }
    pass.finish();
}

}  // namespace penstock::jpeg
