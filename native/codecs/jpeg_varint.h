// Numbers of restoration data: seven bits a byte, low ones first; the last byte is below 128.
#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "base/error.h"
#include "base/image.h"

namespace penstock::jpeg {

[[noreturn]] inline void fail_restoration(const char* what, ErrorCode code = ErrorCode::corrupt) {
    throw Error(code, what, "restoration data of a jpeg", "the data is damaged: restore it from its source");
}

/// Takes bytes off the front of a view.
[[nodiscard]] inline ByteView take_bytes(ByteView& data, std::uint64_t size) {
    if (size > data.size()) fail_restoration("restoration data of a jpeg ends too early", ErrorCode::truncated);
    const ByteView taken = data.first(static_cast<std::size_t>(size));
    data = data.subspan(static_cast<std::size_t>(size));
    return taken;
}

[[nodiscard]] inline std::uint8_t take_byte(ByteView& data) { return take_bytes(data, 1)[0]; }

/// Takes a number of at most 63 bits.
[[nodiscard]] inline std::uint64_t take_number(ByteView& data) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        const std::uint8_t byte = take_byte(data);
        value |= std::uint64_t{byte & 127U} << shift;
        if (byte < 128) return value;
    }
    fail_restoration("restoration data of a jpeg has a number that is too long");
}

inline void put_number(ByteBuffer& out, std::uint64_t value) {
    for (; value >= 128; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 128));
    out.push_back(static_cast<std::uint8_t>(value));
}

/// Signed values: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4.
[[nodiscard]] inline std::uint64_t folded(int value) noexcept {
    return value < 0 ? 2 * static_cast<std::uint64_t>(-std::int64_t{value}) - 1 : 2 * static_cast<std::uint64_t>(value);
}

[[nodiscard]] inline std::int64_t unfolded(std::uint64_t value) noexcept {
    const auto half = static_cast<std::int64_t>(value / 2);
    return value % 2 != 0 ? -half - 1 : half;
}

}  // namespace penstock::jpeg
