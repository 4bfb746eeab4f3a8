#include "codecs/jpeg_scan_read.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "codecs/codec.h"

namespace penstock::jpeg {

namespace {

// Zeros behind an interval. A block takes at most 64 codes and magnitudes of 31 bits: damaged data is noticed before it
// has read as far as that.
constexpr std::size_t kSlackBytes = 512;

/// The bits of an interval that has no stuffed bytes, most significant first. Copy it into a local to keep it in
/// registers. Reads at most `kSlackBytes` past the end, if the caller looks at `overrun` after each block.
class CleanBits {
  public:
    CleanBits() = default;
    CleanBits(const std::uint8_t* begin, std::size_t size) noexcept : begin_(begin), next_(begin), size_(size) {}

    /// Has 56 bits or more in store afterwards.
    void refill() noexcept {
        std::uint64_t word = 0;
        std::memcpy(&word, next_, 8);
        if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
        // Bits below `num_bits_` may be there already; they are the same bits, so or-ing them again does no harm.
        buffer_ |= word >> num_bits_;
        next_ += (63 - num_bits_) >> 3;
        num_bits_ |= 56;
    }

    /// The next `count` bits, 1 to 16.
    [[nodiscard]] std::size_t peek(unsigned count) const noexcept { return buffer_ >> (64 - count); }

    void consume(unsigned count) noexcept {
        buffer_ <<= count;
        num_bits_ -= count;
    }

    /// Takes `count` bits, 0 to 16, as a number.
    [[nodiscard]] unsigned take(unsigned count) noexcept {
        const auto value = static_cast<unsigned>(buffer_ >> 1 >> (63 - count));
        consume(count);
        return value;
    }

    /// Takes the `size` (0 to 15) bits of a coefficient and gives its value.
    [[nodiscard]] int receive(unsigned size) noexcept {
        const int magnitude = static_cast<int>(buffer_ >> 1 >> (63 - size));
        const int negative = static_cast<std::int64_t>(buffer_) < 0 ? 0 : -1;  // a leading zero bit means so
        consume(size);
        return magnitude + (negative & ((-1 << size) + 1));
    }

    [[nodiscard]] std::size_t bits_used() const noexcept {
        return static_cast<std::size_t>(next_ - begin_) * 8 - num_bits_;
    }
    [[nodiscard]] bool overrun() const noexcept { return bits_used() > size_ * 8; }

  private:
    std::uint64_t buffer_ = 0;  // left-aligned
    unsigned num_bits_ = 0;
    const std::uint8_t* begin_ = nullptr;
    const std::uint8_t* next_ = nullptr;
    std::size_t size_ = 0;
};

/// Any symbol by its code, for progressive scans.
struct SymbolTable {
    static constexpr unsigned kBits = 9;

    struct Entry {
        std::uint8_t length;  // 0: longer than this table knows
        std::uint8_t symbol;
    };

    std::array<Entry, std::size_t{1} << kBits> entries;
    LongCodes codes;

    void build(const CodeDefinition& code) noexcept {
        codes.build(code);
        entries.fill({});
        std::size_t index = 0;
        std::size_t place = 0;
        for (unsigned length = 1; length <= kBits; ++length) {
            for (unsigned i = 0; i < code.counts[length]; ++i) {
                const Entry entry{static_cast<std::uint8_t>(length), code.symbols[index++]};
                const std::size_t count = std::size_t{1} << (kBits - length);
                std::fill_n(entries.begin() + static_cast<std::ptrdiff_t>(place), count, entry);
                place += count;
            }
        }
    }

