// A JPEG as its quantised coefficients and what else it takes to write the same file again, byte for byte.
//
// spec/jpeg-restoration.md describes the restoration data; spec/reference/jpeg_restoration.py reads it in plain Python.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"
#include "codecs/jpeg_header.h"

namespace penstock::jpeg {

inline constexpr std::size_t kBlockCoefficients = 64;

/// A quantisation table in zigzag order.
using QuantizationTable = std::array<std::uint16_t, kBlockCoefficients>;

/// Blocks of 64 coefficients each, in memory of the shared pool. Moves, does not copy.
class CoefficientBlocks {
  public:
    CoefficientBlocks() = default;
    /// All coefficients are zero. Throws `out_of_memory`.
    explicit CoefficientBlocks(std::size_t num_blocks);
    /// Coefficients are whatever the memory held before: for whoever writes all of them.
    [[nodiscard]] static CoefficientBlocks uninitialized(std::size_t num_blocks);
    CoefficientBlocks(CoefficientBlocks&& other) noexcept { swap(other); }
    CoefficientBlocks& operator=(CoefficientBlocks&& other) noexcept {
        swap(other);
        return *this;
    }
    ~CoefficientBlocks();

    [[nodiscard]] std::size_t size() const noexcept { return num_blocks_; }
    /// The 64 coefficients of a block, in zigzag order.
    [[nodiscard]] std::int16_t* operator[](std::size_t index) noexcept { return data_ + index * kBlockCoefficients; }
    [[nodiscard]] const std::int16_t* operator[](std::size_t index) const noexcept {
        return data_ + index * kBlockCoefficients;
    }

  private:
    void swap(CoefficientBlocks& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(num_blocks_, other.num_blocks_);
    }

    std::int16_t* data_ = nullptr;
    std::size_t num_blocks_ = 0;
};

/// One colour component. Only blocks that hold pixels are here: the blocks that fill up the last MCUs of a row or
/// column carry no pixels, and are part of the restoration data if they need to be stored at all.
struct CoefficientComponent {
    Sampling sampling;
    std::uint32_t blocks_wide = 0;
    std::uint32_t blocks_high = 0;
    QuantizationTable quantization{};
    CoefficientBlocks blocks;  ///< row after row, `blocks_wide * blocks_high` of them

    [[nodiscard]] std::int16_t* block(std::uint32_t x, std::uint32_t y) noexcept {
        return blocks[std::size_t{y} * blocks_wide + x];
    }
    [[nodiscard]] const std::int16_t* block(std::uint32_t x, std::uint32_t y) const noexcept {
        return blocks[std::size_t{y} * blocks_wide + x];
    }
};

/// An 8-bit image of one component (grey) or three (YCbCr or RGB, as libjpeg takes them).
struct CoefficientImage {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    Color color = Color::grey;
    std::uint8_t orientation = 1;  ///< EXIF, 1 to 8; coefficients are as stored, not turned
    std::vector<CoefficientComponent> components;
};

/// Blocks of a component across or down, without those that only fill up MCUs: `pixels` (width or height of the image)
/// times its sampling factor over the largest of all components, in units of eight samples, rounded up.
[[nodiscard]] constexpr std::uint32_t num_blocks(std::uint32_t pixels, unsigned factor, unsigned max_factor) noexcept {
    return (pixels * factor + 8 * max_factor - 1) / (8 * max_factor);
}

struct TakenApart {
    CoefficientImage image;
    ByteBuffer restoration;  ///< opaque; `put_together` reads it
};

/// Splits a JPEG file into its coefficients and restoration data.
///
/// Rebuilds the file and compares before it returns: `put_together` of the result gives exactly `file`. Takes
/// Huffman-coded 8-bit files of 1 or 3 components, sequential and progressive. Throws `unsupported` for every other
/// kind, for a progressive file that lacks scans (libjpeg smooths it: its pixels are not a function of its
/// coefficients), and for a file whose coding cannot be described; `truncated` or `corrupt` for damage; `too_large`
/// above `max_pixels`. Memory is bounded by a multiple of the file's length. Safe from many threads.
[[nodiscard]] TakenApart take_apart(ByteView file, std::uint64_t max_pixels = std::uint64_t{1} << 28);

/// Reads the coefficients only, at less than half the cost. Throws as `take_apart` does, except that any coding that
/// can be decoded is fine.
[[nodiscard]] CoefficientImage read_coefficients(ByteView file, std::uint64_t max_pixels = std::uint64_t{1} << 28);

/// Writes the file again that `take_apart` was given.
///
/// Neither argument is trusted. Throws `corrupt` if they do not belong together or are damaged, and `checksum` if the
/// result is not the file it was. Memory is bounded by a multiple of both together. Safe from many threads.
[[nodiscard]] ByteBuffer put_together(const CoefficientImage& image, ByteView restoration);

}  // namespace penstock::jpeg
