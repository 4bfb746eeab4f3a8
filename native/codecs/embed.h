// Puts metadata (ICC, EXIF, XMP, texts, resolution) back into a finished image file, for exports. Pixels do not
// change. `metadata.h` takes metadata out of files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"

namespace penstock {

/// One metadata entry of a file. The views do not own their bytes.
struct MetadataEntry {
    std::string_view tag;  ///< four characters: spec/dataset.md, "Metadata"
    ByteView content;
};

/// Parses the entries of a stored block. Throws `truncated`, `corrupt` or `checksum`.
[[nodiscard]] std::vector<MetadataEntry> read_metadata_block(ByteView block);

/// Returns the file with the entries; adds tags that its format cannot hold to `dropped`.
///
/// `file` is a whole image without such metadata, as encoders write it. PNG holds every tag; JPEG all except gAMA,
/// cHRM, sRGB and texts other than "Comment"; WebP holds ICCP, EXIF and XMP; Weir holds everything, and other formats
/// nothing.
[[nodiscard]] ByteBuffer embed_metadata(ByteView file, const std::vector<MetadataEntry>& entries,
                                        std::vector<std::string>& dropped);

}  // namespace penstock
