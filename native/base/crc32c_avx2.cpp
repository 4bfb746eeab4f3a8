// The crc32 instruction came with SSE4.2; every processor of the avx2 path has it.
#include "base/crc32c_paths.h"

#if defined(__x86_64__)

#include <nmmintrin.h>

#include <cstring>

namespace penstock {

std::uint32_t crc32c_avx2(ByteView data, std::uint32_t state) noexcept {
    const std::uint8_t* bytes = data.data();
    std::size_t left = data.size();
    std::uint64_t wide = state;
    for (; left >= 8; left -= 8, bytes += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    state = static_cast<std::uint32_t>(wide);
    for (; left > 0; --left, ++bytes) state = _mm_crc32_u8(state, *bytes);
    return state;
}

}  // namespace penstock

#endif
