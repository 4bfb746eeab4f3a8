// The RIFF container around WebP bitstreams: what libwebp's decoder does not tell, and what its encoder leaves out.
#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "base/image.h"

namespace penstock::webp {

/// Returns whether the first bytes are those of a WebP file.
[[nodiscard]] bool has_signature(ByteView data) noexcept;

/// Reads the EXIF orientation (1 to 8) of a WebP file; 1 if it has none. Walks the chunk headers only.
[[nodiscard]] std::uint8_t orientation_of(ByteView data) noexcept;

/// Gives an encoded image without alpha an opaque alpha channel, so that RGBA pixels come back as RGBA.
///
/// `file` is what libwebp wrote for fully opaque pixels: one VP8 or VP8L chunk. Costs 0 or 32 bytes.
void add_opaque_alpha(ByteBuffer& file, std::uint32_t width, std::uint32_t height);

}  // namespace penstock::webp
