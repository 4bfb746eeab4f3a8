// The plain algorithm of jpeg_blocks.h, compiled once for each path. One lookup gives up to two coefficients,
// magnitudes included. Everything is in an unnamed namespace: each path keeps its own copy (docs/decisions/0001).
#pragma once

#include "codecs/jpeg_blocks.h"

namespace penstock::jpeg {

namespace {

// Where the k-th coefficient lies in its block.
struct NaturalOrder {
    std::uint8_t place[64];
};
constexpr NaturalOrder kNaturalOrder = [] {
    NaturalOrder order{};
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
    std::int16_t value = 0;
};

[[nodiscard]] [[gnu::always_inline]] inline bool decode_long_ac(BitReader& bits, const LongCodes& codes,
                                                                const AcTable::Entry& entry, LongAc& result) noexcept {
    unsigned length = entry.first_length;
    AcSymbol symbol{entry.run, static_cast<unsigned>(entry.first)};
    if (length == 0) {
        const LongCodes::Found found = codes.find(bits.peek(16), AcTable::kBits + 1);
        if (found.length == 0) return false;
        length = found.length;
        symbol = AcSymbol::of(found.symbol);
    }
    bits.consume(length);
    result = {symbol.run, static_cast<std::int16_t>(bits.receive(symbol.size))};
    return true;
}

/// Where the coefficients of a block go, by zigzag position.
struct Nowhere {
    [[gnu::always_inline]] void put(unsigned, std::int16_t) const noexcept {}
};
struct NaturalBlock {
    JCOEF* block;
    [[gnu::always_inline]] void put(unsigned k, std::int16_t value) const noexcept {
        block[kNaturalOrder.place[k]] = value;
    }
};
struct QuadLane {
    std::int16_t* lane;
    [[gnu::always_inline]] void put(unsigned k, std::int16_t value) const noexcept { lane[k * kQuadBlocks] = value; }
};

/// How many positions a block needs whose last run ended at `k`.
[[gnu::always_inline]] inline unsigned positions_of(unsigned k) noexcept {
    return k >= kEndOfBlock ? k - kEndOfBlock : static_cast<unsigned>(kBlockPositions);
}

/// Puts the coefficient that ends a block. One that damage has moved beyond the last position goes there, as in
/// libjpeg: garbage among garbage.
template <typename Target>
[[nodiscard]] [[gnu::always_inline]] inline unsigned end_block(Target target, unsigned k, bool is_end_of_block,
                                                               std::int16_t value) noexcept {
    if (!is_end_of_block) target.put(kBlockPositions - 1, value);
    return positions_of(k);
}

// Lookups between refills: 56 bits are in store after one, and a lookup takes ten at most. ImageNet's files took 9 %
// more time with a refill for every lookup.
constexpr int kLookupsPerRefill = 4;
static_assert(kLookupsPerRefill * AcTable::kBits + AcTable::kBits <= 56);

// Gives the number of positions that the block needs; 0: a code that does not exist.
//
// A reference to the entry, no copy: its fields are then loaded one by one, of which the length alone is waited for.
// One end for both coefficients instead of two, with stores that do no harm beyond the block, took 4 % more time.
template <typename Target>
[[nodiscard]] [[gnu::always_inline]] inline unsigned decode_ac(BitReader& bits, const BlockTables& tables,
                                                               Target target) noexcept {
    constexpr unsigned kLast = kBlockPositions - 1;
    const AcTable::Entry* const entries = tables.ac;
    unsigned k = 1;
    for (;;) {
        bits.refill();
#pragma GCC unroll 4
        for (int i = 0; i < kLookupsPerRefill; ++i) {
            const AcTable::Entry& entry = entries[bits.peek(AcTable::kBits)];
            const unsigned length = entry.length;
            if (length == 0) [[unlikely]] {
                LongAc coefficient;
                bits.refill();
                if (!decode_long_ac(bits, *tables.ac_codes, entry, coefficient)) return 0;
                k += coefficient.run;
                if (k >= kLast) return end_block(target, k, coefficient.run >= kEndOfBlock, coefficient.value);
                target.put(k++, coefficient.value);
                break;
            }
            k += entry.run;
            if (k >= kLast) {  // what follows belongs to the next block
                bits.consume(entry.first_length);
                return end_block(target, k, entry.run >= kEndOfBlock, entry.first);
            }
            const std::int16_t second = entry.second;
            const unsigned step = entry.step;
            target.put(k, entry.first);
            bits.consume(length);
            k += step;
            if (k >= kLast) return end_block(target, k, step > kEndOfBlock, second);
            target.put(k++, second);
        }
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
        if constexpr (kStore) {
            coefficients[0] = static_cast<JCOEF>(*block.last_dc);
            known = known && decode_ac(bits, block, NaturalBlock{coefficients}) != 0;
        } else {
            known = known && decode_ac(bits, block, Nowhere{}) != 0;
        }
    }
    state = bits;
    return known;
}

inline bool decode_strip(BitReader& state, const StripBlock* blocks, std::size_t num_blocks, std::size_t first_mcu,
                         std::size_t num_mcus) noexcept {
    BitReader bits = state;
    bool known = true;
    for (std::size_t mcu = first_mcu; mcu < first_mcu + num_mcus && known; ++mcu) {
        for (std::size_t i = 0; i < num_blocks && known; ++i) {
            const StripBlock& block = blocks[i];
            const std::size_t lane = block.first_lane + mcu * block.step;
            std::int16_t* out = block.quads + lane / kQuadBlocks * kQuadWords + lane % kQuadBlocks;
            int difference = 0;
            known = decode_dc(bits, block.tables, difference);
            *block.tables.last_dc += static_cast<unsigned>(difference);
            *out = static_cast<std::int16_t>(*block.tables.last_dc);
            const unsigned num_positions = known ? decode_ac(bits, block.tables, QuadLane{out}) : 0;
            known = num_positions != 0;
            if (num_positions > *block.num_positions) *block.num_positions = num_positions;
        }
    }
    state = bits;
    return known;
}

}  // namespace

}  // namespace penstock::jpeg
