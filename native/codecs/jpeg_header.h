// What a JPEG says about itself, read by our own walk over its markers: no libjpeg, no allocation, and a limit
// on nothing but the data's own length.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/image.h"

namespace penstock::jpeg {

enum class Color : std::uint8_t { grey, ycc, rgb, cmyk, ycck };

/// How many blocks of a component lie in an MCU, across and down.
struct Sampling {
    std::uint8_t across = 1;
    std::uint8_t down = 1;
};

struct Header {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::uint8_t num_components = 0;
    std::array<Sampling, 4> sampling{};
    Color color = Color::grey;
    bool progressive = false;
    bool arithmetic = false;
    bool interleaved = true;             ///< whether the first scan has all components
    std::uint8_t orientation = 1;        ///< EXIF, 1 to 8
    std::uint32_t restart_interval = 0;  ///< MCUs between restart markers; 0 without any
    std::size_t scan_begin = 0;          ///< first entropy-coded byte of the first scan
};

/// Walks from the start of the image to the end of its first SOS segment.
///
/// Colour is told as libjpeg tells it (JFIF, then Adobe, then component ids). Throws `truncated` if the data ends
/// first, `corrupt` if it is no JPEG, `unsupported` for what is not 8-bit DCT coded (lossless, hierarchical, 12-bit).
[[nodiscard]] Header read_header(ByteView data);

/// Offsets at which the restart intervals of the first scan begin, the scan's own beginning included.
///
/// With a restart marker every MCU row (`jpeg:restart`) entry r is where row r begins. Cost: one search for 0xFF.
[[nodiscard]] std::vector<std::size_t> restart_offsets(ByteView data);

}  // namespace penstock::jpeg
