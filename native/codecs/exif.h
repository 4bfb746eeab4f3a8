// The one EXIF field that changes how pixels are seen. JPEG (APP1), PNG (eXIf) and WebP (EXIF) carry the same block.
#pragma once

#include <cstdint>

#include "base/image.h"

namespace penstock {

/// Orientation (1 to 8) of an EXIF block: a TIFF header and its directory, with or without "Exif\0\0" before it.
///
/// A hint must never make an image unreadable: whatever is absent, cut off or out of range gives 1.
[[nodiscard]] std::uint8_t exif_orientation(ByteView block) noexcept;

}  // namespace penstock
