// The parts of the `jpeg` codec, one file each; `jpeg.cpp` puts them behind the contract.
#pragma once

#include "codecs/codec.h"

namespace penstock::jpeg {

/// As `Codec::inspect`.
[[nodiscard]] ImageInfo inspect(ByteView data);

/// Whether a file must have all its scans. A progressive one that ends after any whole scan is a coarser image; it is
/// decoded as it is, without libjpeg's smoothing over blocks: a guess that costs time, forbids regions, and differs
/// between versions of the library.
enum class Scans : std::uint8_t { all, any };

/// As `Codec::working_bytes`.
[[nodiscard]] std::size_t working_bytes(const ImageInfo& info) noexcept;

/// As `Codec::decode`. Regions and scales give exactly the pixels that the full decode (at that scale) has there.
void decode(ByteView data, const ImageInfo& seen, const DecodeOptions& options, Scans scans, ImageView out);

/// As `Codec::encode`. Takes uint8 grey or RGB; `q` (95), `subsampling` (420), `progressive`, `optimize`, `restart`.
[[nodiscard]] ByteBuffer encode(ConstImageView pixels, const Parameters& parameters);

/// Where a transcode puts APPn and COM segments. Behind the image's end they cost nothing to whoever reads only the
/// first scans, and no decoder looks there; JFIF and Adobe segments, which say what the colours are, stay in front.
enum class SegmentOrder : std::uint8_t { in_front, behind };

/// The same coefficients in another entropy coding, with optimal Huffman tables: sequential or `progressive`, with or
/// without `restart` (a marker every MCU row, and a segment with their offsets).
///
/// Pixels, APPn and COM segments stay as they are. Only the first image of a file is kept: what follows its end, and
/// the MPF index of it, go; so do offsets of the rows as they were. Throws as a decode does, `too_large` above
/// `max_pixels`, and `unsupported` for a progressive file that lacks scans, if smoothing shows in its pixels.
[[nodiscard]] ByteBuffer transcode(ByteView data, const Parameters& parameters, std::uint64_t max_pixels,
                                   SegmentOrder order = SegmentOrder::in_front);

/// A file whose segments stand behind its end, with them in front as other programs expect them. Throws as a header's
/// walk does.
[[nodiscard]] ByteBuffer with_segments_in_front(ByteView data);

}  // namespace penstock::jpeg
