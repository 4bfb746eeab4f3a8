// Decoding of ordinary JPEG files by our own code from the first bit to the last pixel: strips of an MCU row are
// Huffman decoded into groups of coefficients and transformed back while they are in the first-level cache.
//
// Its plain twin is libjpeg-turbo (`DecodeOptions::plain`), which also takes what is rare: progressive and arithmetic
// coding, CMYK, the rougher transform of `fast`, odd layouts, and processors without AVX2 or NEON, where its own vector
// code is as fast.
#pragma once

#include "codecs/codec.h"
#include "codecs/jpeg_library.h"

namespace penstock::jpeg {

/// Decodes as `Codec::decode` does, if it can; false, nothing done, for what is left to libjpeg.
///
/// `decompressor` must have read the header of `data`, and no more. Throws what libjpeg would give up with.
[[nodiscard]] bool decode_strips(Decompressor& decompressor, ByteView data, const DecodeOptions& options,
                                 ImageView out);

}  // namespace penstock::jpeg
