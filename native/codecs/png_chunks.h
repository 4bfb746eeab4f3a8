// The container of a PNG: its signature, header and chunks, with their checks. Pixels are the business of
// `png_decode.cpp`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"

namespace penstock::png {

enum class ColorType : std::uint8_t { grey = 0, rgb = 2, palette = 3, grey_alpha = 4, rgb_alpha = 6 };

/// IHDR, already found to be a combination that exists.
struct Header {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::uint8_t depth = 8;  ///< bits per sample: 1, 2, 4, 8 or 16
    ColorType color = ColorType::grey;
    bool interlaced = false;

    [[nodiscard]] std::size_t samples() const noexcept;  ///< of a stored pixel
    [[nodiscard]] std::size_t row_bytes(std::uint32_t num_pixels) const noexcept {
        return (std::size_t{num_pixels} * samples() * depth + 7) / 8;
    }
    /// Distance from a byte to the byte that predicts it: one stored pixel, at least one byte.
    [[nodiscard]] std::size_t filter_distance() const noexcept { return row_bytes(1); }
};

/// Chunks of a file, as views into its bytes.
struct Chunks {
    Header header;
    ByteView palette;       ///< PLTE: RGB triples
    ByteView transparency;  ///< tRNS of a colour type that may have it, of a length that fits
    ByteView exif;          ///< eXIf
    std::vector<ByteView> image_data;
};

inline constexpr std::uint32_t kMaxSide = 0x7fffffff;

inline constexpr std::size_t kMaxChunkBytes = 0x7fffffff;  ///< of a chunk's content

inline constexpr std::string_view kSignature{"\x89PNG\r\n\x1a\n", 8};

/// Reads what describes the image: every chunk before the pixels with its CRC, and an eXIf behind them if it is there.
/// Does not read pixels and does not need all of the file.
[[nodiscard]] Chunks read_description(ByteView data);

/// Reads every chunk up to IEND; `verify` checks all CRCs. What follows IEND is not looked at.
[[nodiscard]] Chunks read_chunks(ByteView data, bool verify);

/// A number as PNG writes it, most significant byte first.
void append_u32(ByteBuffer& out, std::uint32_t value);

/// A chunk of at most `kMaxChunkBytes` with its length and CRC.
void append_chunk(ByteBuffer& out, std::string_view type, ByteView content);

}  // namespace penstock::png
