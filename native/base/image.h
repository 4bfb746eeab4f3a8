// Views of bytes and of pixels. Nothing here owns memory; `buffer.h` does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

using ByteView = std::span<const std::uint8_t>;

/// Height, width, interleaved channels (1 to 4) and bytes per sample (1 or 2, native byte order).
struct PixelShape {
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    std::uint8_t channels = 1;
    std::uint8_t sample_bytes = 1;

    [[nodiscard]] std::size_t row_bytes() const noexcept { return std::size_t{width} * channels * sample_bytes; }
    [[nodiscard]] std::size_t bytes() const noexcept { return row_bytes() * height; }
    [[nodiscard]] std::uint64_t pixels() const noexcept { return std::uint64_t{width} * height; }
    friend bool operator==(const PixelShape&, const PixelShape&) = default;
};

/// A rectangle of pixels, half-open: rows [y, y + height), columns [x, x + width).
struct Region {
    std::uint32_t y = 0;
    std::uint32_t x = 0;
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    friend bool operator==(const Region&, const Region&) = default;
};

/// Writable view of pixels that it does not own. Rows are `row_stride` bytes apart; samples within a row are
/// contiguous.
struct ImageView {
    std::uint8_t* data = nullptr;
    std::size_t row_stride = 0;
    PixelShape shape;

    [[nodiscard]] std::uint8_t* row(std::size_t y) const noexcept { return data + y * row_stride; }
};

/// Read-only view of pixels that it does not own.
struct ConstImageView {
    const std::uint8_t* data = nullptr;
    std::size_t row_stride = 0;
    PixelShape shape;

    ConstImageView() = default;
    ConstImageView(const std::uint8_t* pixels, std::size_t stride, PixelShape pixel_shape)
        : data(pixels), row_stride(stride), shape(pixel_shape) {}
    ConstImageView(const ImageView& other) : data(other.data), row_stride(other.row_stride), shape(other.shape) {}

    [[nodiscard]] const std::uint8_t* row(std::size_t y) const noexcept { return data + y * row_stride; }
};

}  // namespace penstock
