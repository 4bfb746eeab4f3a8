// The two ways `crc32c` goes; both take and give the inverted register, as the instruction does.
#pragma once

#include <cstdint>

#include "base/image.h"

namespace penstock {

[[nodiscard]] std::uint32_t crc32c_plain(ByteView data, std::uint32_t state) noexcept;
[[nodiscard]] std::uint32_t crc32c_avx2(ByteView data, std::uint32_t state) noexcept;

}  // namespace penstock
