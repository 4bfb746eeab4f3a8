// From a PNG's stored samples (1 to 16 bits, palette indices, colour keys) to the pixels a decode gives.
#pragma once

#include <array>
#include <cstdint>

#include "base/image.h"
#include "codecs/indexed.h"
#include "codecs/png_chunks.h"

namespace penstock::png {

/// Channels and bytes per sample of the decoded image: tRNS adds an alpha channel, a palette becomes RGB or RGBA, fewer
/// than 8 bits become 8.
[[nodiscard]] PixelShape decoded_shape(const Chunks& chunks) noexcept;

/// Converts rows of one image. Built once a decode, then only read.
class PixelConversion {
  public:
    /// `palette_indices` keeps the indices of a palette image as its one channel.
    PixelConversion(const Chunks& chunks, bool palette_indices) noexcept;

    /// Returns whether stored rows equal decoded rows.
    [[nodiscard]] bool is_copy() const noexcept { return kind_ == Kind::copy; }
    [[nodiscard]] std::size_t pixel_bytes() const noexcept { return pixel_bytes_; }

    /// Pixels [begin, begin + count) of the un-filtered row `stored`.
    void convert(const std::uint8_t* stored, std::uint32_t begin, std::uint32_t count,
                 std::uint8_t* out) const noexcept;

  private:
    enum class Kind { copy, swap_bytes, look_up, key };

    void fill_palette(const Chunks& chunks, bool indices) noexcept;
    void fill_greys(const Chunks& chunks) noexcept;

    Kind kind_ = Kind::copy;
    std::uint8_t depth_ = 8;
    std::uint8_t color_samples_ = 1;     // of a pixel with a colour key
    std::size_t pixel_bytes_ = 1;        // as decoded
    std::array<std::uint8_t, 6> key_{};  // the transparent colour as stored
    PixelTable table_;                   // filled for look_up only
};

}  // namespace penstock::png
