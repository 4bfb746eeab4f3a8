#include "codecs/indexed.h"

#include <algorithm>
#include <cstring>

namespace penstock {

namespace {

using Byte = std::uint8_t;

// Numbers [begin, begin + count) of 1, 2 or 4 bits, one to a byte.
void unpack(const Byte* row, unsigned depth, std::size_t begin, std::size_t count, Byte* out) {
    const unsigned mask = (1U << depth) - 1;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t bit = (begin + i) * depth;
        out[i] = static_cast<Byte>(row[bit / 8] >> (8 - depth - bit % 8) & mask);
    }
}

template <std::size_t kPixelBytes>
void look_up(const PixelTable& table, const Byte* numbers, std::size_t count, Byte* out) {
    for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(out + i * kPixelBytes, table[numbers[i]].data(), kPixelBytes);
    }
}

void look_up(const PixelTable& table, std::size_t pixel_bytes, const Byte* numbers, std::size_t count, Byte* out) {
    switch (pixel_bytes) {
        case 1: look_up<1>(table, numbers, count, out); break;
        case 2: look_up<2>(table, numbers, count, out); break;
        case 3: look_up<3>(table, numbers, count, out); break;
        default: look_up<4>(table, numbers, count, out); break;
    }
}

}  // namespace

void look_up_pixels(const PixelTable& table, std::size_t pixel_bytes, const Byte* row, unsigned depth,
                    std::size_t begin, std::size_t count, Byte* out) noexcept {
    if (depth == 8) {
        look_up(table, pixel_bytes, row + begin, count, out);
        return;
    }
    std::array<Byte, 1024> numbers;
    for (std::size_t done = 0; done < count; done += numbers.size()) {
        const std::size_t block = std::min(numbers.size(), count - done);
        unpack(row, depth, begin + done, block, numbers.data());
        look_up(table, pixel_bytes, numbers.data(), block, out + done * pixel_bytes);
    }
}

}  // namespace penstock