    /// False if there is no such code. Needs 16 bits in store.
    [[nodiscard]] bool take(CleanBits& bits, unsigned& symbol) const noexcept {
        const Entry entry = entries[bits.peek(kBits)];
        unsigned length = entry.length;
        symbol = entry.symbol;
        if (length == 0) {
            const LongCodes::Found found = codes.find(bits.peek(16), kBits + 1);
            if (found.length == 0) return false;
            length = found.length;
            symbol = found.symbol;
        }
        bits.consume(length);
        return true;
    }
};

[[nodiscard]] bool fits(int value) noexcept { return value >= -32767 && value <= 32767; }

[[nodiscard]] [[gnu::always_inline]] inline bool take_dc(CleanBits& bits, const DcTable& table,
                                                         int& difference) noexcept {
    bits.refill();
    DcTable::Entry entry = table.entries[bits.peek(DcTable::kBits)];
    if (entry.length == 0) [[unlikely]] {
        const LongCodes::Found found = table.codes.find(bits.peek(16), DcTable::kBits + 1);
        if (found.length == 0) return false;
        entry = {static_cast<std::uint8_t>(found.length), static_cast<std::uint8_t>(found.symbol)};
    }
    bits.consume(entry.length);
    difference = bits.receive(entry.size);
    return true;
}

// Takes the AC coefficients of a sequential block, which must be zero. `end` is the place of the last coefficient or
// run of zeros that was coded; 0 if there is none. Returns false at a code or a place that does not exist.
[[nodiscard]] [[gnu::always_inline]] inline bool take_ac(CleanBits& bits, const AcTable& table, std::int16_t* block,
                                                         unsigned& end) noexcept {
    unsigned k = 1;
    for (;;) {
        // The lookup uses bits from before the refill, so that the two run side by side: 25 are in store at least.
        const AcTable::Entry entry = table.entries[bits.peek(AcTable::kBits)];
        bits.refill();
        if (entry.length == 0) [[unlikely]] {
            unsigned length = entry.first_length;
            AcSymbol symbol{entry.run, static_cast<unsigned>(entry.first)};
            if (length == 0) {
                const LongCodes::Found found = table.codes.find(bits.peek(16), AcTable::kBits + 1);
                if (found.length == 0) return false;
                length = found.length;
                symbol = AcSymbol::of(found.symbol);
            }
            bits.consume(length);
            const int value = bits.receive(symbol.size);
            bits.refill();
            if (symbol.run == kEndOfBlock) {
                end = k - 1;
                return true;
            }
            k += symbol.run;
            if (k > 63) return false;
            block[k] = static_cast<std::int16_t>(value);
            if (k == 63) {
                end = 63;
                return true;
            }
            ++k;
            continue;
        }
        const unsigned first = k + entry.run;
        if (first > 63) {
            end = k - 1;
            bits.consume(entry.first_length);
            return entry.run == kEndOfBlock;
        }
        block[first] = entry.first;
        const unsigned second = first + entry.step;
        if (second >= 63) [[unlikely]] {
            if (first == 63) {  // what follows belongs to the next block
                bits.consume(entry.first_length);
                end = 63;
                return true;
            }
            bits.consume(entry.length);
            end = second == 63 ? 63 : first;
            if (second == 63) block[63] = entry.second;
            return second == 63 || entry.step == kEndOfBlock + 1;
        }
        bits.consume(entry.length);
        block[second] = entry.second;
        k = second + 1;
    }
}

unsigned last_nonzero(const std::int16_t* block, unsigned from, unsigned first) noexcept {
    while (from >= first && block[from] == 0) --from;
    return from;
}

/// The runs of ended blocks as they are in a scan, and as each rule would have cut them.
class RunHistory {
  public:
    void add_run(std::uint32_t length) { lengths_.push_back(static_cast<std::uint16_t>(length)); }

    /// A block has ended before its last coefficient, with so many correction bits behind its last symbol.
    void end_block(std::uint32_t correction_bits) {
        for (Simulation& rule : rules_) {
            ++rule.run;
            rule.bits += correction_bits;
            if (rule.rule.is_full(rule.run, rule.bits)) rule.flush();
        }
    }

    /// A symbol follows that is no end of block; or a restart, or the end of the scan.
    void interrupt() {
        for (Simulation& rule : rules_) rule.flush();
    }

    void finish(ScanNotes& notes) {
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            notes.end_runs = static_cast<EndRuns>(i);
            if (rules_[i].lengths == lengths_) return;
        }
        notes.end_runs = EndRuns::explicit_;
        notes.run_lengths = std::move(lengths_);
    }

