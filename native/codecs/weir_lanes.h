// A row of 64 lanes as one value, for the tile encoder: the compiler's vector types, which it maps to whatever
// registers the file is compiled for, and the few operations they do not express. A path derives from `PlainOps` and
// replaces what its processor has an instruction for. Everything is exact integer arithmetic, so paths agree byte for
// byte.
//
// In an anonymous namespace, because each file that includes this compiles it for another instruction set.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "codecs/weir.h"

namespace penstock::weir {
namespace {

#define PENSTOCK_INLINE [[gnu::always_inline]] static inline

using Lanes8 = std::uint8_t __attribute__((vector_size(kLanes)));
using Lanes16 = std::uint16_t __attribute__((vector_size(2 * kLanes)));
/// One number for each block of a row.
using Blocks = std::uint64_t __attribute__((vector_size(8 * kBlocks)));

template <typename Sample>
using Lanes = std::conditional_t<sizeof(Sample) == 1, Lanes8, Lanes16>;

template <typename Value>
PENSTOCK_INLINE Value load_as(const void* from) noexcept {
    Value value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <typename Value>
PENSTOCK_INLINE void store_as(void* to, const Value& value) noexcept {
    std::memcpy(to, &value, sizeof value);
}

template <typename Sample>
PENSTOCK_INLINE Lanes<Sample> load_lanes(const Sample* row) noexcept {
    return load_as<Lanes<Sample>>(row);
}

template <typename Sample>
PENSTOCK_INLINE Lanes<Sample> half_signed_lanes(const Lanes<Sample>& v) noexcept {
    constexpr auto sign = static_cast<Sample>(1U << (8 * sizeof(Sample) - 2));
    return ((v >> 1) ^ sign) - sign;
}

/// All ones where a < b, for numbers below 2^63. Comparisons of vectors that are wider than registers would be taken
/// apart into single lanes.
PENSTOCK_INLINE Blocks less_mask(const Blocks& a, const Blocks& b) noexcept { return 0 - ((a - b) >> 63); }

/// A number for each block, to be looked at one by one.
struct BlockNumbers {
    std::uint64_t of[kBlocks];

    explicit BlockNumbers(const Blocks& blocks) noexcept { store_as(of, blocks); }
    [[nodiscard]] std::uint64_t sum() const noexcept {
        return of[0] + of[1] + of[2] + of[3] + of[4] + of[5] + of[6] + of[7];
    }
};

struct PlainOps {
    /// (a + b + 1) >> 1
    template <typename Vector>
    PENSTOCK_INLINE Vector average_up(const Vector& a, const Vector& b) noexcept {
        return (a | b) - ((a ^ b) >> 1);
    }

    PENSTOCK_INLINE Lanes8 zigzag(const Lanes8& v) noexcept { return (v + v) ^ (0 - (v >> 7)); }
    PENSTOCK_INLINE Lanes16 zigzag(const Lanes16& v) noexcept { return (v + v) ^ (0 - (v >> 15)); }

    /// The sum of each block's eight lanes.
    PENSTOCK_INLINE Blocks block_sums(const Lanes8& v) noexcept {
        const Blocks bytes = (Blocks)v;
        Blocks sums = (bytes & 0x00ff00ff00ff00ff) + ((bytes >> 8) & 0x00ff00ff00ff00ff);
        sums += sums >> 32;
        sums += sums >> 16;
        return sums & 0xffff;
    }
    PENSTOCK_INLINE Blocks block_sums(const Lanes16& v) noexcept {
        std::uint64_t halves[2 * kBlocks];
        store_as(halves, v);
        std::uint64_t sums[kBlocks];
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            constexpr std::uint64_t even = 0x0000ffff0000ffff;
            const std::uint64_t pairs = (halves[2 * b] & even) + (halves[2 * b] >> 16 & even) +
                                        (halves[2 * b + 1] & even) + (halves[2 * b + 1] >> 16 & even);
            sums[b] = (pairs & 0xffffffff) + (pairs >> 32);
        }
        return load_as<Blocks>(sums);
    }

    /// The number of bits that the largest lane of each block needs.
    PENSTOCK_INLINE Blocks block_widths(const Lanes8& v) noexcept {
        Blocks any = (Blocks)v;
        any |= any >> 32;
        any |= any >> 16;
        any |= any >> 8;
        BlockNumbers widths(any & 0xff);
        for (std::uint64_t& width : widths.of) width = static_cast<std::uint64_t>(std::bit_width(width));
        return load_as<Blocks>(widths.of);
    }
    PENSTOCK_INLINE Blocks block_widths(const Lanes16& v) noexcept {
        std::uint64_t halves[2 * kBlocks];
        store_as(halves, v);
        std::uint64_t widths[kBlocks];
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            std::uint64_t any = halves[2 * b] | halves[2 * b + 1];
            any |= any >> 32;
            any |= any >> 16;
            widths[b] = static_cast<std::uint64_t>(std::bit_width(any & 0xffff));
        }
        return load_as<Blocks>(widths);
    }

    /// Bit j: byte j (at most 127) is at least `bound` (1 to 127).
    PENSTOCK_INLINE std::uint64_t at_least(const std::uint8_t* bytes, std::uint32_t bound) noexcept {
        constexpr std::uint64_t ones = 0x0101010101010101;
        std::uint64_t mask = 0;
        for (std::uint32_t b = 0; b < 8; ++b) {
            const std::uint64_t high = (load_as<std::uint64_t>(bytes + 8 * b) + (128 - bound) * ones) & 0x80 * ones;
            mask |= ((high >> 7) * 0x0102040810204080 >> 56) << (8 * b);
        }
        return mask;
    }

    /// The bits of `bits` at the places where `mask` is set, moved together.
    PENSTOCK_INLINE std::uint64_t gather_bits(std::uint64_t bits, std::uint64_t mask) noexcept {
        std::uint64_t gathered = 0;
        for (std::uint32_t at = 0; mask != 0; mask &= mask - 1, ++at) {
            gathered |= (bits >> std::countr_zero(mask) & 1) << at;
        }
        return gathered;
    }

    /// Eight lanes of one byte as eight fields of `width` bits, 0 to 8; higher bits are dropped.
    PENSTOCK_INLINE std::uint64_t pack_bytes(std::uint64_t lanes, std::uint32_t width) noexcept {
        std::uint64_t fields = 0;
        for (std::uint32_t lane = 0; lane < 8; ++lane) {
            const std::uint64_t value = (lanes >> (8 * lane)) & ((1U << width) - 1);
            fields |= value << (width * lane);
        }
        return fields;
    }
    /// Four lanes of two bytes as four fields of `width` bits, 0 to 16.
    PENSTOCK_INLINE std::uint64_t pack_words(std::uint64_t lanes, std::uint32_t width) noexcept {
        std::uint64_t fields = 0;
        for (std::uint32_t lane = 0; lane < 4; ++lane) {
            const std::uint64_t value = (lanes >> (16 * lane)) & ((1U << width) - 1);
            fields |= value << (width * lane);
        }
        return fields;
    }
};

}  // namespace
}  // namespace penstock::weir
