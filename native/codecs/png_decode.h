// Pixels out of a PNG: inflate in one shot, un-filter, convert, into a caller's rows.
#pragma once

#include "base/image.h"
#include "codecs/codec.h"
#include "codecs/png_chunks.h"

namespace penstock::png {

/// Decodes what `options` asks for into `out`, whose shape has been checked.
///
/// Memory beyond `out`: the inflated image and three of its rows, from the shared pool; a copy of the compressed
/// data if it stands in several chunks. Rows below a region, and those above it that no row of it builds on, are
/// inflated but not un-filtered.
void decode(const Chunks& chunks, const DecodeOptions& options, ImageView out);

}  // namespace penstock::png