  private:
    struct Simulation {
        RunRule rule;
        std::uint32_t run = 0;
        std::uint32_t bits = 0;
        std::vector<std::uint16_t> lengths{};

        void flush() {
            if (run != 0) lengths.push_back(static_cast<std::uint16_t>(run));
            run = bits = 0;
        }
    };

    std::array<Simulation, 3> rules_{Simulation{RunRule(EndRuns::library)}, Simulation{RunRule(EndRuns::longest)},
                                     Simulation{RunRule(EndRuns::single)}};
    std::vector<std::uint16_t> lengths_;
};

}  // namespace

struct ScanReader::Tables {
    std::array<AcTable, kMaxComponents> ac;
    std::array<DcTable, kMaxComponents> dc;
    SymbolTable symbols;
    std::array<const AcTable*, kMaxComponents> slot_ac{};  // components of a scan often share a code
    std::array<const DcTable*, kMaxComponents> slot_dc{};

    void build(const Scan& scan);
};

namespace {

/// One scan, from its first bit to its last.
template <typename Tables>
class ScanPass {
  public:
    ScanPass(ByteView file, std::uint8_t* clean, const Tables& tables, const Scan& scan, std::size_t begin,
             ScanNotes& notes)
        : file_(file), clean_(clean), tables_(tables), scan_(scan), notes_(notes), position_(begin) {
        begin_interval();
    }

    void sequential_block(std::size_t slot, std::int16_t* block) {
        std::memset(block, 0, kBlockCoefficients * sizeof *block);
        CleanBits bits = bits_;
        int difference = 0;
        unsigned end = 0;
        const bool is_known =
            take_dc(bits, *tables_.slot_dc[slot], difference) && take_ac(bits, *tables_.slot_ac[slot], block, end);
        bits_ = bits;
        check(is_known);
        last_dc_[slot] += difference;
        check(fits(last_dc_[slot]));
        block[0] = static_cast<std::int16_t>(last_dc_[slot]);
        if (end != 0 && block[end] == 0) note_zeros(end - last_nonzero(block, end, 1));
        ++block_;
    }

    void dc_first_block(std::size_t slot, std::int16_t* block) {
        int difference = 0;
        check(take_dc(bits_, *tables_.slot_dc[slot], difference));
        last_dc_[slot] += difference;
        check(fits(last_dc_[slot]) && fits(last_dc_[slot] * (1 << scan_.low)));
        block[0] = static_cast<std::int16_t>(last_dc_[slot] * (1 << scan_.low));
        ++block_;
    }

    void dc_refine_block(std::int16_t* block) {
        bits_.refill();
        if (bits_.take(1) != 0) block[0] = static_cast<std::int16_t>(block[0] | 1 << scan_.low);
        check(true);
        ++block_;
    }

    void ac_first_block(std::int16_t* block) {
        if (end_run_ == 0) {
            unsigned k = scan_.first;
            unsigned end = k - 1u;
            while (k <= scan_.last) {
                const unsigned symbol = take_symbol();
                const unsigned run = symbol >> 4;
                const unsigned size = symbol & 15;
                if (size == 0 && run != 15) {
                    take_end_run(run);
                    break;
                }
                k += run;
                check(k <= scan_.last);
                const int value = bits_.receive(size) * (1 << scan_.low);
                check(fits(value));
                block[k] = static_cast<std::int16_t>(value);
                runs_.interrupt();
                end = k++;
            }
            check(true);
            if (end >= scan_.first && block[end] == 0) note_zeros(end + 1u - past_last(block, end));
        }
        end_block(0);
    }

