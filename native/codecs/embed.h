// Metadata put into a finished image file: what an export gives back of ICC, EXIF, XMP, texts and resolution.
// Pixels are not touched. How metadata is taken out of files is the business of whoever stores it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"

namespace penstock {

/// One thing that a file said beside its pixels; views of somebody's bytes.
struct MetadataEntry {
    std::string_view tag;  ///< four characters: spec/dataset.md, "Metadata"
    ByteView content;
};

/// The entries of a stored block. Throws `truncated`, `corrupt` or `checksum`.
[[nodiscard]] std::vector<MetadataEntry> read_metadata_block(ByteView block);

/// The file with the entries in it; tags of those that its format cannot hold are added to `dropped`.
///
/// `file` is a whole image that has no such metadata yet, as encoders write them. PNG holds every tag, JPEG all but
/// gAMA, cHRM, sRGB and texts other than "Comment", WebP ICCP, EXIF and XMP, Weir everything; other formats nothing.
[[nodiscard]] ByteBuffer embed_metadata(ByteView file, const std::vector<MetadataEntry>& entries,
                                        std::vector<std::string>& dropped);

}  // namespace penstock
