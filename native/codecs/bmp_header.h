// The headers of a BMP, from OS/2's 12 bytes to version 5's 124, brought to one form.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/image.h"
#include "codecs/indexed.h"

namespace penstock::bmp {

/// One channel's bits within a 16- or 32-bit pixel.
struct BitField {
    std::uint32_t mask = 0;

    /// The field of `pixel`, stretched to 0…255 as Pillow does; the mask is not empty.
    [[nodiscard]] std::uint8_t read(std::uint32_t pixel) const noexcept;
};

enum class Layout { indices, fields, bgr };

struct Header {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    bool top_down = false;
    std::uint8_t bits = 24;  ///< per pixel: 1, 4, 8, 16, 24 or 32
    bool run_length = false;
    Layout layout = Layout::bgr;
    std::size_t pixel_offset = 0;
    std::uint8_t channels = 3;       ///< of a decode that gives colours
    bool grey = false;               ///< indices whose palette says that they are greys
    PixelTable palette{};            ///< for `indices`: colours, black where the file has none
    std::array<BitField, 4> fields;  ///< for `fields`: red, green, blue, and alpha if there are 4 channels

    /// Rows start at multiples of four bytes.
    [[nodiscard]] std::size_t row_stride() const noexcept { return (std::size_t{width} * bits + 31) / 32 * 4; }
};

/// Returns whether `data` starts like a BMP whose header has a known size.
[[nodiscard]] bool is_bmp(ByteView data) noexcept;

/// Reads headers, palette and masks, and refuses unsupported variants. The pixels may be missing.
[[nodiscard]] Header read_header(ByteView data);

}  // namespace penstock::bmp