    void ac_refine_block(std::int16_t* block) {
        unsigned k = scan_.first;
        unsigned num_zero_runs = 0;
        if (end_run_ == 0) {
            while (k <= scan_.last) {
                const unsigned symbol = take_symbol();
                const unsigned run = symbol >> 4;
                const unsigned size = symbol & 15;
                if (size == 0 && run != 15) {
                    take_end_run(run);
                    break;
                }
                check(size <= 1);
                const int sign = size == 0 ? 0 : bits_.take(1) != 0 ? 1 : -1;
                k = pass_zeros(block, k, run);
                check(k <= scan_.last);
                if (sign != 0) block[k] = static_cast<std::int16_t>(sign * (1 << scan_.low));
                num_zero_runs = sign != 0 ? 0 : num_zero_runs + 1;
                runs_.interrupt();
                ++k;
            }
        }
        std::uint32_t correction_bits = 0;
        if (end_run_ != 0) {
            for (; k <= scan_.last; ++k) {
                if (block[k] == 0) continue;
                correct(block[k]);
                ++correction_bits;
            }
        }
        check(true);
        if (num_zero_runs != 0) notes_.extra_zeros.push_back({block_, num_zero_runs});
        end_block(correction_bits);
    }

    void restart() {
        end_interval(false);
        begin_interval();
    }

    /// Returns the byte behind the scan.
    std::size_t finish() {
        end_interval(true);
        const auto is_one = [](std::uint8_t bit) { return bit == 1; };
        if (std::ranges::all_of(notes_.padding_bits, is_one)) {
            notes_.padding = Padding::ones;
        } else if (std::ranges::none_of(notes_.padding_bits, is_one)) {
            notes_.padding = Padding::zeros;
        } else {
            notes_.padding = Padding::explicit_;
        }
        if (notes_.padding != Padding::explicit_) notes_.padding_bits.clear();
        const Scan::Kind kind = scan_.kind();
        if (kind == Scan::Kind::ac_first || kind == Scan::Kind::ac_refine) runs_.finish(notes_);
        return position_;
    }

  private:
    // Every step that can read past the end comes by here, so that nothing reads beyond the slack.
    void check(bool is_good) {
        if (bits_.overrun()) {
            throw Error(ErrorCode::truncated, "jpeg data ends, or has a marker, inside a scan",
                        at_byte("jpeg", position_), "the file is damaged: restore it from its source");
        }
        if (!is_good) fail_damaged("jpeg scan has an impossible code", interval_);
    }

    void note_zeros(unsigned coefficients) { notes_.extra_zeros.push_back({block_, coefficients / 16}); }

    // One behind the last nonzero coefficient of the band; its first if there is none.
    unsigned past_last(const std::int16_t* block, unsigned from) const noexcept {
        return last_nonzero(block, from, scan_.first) + 1u;
    }

    unsigned take_symbol() {
        bits_.refill();
        unsigned symbol = 0;
        check(tables_.symbols.take(bits_, symbol));
        return symbol;
    }

    void take_end_run(unsigned size) {
        end_run_ = (1U << size) + bits_.take(size);
        check(true);
        runs_.add_run(end_run_);
    }

    void end_block(std::uint32_t correction_bits) {
        if (end_run_ != 0) {
            --end_run_;
            runs_.end_block(correction_bits);
        }
        ++block_;
    }

    void correct(std::int16_t& coefficient) {
        bits_.refill();
        if (bits_.take(1) == 0) return;
        const int step = coefficient < 0 ? -(1 << scan_.low) : 1 << scan_.low;
        check(fits(coefficient + step));
        coefficient = static_cast<std::int16_t>(coefficient + step);
    }

    // Steps over `count` zeros and corrects what lies between; returns the place of the zero behind them.
    unsigned pass_zeros(std::int16_t* block, unsigned k, unsigned count) {
        for (; k <= scan_.last; ++k) {
            if (block[k] != 0) {
                correct(block[k]);
            } else if (count-- == 0) {
                break;
            }
        }
        check(true);
        return k;
    }

    void begin_interval() {
        interval_ = position_;
        last_dc_.fill(0);
        const std::uint8_t* source = file_.data();
        std::size_t size = 0;
        for (;;) {
            const std::size_t left = file_.size() - position_;
            const void* found = left != 0 ? std::memchr(source + position_, 0xFF, left) : nullptr;
            const std::size_t length =
                found != nullptr
                    ? static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - source) - position_
                    : left;
            if (length != 0) std::memcpy(clean_ + size, source + position_, length);
            size += length;
            position_ += length;
            if (position_ + 1 >= file_.size() || source[position_ + 1] != 0) break;
            clean_[size++] = 0xFF;
            position_ += 2;
        }
        std::memset(clean_ + size, 0, kSlackBytes);
        clean_size_ = size;
        bits_ = CleanBits(clean_, size);
    }

