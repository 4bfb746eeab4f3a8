// Bit streams of a tile, as the vector paths read them. Everything here has internal linkage, so that no copy compiled
// for one instruction set can be linked into the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codecs/weir.h"

#define PENSTOCK_INLINE inline __attribute__((always_inline))

namespace penstock::weir {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101;

/// 64 bits of a stream, from any bit position. Reads nine bytes.
PENSTOCK_INLINE std::uint64_t bits_at(const std::uint8_t* stream, std::uint64_t position) {
    const std::uint8_t* bytes = stream + (position >> 3);
    const unsigned shift = position & 7;
    std::uint64_t low = 0;
    std::memcpy(&low, bytes, 8);
    const std::uint64_t high = bytes[8];
    return (low >> shift) | ((high << 1) << (63 - shift));
}

/// The next `count` bits of a stream; what lies above them is whatever follows. One load does for up to 57 bits, and
/// nearly every level is that short.
PENSTOCK_INLINE std::uint64_t next_bits(const std::uint8_t* stream, std::uint64_t position, unsigned count) {
    if (__builtin_expect(count > 57, 0)) return bits_at(stream, position);
    std::uint64_t bits = 0;
    std::memcpy(&bits, stream + (position >> 3), 8);
    return bits >> (position & 7);
}

PENSTOCK_INLINE std::uint64_t load_u64(const std::uint8_t* bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes, 8);
    return value;
}

}  // namespace
}  // namespace penstock::weir

// How this processor counts and deposits bits.
#if defined(__aarch64__)
#include "codecs/weir_deposit_neon.h"
#else
#include "codecs/weir_deposit_bmi2.h"
#endif
