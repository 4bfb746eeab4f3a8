// What plain decoders of Sluice segments have in common: raw bits, symbols of a step, and lanes. The files of SIMD
// paths do not include this.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codecs/sluice.h"

namespace penstock::sluice {

/// Raw bits, the least significant bit of each byte first. Reads up to nine bytes from its position on, whatever it
/// takes.
class RawBits {
  public:
    RawBits(const std::uint8_t* data, std::size_t num_bytes) noexcept : data_(data), end_(8 * num_bytes) {}

    /// The next 64 bits.
    [[nodiscard]] std::uint64_t peek() const noexcept {
        const std::uint8_t* const at = data_ + position_ / 8;
        const unsigned shift = position_ % 8;
        std::uint64_t low = 0;
        std::memcpy(&low, at, sizeof low);
        return low >> shift | (std::uint64_t{at[8]} << 1) << (63 - shift);
    }
    void skip(std::size_t count) noexcept { position_ += count; }
    [[nodiscard]] bool overrun() const noexcept { return position_ > end_; }
    [[nodiscard]] bool used_up() const noexcept { return (position_ + 7) / 8 * 8 == end_; }

  private:
    const std::uint8_t* data_;
    std::size_t position_ = 0;
    std::size_t end_;
};

/// States and words of a segment.
struct SymbolStream {
    std::array<std::uint32_t, kNumStates> states;
    const std::uint8_t* words;
    const std::uint8_t* words_end;

    explicit SymbolStream(const SegmentParts& parts) noexcept
        : states(parts.states), words(parts.words), words_end(parts.words_end) {}

    /// Decodes a step; false if there are too few words.
    bool decode(const std::uint32_t* entries, const std::uint8_t* contexts, std::size_t count,
                std::uint8_t* symbols) noexcept {
        std::array<std::uint32_t, kNumStates> local = states;  // not through `this`: stores of bytes alias it
        const std::uint8_t* next_word = words;
        for (std::size_t i = 0; i < count; i += kNumStates) {
            const std::size_t some = std::min(count - i, kNumStates);
            for (std::size_t j = 0; j < some; ++j) {
                const std::uint32_t x = local[j];
                const std::uint32_t entry =
                    entries[std::uint32_t{contexts[i + j]} << kSlotBits | (x & (kNumSlots - 1))];
                const std::uint32_t next = (entry >> 16) * (x >> kSlotBits) + (entry & (kNumSlots - 1));
                std::uint16_t word = 0;
                std::memcpy(&word, next_word, sizeof word);
                // Without a branch, which would be mispredicted at every other symbol.
                const std::uint32_t low = next < kLowestState ? 1 : 0;
                local[j] = next << 16 * low | (word & (0U - low));
                next_word += 2 * low;
                symbols[i + j] = static_cast<std::uint8_t>(entry >> kSlotBits & (kNumSymbols - 1));
            }
            if (next_word > words_end) return false;
        }
        states = local;
        words = next_word;
        return true;
    }
};

/// Gives each of `lanes` the next symbol, and zero to all others.
inline void hand_out(std::uint64_t lanes, const std::uint8_t*& symbol, std::uint8_t* out) noexcept {
    if (lanes == ~std::uint64_t{0}) {
        std::memcpy(out, symbol, kLanes);
        symbol += kLanes;
        return;
    }
    std::memset(out, 0, kLanes);
    for (; lanes != 0; lanes &= lanes - 1) out[std::countr_zero(lanes)] = *symbol++;
}

/// Reads a plane: bits of `lanes` where they belong.
inline std::uint64_t read_plane(RawBits& bits, std::uint64_t lanes) noexcept {
    std::uint64_t found = 0;
    std::uint64_t next = bits.peek();
    bits.skip(static_cast<std::size_t>(std::popcount(lanes)));
    for (; lanes != 0; lanes &= lanes - 1, next >>= 1) found |= (next & 1) << std::countr_zero(lanes);
    return found;
}

}  // namespace penstock::sluice
