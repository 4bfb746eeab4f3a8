// Pixels stored as small numbers: palette indices and greys of 1 to 8 bits. PNG, BMP and PBM share it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock {

/// The decoded pixel (1 to 4 bytes of each entry) of every stored number.
using PixelTable = std::array<std::array<std::uint8_t, 4>, 256>;

/// Decodes the numbers [begin, begin + count) of a row packed at `depth` (1, 2, 4 or 8) bits, the first in the top bits
/// of its byte. Writes `count` pixels of `pixel_bytes` each.
void look_up_pixels(const PixelTable& table, std::size_t pixel_bytes, const std::uint8_t* row, unsigned depth,
                    std::size_t begin, std::size_t count, std::uint8_t* out) noexcept;

}  // namespace penstock
