#include "base/crc32c.h"

#include <array>
#include <cstddef>

#include "base/cpu.h"
#include "base/crc32c_paths.h"

namespace penstock {

namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected

using Table = std::array<std::array<std::uint32_t, 256>, 8>;

// table[0][b] advances the CRC by one byte b, table[n][b] by byte b followed by n zero bytes.
constexpr Table make_table() {
    Table table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
        table[0][byte] = crc;
    }
    for (std::size_t n = 1; n < table.size(); ++n) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = table[n - 1][byte];
            table[n][byte] = (before >> 8) ^ table[0][before & 255];
        }
    }
    return table;
}

constexpr Table kTable = make_table();

}  // namespace

std::uint32_t crc32c_plain(ByteView data, std::uint32_t state) noexcept {
    std::size_t i = 0;
    for (; data.size() - i >= 8; i += 8) {
        std::uint32_t next = 0;
        for (std::size_t n = 0; n < 8; ++n) {
            const std::uint32_t byte = data[i + n] ^ (n < 4 ? (state >> (8 * n)) & 255 : 0);
            next ^= kTable[7 - n][byte];
        }
        state = next;
    }
    for (; i < data.size(); ++i) state = (state >> 8) ^ kTable[0][(state ^ data[i]) & 255];
    return state;
}

std::uint32_t crc32c(ByteView data, std::uint32_t previous) noexcept {
#if defined(__x86_64__)
    const SimdPath path = active_simd_path();
    if (path >= SimdPath::avx512) return ~crc32c_avx512(data, ~previous);
    if (path >= SimdPath::avx2) return ~crc32c_avx2(data, ~previous);
#elif defined(__aarch64__)
    if (active_simd_path() == SimdPath::neon) return ~crc32c_neon(data, ~previous);
#endif
    return ~crc32c_plain(data, ~previous);
}

}  // namespace penstock
