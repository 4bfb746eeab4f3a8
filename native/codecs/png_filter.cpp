// Plain loops without a dependence between bytes: the compiler makes vectors of them.
#include "codecs/png_filter.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace penstock::png {

namespace {

using Byte = std::uint8_t;

// The row, the row above, and both one pixel to the left.
struct Neighbours {
    const Byte* row;
    const Byte* left;
    const Byte* up;
    const Byte* up_left;
    std::size_t size;
};

void none(const Neighbours& n, Byte* __restrict out) { std::memcpy(out, n.row, n.size); }

void sub(const Neighbours& n, Byte* __restrict out) {
    for (std::size_t i = 0; i < n.size; ++i) out[i] = static_cast<Byte>(n.row[i] - n.left[i]);
}

void up(const Neighbours& n, Byte* __restrict out) {
    for (std::size_t i = 0; i < n.size; ++i) out[i] = static_cast<Byte>(n.row[i] - n.up[i]);
}

void average(const Neighbours& n, Byte* __restrict out) {
    for (std::size_t i = 0; i < n.size; ++i) out[i] = static_cast<Byte>(n.row[i] - ((n.left[i] + n.up[i]) >> 1));
}

void paeth(const Neighbours& n, Byte* __restrict out) {
    for (std::size_t i = 0; i < n.size; ++i) {
        const auto a = static_cast<std::int16_t>(n.left[i]);
        const auto b = static_cast<std::int16_t>(n.up[i]);
        const auto c = static_cast<std::int16_t>(n.up_left[i]);
        const auto to_left = static_cast<std::int16_t>(std::abs(b - c));
        const auto to_up = static_cast<std::int16_t>(std::abs(a - c));
        const auto to_up_left = static_cast<std::int16_t>(std::abs(a + b - 2 * c));
        const std::int16_t vertical = to_up <= to_up_left ? b : c;
        const std::int16_t nearest = std::min(to_up, to_up_left);
        const std::int16_t predictor = to_left <= nearest ? a : vertical;
        out[i] = static_cast<Byte>(n.row[i] - predictor);
    }
}

using Filter = void (*)(const Neighbours&, Byte*);
constexpr Filter kFilters[] = {&none, &sub, &up, &average, &paeth};

std::uint64_t magnitude(const Byte* bytes, std::size_t size) {
    std::uint64_t sum = 0;
    // Sums of at most 2^16 bytes fit the narrower numbers that vectors prefer.
    for (std::size_t begin = 0; begin < size; begin += 65536) {
        const std::size_t end = std::min(size, begin + 65536);
        std::uint32_t part = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const auto negated = static_cast<Byte>(-bytes[i]);
            part += std::min(bytes[i], negated);
        }
        sum += part;
    }
    return sum;
}

}  // namespace

RowFilter::RowFilter(std::size_t row_bytes, std::size_t distance)
    : row_bytes_(row_bytes),
      distance_(distance),
      current_(kMargin + row_bytes),
      above_(kMargin + row_bytes),
      candidate_(row_bytes) {}

void RowFilter::filter(std::uint8_t* out) {
    const Byte* row = current_.data() + kMargin;
    const Byte* up_row = above_.data() + kMargin;
    const Neighbours neighbours{row, row - distance_, up_row, up_row - distance_, row_bytes_};
    std::uint64_t best = ~std::uint64_t{0};
    for (Byte type = 0; type < std::size(kFilters); ++type) {
        kFilters[type](neighbours, candidate_.data());
        const std::uint64_t cost = magnitude(candidate_.data(), row_bytes_);
        if (cost >= best) continue;
        best = cost;
        out[0] = type;
        std::memcpy(out + 1, candidate_.data(), row_bytes_);
    }
    current_.swap(above_);
}

}  // namespace penstock::png
