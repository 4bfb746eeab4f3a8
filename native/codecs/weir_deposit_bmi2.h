// The vocabulary of masks and bits in BMI2; included by weir_decode_bits.h only.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace penstock::weir {
namespace {

PENSTOCK_INLINE unsigned count_ones(std::uint64_t mask) { return static_cast<unsigned>(_mm_popcnt_u64(mask)); }

/// The lowest `count` bits, 0 to 64.
PENSTOCK_INLINE std::uint64_t lowest_bits(std::uint64_t bits, unsigned count) { return _bzhi_u64(bits, count); }

/// The lowest bits of `bits`, in order, at the places where `mask` is set.
PENSTOCK_INLINE std::uint64_t deposit(std::uint64_t bits, std::uint64_t mask) { return _pdep_u64(bits, mask); }

/// The same for several masks, which do not wait for each other. `out` may be `masks`.
template <std::size_t Count>
PENSTOCK_INLINE void deposit_each(const std::uint64_t (&bits)[Count], const std::uint64_t (&masks)[Count],
                                  std::uint64_t (&out)[Count]) {
    for (std::size_t i = 0; i < Count; ++i) out[i] = _pdep_u64(bits[i], masks[i]);
}

/// The lowest bytes of `bytes`, in order, at the bytes where `ones` is 1 and not 0.
PENSTOCK_INLINE std::uint64_t deposit_bytes(std::uint64_t bytes, std::uint64_t ones) {
    return _pdep_u64(bytes, ones * 255);
}

/// Four fields of `width` bits, 0 to 16, become four lanes of two bytes.
PENSTOCK_INLINE std::uint64_t spread_fields(std::uint64_t bits, std::uint32_t width) {
    return _pdep_u64(bits, 0x0001000100010001 * ((std::uint64_t{1} << width) - 1));
}

}  // namespace
}  // namespace penstock::weir
