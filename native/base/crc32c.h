// CRC-32C (Castagnoli): the checksum inside our own formats. One instruction per eight bytes where the processor has
// it.
#pragma once

#include <cstdint>

#include "base/image.h"

namespace penstock {

/// The CRC-32C of `data`. Pass the CRC of what came before to continue it: crc32c(b, crc32c(a)) is that of a then b.
[[nodiscard]] std::uint32_t crc32c(ByteView data, std::uint32_t previous = 0) noexcept;

}  // namespace penstock
