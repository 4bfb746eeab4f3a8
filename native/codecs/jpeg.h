// The parts of the `jpeg` codec, one file each; `jpeg.cpp` puts them behind the contract.
#pragma once

#include "codecs/codec.h"

namespace penstock::jpeg {

/// As `Codec::decode`. Regions and scales give exactly the pixels that the full decode (at that scale) has there.
void decode(ByteView data, const ImageInfo& seen, const DecodeOptions& options, ImageView out);

/// As `Codec::encode`. Takes uint8 grey or RGB; `q` (95), `subsampling` (420), `progressive`, `optimize`, `restart`.
[[nodiscard]] ByteBuffer encode(ConstImageView pixels, const Parameters& parameters);

/// The same coefficients in another entropy coding, with optimal Huffman tables: sequential or `progressive`, with or
/// without `restart` (a marker every MCU row).
///
/// Pixels, APPn and COM segments stay as they are. Only the first image of a file is kept: what follows its end, and
/// the MPF index of it, go. Throws as a decode does, and `too_large` above `max_pixels`.
[[nodiscard]] ByteBuffer transcode(ByteView data, const Parameters& parameters, std::uint64_t max_pixels);

}  // namespace penstock::jpeg
