// Lookup tables for Huffman decoding, built from a DHT segment's counts and symbols.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace penstock::jpeg {

/// A Huffman code as a file defines it: codes of `counts[l]` symbols have l bits, l from 1 to 16. Must not promise more
/// codes than fit (libjpeg has checked that by the time a scan starts).
struct CodeDefinition {
    std::span<const std::uint8_t, 17> counts;
    std::span<const std::uint8_t, 256> symbols;
};

/// Finds codes that are too long for a lookup table.
class LongCodes {
  public:
    void build(const CodeDefinition& code) noexcept;

    struct Found {
        unsigned length = 0;  ///< 0: no such code
        unsigned symbol = 0;
    };
    /// The code that the next 16 bits start with, known not to be shorter than `shortest`.
    [[nodiscard]] Found find(std::size_t bits, unsigned shortest) const noexcept;

  private:
    std::array<std::uint32_t, 17> limit_{};  // one above the last code of a length
    std::array<std::int32_t, 17> offset_{};  // from a code of a length to its symbol
    std::array<std::uint8_t, 256> symbols_{};
};

/// A run that leaves the block behind, wherever it starts.
inline constexpr unsigned kEndOfBlock = 128;

/// Zeros to skip and the size of the magnitude that follows.
struct AcSymbol {
    unsigned run;
    unsigned size;

    /// A size of 0 ends the block, except in the symbol that stands for sixteen zeros.
    [[nodiscard]] [[gnu::always_inline]] static AcSymbol of(unsigned symbol) noexcept {
        const unsigned run = symbol >> 4;
        const unsigned size = symbol & 15;
        return {size == 0 && run != 15 ? kEndOfBlock : run, size};
    }
};

/// Coefficients, up to two of them, that one lookup gives: zeros to skip, then a value, magnitude bits included.
struct AcTable {
    // 10: the fewest coefficients that need a second look, in tables that leave room in the first-level cache. Crops of
    // ImageNet took 5 % more with 9 bits, 2 % more with 11, 9 % more with 12.
    static constexpr unsigned kBits = 10;

    struct Entry {
        std::uint8_t length;  ///< bits of all of it; 0: the value does not fit, or neither does the code
        std::uint8_t
            first_length;    ///< bits of the first coefficient; with `length` 0 of its code only, 0 if that is longer
        std::uint8_t run;    ///< zeros before the first, or `kEndOfBlock`
        std::uint8_t step;   ///< from the first to the second; 0: there is none, and `second` repeats `first`
        std::int16_t first;  ///< with `length` 0 the size of the magnitude
        std::int16_t second;
    };
    static_assert(sizeof(Entry) == 8);

    std::array<Entry, std::size_t{1} << kBits> entries;
    LongCodes codes;

    void build(const CodeDefinition& code) noexcept;
};

/// The category of a DC difference.
struct DcTable {
    static constexpr unsigned kBits = 9;

    struct Entry {
        std::uint8_t length;  ///< of the code; 0: longer than this table knows
        std::uint8_t size;    ///< bits of magnitude that follow
    };

    std::array<Entry, std::size_t{1} << kBits> entries;
    LongCodes codes;

    void build(const CodeDefinition& code) noexcept;
};

}  // namespace penstock::jpeg
