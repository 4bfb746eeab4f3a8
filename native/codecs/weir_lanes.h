// Vectors for the tile encoder: the compiler's vector types, as wide as the registers of a path, and the few operations
// they do not express. A path derives from `PlainOps` and replaces what its processor has an instruction for.
// Everything is exact integer arithmetic, so that paths agree byte for byte.
//
// In an anonymous namespace, because each file that includes this compiles it for another instruction set.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "codecs/weir.h"

namespace penstock::weir {
namespace {

#define PENSTOCK_INLINE [[gnu::always_inline]] static inline

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

/// The vector types of a path whose registers have `bytes` bytes.
///
/// `Numbers` holds one number, 0 to 2^31 - 1, for each 8 bytes of samples: for each block of one-byte samples, and
/// twice for each block of two-byte samples. It sits in the lower half of its 8 bytes; the upper half is 0.
template <std::size_t bytes>
struct Vectors {
    // Not `using`: GCC 12 drops the attribute there when it depends on a template's parameter.
    typedef std::uint8_t Lanes8 __attribute__((vector_size(bytes)));
    typedef std::uint16_t Lanes16 __attribute__((vector_size(bytes)));
    typedef std::uint64_t Words __attribute__((vector_size(bytes)));
    typedef std::int32_t Numbers __attribute__((vector_size(bytes)));

    PENSTOCK_INLINE Numbers same(std::uint32_t number) noexcept { return (Numbers)(Words{} + number); }
};

struct PlainOps : Vectors<16> {
    static constexpr std::size_t kBytes = 16;  // of SSE2

    /// Returns (a + b + 1) >> 1.
    template <typename Vector>
    PENSTOCK_INLINE Vector average_up(Vector a, Vector b) noexcept {
        return (a | b) - ((a ^ b) >> 1);
    }

    PENSTOCK_INLINE Lanes8 zigzag(Lanes8 v) noexcept { return (v + v) ^ (0 - (v >> 7)); }
    PENSTOCK_INLINE Lanes16 zigzag(Lanes16 v) noexcept { return (v + v) ^ (0 - (v >> 15)); }

    /// The sum of each block's lanes, or of each half's for two-byte lanes.
    PENSTOCK_INLINE Numbers sums(Lanes8 v) noexcept {
        const Words bytes = (Words)v;
        Words pairs = (bytes & 0x00ff00ff00ff00ff) + ((bytes >> 8) & 0x00ff00ff00ff00ff);
        pairs += pairs >> 32;
        pairs += pairs >> 16;
        return (Numbers)(pairs & 0xffff);
    }
    PENSTOCK_INLINE Numbers sums(Lanes16 v) noexcept {
        const Words lanes = (Words)v;
        const Words pairs = (lanes & 0x0000ffff0000ffff) + ((lanes >> 16) & 0x0000ffff0000ffff);
        return (Numbers)((pairs + (pairs >> 32)) & 0xffffffff);
    }

    /// The bits that the largest lane of each block needs; for two-byte lanes, in both of its numbers.
    PENSTOCK_INLINE Numbers widths(Lanes8 v) noexcept {
        Words any = (Words)v;
        any |= any >> 32;
        any |= any >> 16;
        any |= any >> 8;
        return bit_widths((Numbers)(any & 0xff));
    }
    PENSTOCK_INLINE Numbers widths(Lanes16 v) noexcept {
        Words any = (Words)v | (Words)swap_halves((Numbers)v);
        any |= any >> 32;
        any |= any >> 16;
        return bit_widths((Numbers)(any & 0xffff));
    }

    /// Exchanges the two numbers of each block of two-byte lanes.
    PENSTOCK_INLINE Numbers swap_halves(Numbers v) noexcept {
        const Words words = (Words)v;
        return (Numbers)Words{words[1], words[0]};
    }

    /// Bit j: byte j (at most 127) of 64 is at least `bound` (1 to 127).
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
        const std::uint64_t fields = lanes & 0x0101010101010101 * ((std::uint64_t{1} << width) - 1);
        const std::uint64_t pairs = close_gaps(fields, 0x00ff00ff00ff00ff, 8 - width);
        return close_gaps(close_gaps(pairs, 0x0000ffff0000ffff, 16 - 2 * width), 0x00000000ffffffff, 32 - 4 * width);
    }
    /// Four lanes of two bytes as four fields of `width` bits, 0 to 16.
    PENSTOCK_INLINE std::uint64_t pack_words(std::uint64_t lanes, std::uint32_t width) noexcept {
        const std::uint64_t fields = lanes & 0x0001000100010001 * ((std::uint64_t{1} << width) - 1);
        return close_gaps(close_gaps(fields, 0x0000ffff0000ffff, 16 - width), 0x00000000ffffffff, 32 - 2 * width);
    }

  private:
    // Moves what lies outside of `lower` down by `gap`, so that it follows what lies inside.
    PENSTOCK_INLINE std::uint64_t close_gaps(std::uint64_t fields, std::uint64_t lower, std::uint32_t gap) noexcept {
        return (fields & lower) | (fields & ~lower) >> gap;
    }
    // From the exponent of the number as a float, which is exact below 2^24.
    PENSTOCK_INLINE Numbers bit_widths(Numbers v) noexcept {
        using Floats = float __attribute__((vector_size(kBytes)));
        const Numbers exponents = (Numbers) __builtin_convertvector(v, Floats) >> 23;
        return (exponents - 126) & (v > 0);
    }
};

/// The vectors of a path for one kind of sample.
template <typename Ops, typename Sample>
struct LanesOf;

template <typename Ops>
struct LanesOf<Ops, std::uint8_t> {
    using Vector = typename Ops::Lanes8;
};
template <typename Ops>
struct LanesOf<Ops, std::uint16_t> {
    using Vector = typename Ops::Lanes16;
};

template <typename Ops, typename Sample>
using Lanes = typename LanesOf<Ops, Sample>::Vector;

/// A row is so many vectors of so many lanes.
template <typename Ops, typename Sample>
constexpr std::uint32_t kLanesPerPart = Ops::kBytes / sizeof(Sample);
template <typename Ops, typename Sample>
constexpr std::uint32_t kParts = kLanes / kLanesPerPart<Ops, Sample>;

/// `Numbers` of a whole row in memory.
template <typename Sample>
struct RowNumbers {
    static constexpr std::uint32_t kPerBlock = sizeof(Sample);
    alignas(64) std::uint64_t words[kBlocks * kPerBlock];

    [[nodiscard]] std::uint64_t of_block(std::uint32_t b) const noexcept { return words[b * kPerBlock]; }
};

}  // namespace
}  // namespace penstock::weir
