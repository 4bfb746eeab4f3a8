#include "codecs/jpeg_huffman_tables.h"

#include <algorithm>

namespace penstock::jpeg {

namespace {

// Writes a table front to back: codes in their order own neighbouring ranges of it.
template <typename Entry, std::size_t kSize>
class TableWriter {
  public:
    explicit TableWriter(std::array<Entry, kSize>& table) : next_(table.begin()), end_(table.end()) {}

    void repeat(const Entry& entry, std::size_t count) {
        count = std::min(count, static_cast<std::size_t>(end_ - next_));
        next_ = std::fill_n(next_, count, entry);
    }
    void finish(const Entry& entry) { next_ = std::fill_n(next_, end_ - next_, entry); }

  private:
    typename std::array<Entry, kSize>::iterator next_;
    typename std::array<Entry, kSize>::iterator end_;
};

std::int16_t value_of(int magnitude, unsigned size) {
    const bool negative = size > 0 && magnitude < 1 << (size - 1);
    return static_cast<std::int16_t>(negative ? magnitude - (1 << size) + 1 : magnitude);
}

void write_symbol(TableWriter<AcTable::Entry, std::size_t{1} << AcTable::kBits>& out, unsigned code_length,
                  const AcSymbol& symbol) {
    const unsigned room = AcTable::kBits - code_length;
    const auto run = static_cast<std::uint8_t>(symbol.run);
    if (symbol.size > room) {
        const auto length = static_cast<std::uint8_t>(code_length);
        out.repeat({0, length, run, 0, static_cast<std::int16_t>(symbol.size), 0}, std::size_t{1} << room);
        return;
    }
    const auto length = static_cast<std::uint8_t>(code_length + symbol.size);
    for (int magnitude = 0; magnitude < 1 << symbol.size; ++magnitude) {
        const std::int16_t value = value_of(magnitude, symbol.size);
        out.repeat({length, length, run, 0, value, value}, std::size_t{1} << (room - symbol.size));
    }
}

// Where a whole second coefficient fits behind the first, both come from one lookup.
void add_second(std::array<AcTable::Entry, std::size_t{1} << AcTable::kBits>& entries) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
        AcTable::Entry& entry = entries[i];
        if (entry.length == 0 || entry.run == kEndOfBlock) continue;
        const AcTable::Entry& second = entries[i << entry.length & (entries.size() - 1)];
        const unsigned length = unsigned{entry.length} + second.first_length;
        if (second.length == 0 || length > AcTable::kBits) continue;
        entry.length = static_cast<std::uint8_t>(length);
        entry.step = static_cast<std::uint8_t>(second.run + 1);
        entry.second = second.first;
    }
}

}  // namespace

void LongCodes::build(const CodeDefinition& code) noexcept {
    std::uint32_t next_code = 0;
    std::int32_t index = 0;
    for (std::size_t length = 1; length <= 16; ++length) {
        offset_[length] = index - static_cast<std::int32_t>(next_code);
        index += code.counts[length];
        next_code += code.counts[length];
        limit_[length] = next_code;
        next_code <<= 1;
    }
    std::ranges::copy(code.symbols, symbols_.begin());
}

LongCodes::Found LongCodes::find(std::size_t bits, unsigned shortest) const noexcept {
    for (unsigned length = shortest; length <= 16; ++length) {
        const auto code = static_cast<std::uint32_t>(bits >> (16 - length));
        if (code >= limit_[length]) continue;
        return {length, symbols_[static_cast<std::uint8_t>(static_cast<std::int32_t>(code) + offset_[length])]};
    }
    return {};
}

void AcTable::build(const CodeDefinition& code) noexcept {
    codes.build(code);
    TableWriter out(entries);
    std::size_t index = 0;
    for (unsigned length = 1; length <= kBits; ++length) {
        for (unsigned i = 0; i < code.counts[length]; ++i) {
            write_symbol(out, length, AcSymbol::of(code.symbols[index++ & 255]));
        }
    }
    out.finish({});
    add_second(entries);
}

void DcTable::build(const CodeDefinition& code) noexcept {
    codes.build(code);
    TableWriter out(entries);
    std::size_t index = 0;
    for (unsigned length = 1; length <= kBits; ++length) {
        for (unsigned i = 0; i < code.counts[length]; ++i) {
            const std::uint8_t size = code.symbols[index++ & 255] & 15;
            out.repeat({static_cast<std::uint8_t>(length), size}, std::size_t{1} << (kBits - length));
        }
    }
    out.finish({});
}

}  // namespace penstock::jpeg
