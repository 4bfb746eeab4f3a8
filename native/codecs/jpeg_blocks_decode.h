// The plain algorithm of jpeg_blocks.h, compiled once for each path. One lookup gives up to two coefficients,
// magnitudes included. Everything is in an unnamed namespace: each path keeps its own copy (docs/decisions/0001).
#pragma once

#include "codecs/jpeg_blocks.h"

namespace penstock::jpeg {

namespace {

// Where the k-th coefficient lies in its block. What comes after the last one (an end of block, or a run that damage
// has made too long) goes to the last place, as in libjpeg: a zero that is one already, or garbage among garbage.
struct NaturalOrder {
    std::uint8_t place[64 + 2 * (kEndOfBlock + 1)];
};
constexpr NaturalOrder kNaturalOrder = [] {
    NaturalOrder order{};
    for (std::uint8_t& place : order.place) place = 63;
    std::size_t k = 0;
    for (int diagonal = 0; diagonal < 15; ++diagonal) {
        for (int i = 0; i <= diagonal; ++i) {
            const int x = diagonal % 2 == 0 ? i : diagonal - i;
            const int y = diagonal - x;
            if (x < 8 && y < 8) order.place[k++] = static_cast<std::uint8_t>(8 * y + x);
        }
    }
    return order;
}();
static_assert(kNaturalOrder.place[2] == 8 && kNaturalOrder.place[3] == 16 && kNaturalOrder.place[62] == 62);

[[nodiscard]] inline bool decode_dc(BitReader& bits, const BlockTables& tables, int& difference) noexcept {
    bits.refill();
    DcTable::Entry entry = tables.dc[bits.peek(DcTable::kBits)];
    if (entry.length == 0) [[unlikely]] {
        const LongCodes::Found found = tables.dc_codes->find(bits.peek(16), DcTable::kBits + 1);
        if (found.length == 0) return false;
        entry = {static_cast<std::uint8_t>(found.length), static_cast<std::uint8_t>(found.symbol & 15)};
    }
    bits.consume(entry.length);
    difference = bits.receive(entry.size);
    return true;
}

/// A coefficient whose code or magnitude is too long for the table.
struct LongAc {
    unsigned run = 0;
    int value = 0;
};

[[nodiscard]] inline bool decode_long_ac(BitReader& bits, const LongCodes& codes, AcTable::Entry entry,
                                         LongAc& result) noexcept {
    unsigned length = entry.first_length;
    AcSymbol symbol{entry.run, static_cast<unsigned>(entry.first)};
    if (length == 0) {
        const LongCodes::Found found = codes.find(bits.peek(16), AcTable::kBits + 1);
        if (found.length == 0) return false;
        length = found.length;
        symbol = AcSymbol::of(found.symbol);
    }
    bits.consume(length);
    result = {symbol.run, bits.receive(symbol.size)};
    bits.refill();
    return true;
}

// The lookup uses bits from before the refill, so that the two run side by side: 45 are in store then, 25 after the DC.
template <bool kStore>
[[nodiscard]] inline bool decode_ac(BitReader& bits, const BlockTables& tables, JCOEF* block) noexcept {
    unsigned k = 1;
    for (;;) {
        const AcTable::Entry entry = tables.ac[bits.peek(AcTable::kBits)];
        bits.refill();
        if (entry.length == 0) [[unlikely]] {
            LongAc coefficient;
            if (!decode_long_ac(bits, *tables.ac_codes, entry, coefficient)) return false;
            k += coefficient.run;
            if constexpr (kStore) block[kNaturalOrder.place[k]] = static_cast<JCOEF>(coefficient.value);
            if (++k > 63) return true;
            continue;
        }
        k += entry.run;
        if constexpr (kStore) block[kNaturalOrder.place[k]] = entry.first;
        if (k >= 63) {  // what follows belongs to the next block
            bits.consume(entry.first_length);
            return true;
        }
        bits.consume(entry.length);
        k += entry.step;
        if constexpr (kStore) block[kNaturalOrder.place[k]] = entry.second;
        if (++k > 63) return true;
    }
}

template <bool kStore>
bool decode_blocks(BitReader& state, const BlockTables* tables, std::size_t num_blocks, JBLOCKROW* out) noexcept {
    BitReader bits = state;
    bool known = true;
    for (std::size_t i = 0; i < num_blocks && known; ++i) {
        const BlockTables& block = tables[i];
        JCOEF* coefficients = nullptr;
        if constexpr (kStore) coefficients = *out[i];
        int difference = 0;
        known = decode_dc(bits, block, difference);
        *block.last_dc += static_cast<unsigned>(difference);
        if constexpr (kStore) coefficients[0] = static_cast<JCOEF>(*block.last_dc);
        known = known && decode_ac<kStore>(bits, block, coefficients);
    }
    state = bits;
    return known;
}

}  // namespace

}  // namespace penstock::jpeg