    void end_interval(bool is_last) {
        check(end_run_ == 0);
        runs_.interrupt();
        const std::size_t used = bits_.bits_used();
        const std::size_t used_bytes = (used + 7) / 8;
        for (std::size_t bit = used; bit < used_bytes * 8; ++bit) {
            notes_.padding_bits.push_back(clean_[bit / 8] >> (7 - bit % 8) & 1);
        }
        if (is_last) {
            const auto num_stuffed = std::count(clean_, clean_ + used_bytes, std::uint8_t{0xFF});
            position_ = interval_ + used_bytes + static_cast<std::size_t>(num_stuffed);
            return;
        }
        if (used_bytes != clean_size_) fail_unsupported("jpeg has bytes before a restart marker", position_);
        if (file_.size() - position_ < 2 || file_[position_ + 1] != kRst0 + next_restart_) {
            fail_damaged("jpeg lacks a restart marker", position_);
        }
        position_ += 2;
        next_restart_ = (next_restart_ + 1) & 7;
    }

    ByteView file_;
    std::uint8_t* clean_;
    const Tables& tables_;
    const Scan& scan_;
    ScanNotes& notes_;
    RunHistory runs_;
    CleanBits bits_;
    std::size_t position_;
    std::size_t interval_ = 0;
    std::size_t clean_size_ = 0;
    std::array<int, kMaxComponents> last_dc_{};
    std::uint32_t end_run_ = 0;
    std::uint32_t block_ = 0;
    unsigned next_restart_ = 0;
};

}  // namespace

void ScanReader::Tables::build(const Scan& scan) {
    for (std::size_t slot = 0; slot < scan.num_components; ++slot) {
        const ScanComponent& component = scan.components[slot];
        slot_ac[slot] = &ac[slot];
        slot_dc[slot] = &dc[slot];
        for (std::size_t other = 0; other < slot; ++other) {
            if (scan.components[other].ac == component.ac) slot_ac[slot] = slot_ac[other];
            if (scan.components[other].dc == component.dc) slot_dc[slot] = slot_dc[other];
        }
        if (component.dc != nullptr && slot_dc[slot] == &dc[slot]) dc[slot].build(component.dc->definition());
        if (component.ac == nullptr || slot_ac[slot] != &ac[slot]) continue;
        if (scan.kind() == Scan::Kind::sequential) {
            ac[slot].build(component.ac->definition());
        } else {
            symbols.build(component.ac->definition());
        }
    }
}

ScanReader::ScanReader(ByteView file)
    : file_(file), clean_(file.size() + kSlackBytes, BufferPool::shared()), tables_(std::make_unique<Tables>()) {}

ScanReader::~ScanReader() = default;

std::size_t ScanReader::read(const Scan& scan, std::size_t begin,
                             const std::array<Plane<std::int16_t>, kMaxComponents>& planes, ScanNotes& notes) {
    tables_->build(scan);
    ScanPass pass(file_, clean_.data(), *tables_, scan, begin, notes);
    const auto visit = [&](auto code_block) { BlockVisit(scan, planes, code_block, [&] { pass.restart(); }).run(); };
    switch (scan.kind()) {
        case Scan::Kind::sequential:
            visit([&](std::size_t slot, std::int16_t* block) { pass.sequential_block(slot, block); });
            break;
        case Scan::Kind::dc_first:
            visit([&](std::size_t slot, std::int16_t* block) { pass.dc_first_block(slot, block); });
            break;
        case Scan::Kind::dc_refine:
            visit([&](std::size_t, std::int16_t* block) { pass.dc_refine_block(block); });
            break;
        case Scan::Kind::ac_first: visit([&](std::size_t, std::int16_t* block) { pass.ac_first_block(block); }); break;
        case Scan::Kind::ac_refine:
            visit([&](std::size_t, std::int16_t* block) { pass.ac_refine_block(block); });
            break;
    }
    return pass.finish();
}

}  // namespace penstock::jpeg
