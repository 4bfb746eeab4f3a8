// CRC-32C by the instruction of 64-bit ARM: eight bytes each.
#if defined(__aarch64__)
#include <arm_acle.h>

#include <cstddef>
#include <cstring>

#include "base/crc32c_paths.h"

namespace penstock {

std::uint32_t crc32c_neon(ByteView data, std::uint32_t state) noexcept {
    std::size_t i = 0;
    for (; data.size() - i >= 8; i += 8) {
        std::uint64_t bytes = 0;
        std::memcpy(&bytes, data.data() + i, 8);
        state = __crc32cd(state, bytes);
    }
    for (; i < data.size(); ++i) state = __crc32cb(state, data[i]);
    return state;
}

}  // namespace penstock
#endif
