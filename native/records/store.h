// Conversion of one source image to the bytes that a dataset stores: kept, transcoded or encoded again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "codecs/codec.h"
#include "pixels/hash.h"
#include "records/shrink.h"

namespace penstock {

namespace sluice {
class TableSet;
}

/// Requested format of an image field.
struct Target {
    const Codec* codec = nullptr;  ///< null: the source's bytes are kept, whatever they are
    Parameters parameters;
    bool exact = false;             ///< the format promises the pixels back
    std::string keep_variant = "";  ///< a source of the same codec is kept if its variant is this; "*": any, "": none
    int keep_quality = 0;           ///< a JPEG is kept if it is at most this good; 0: none, 101: any
    bool transcode = false;         ///< a JPEG that would be kept gets the parameters' coding of its coefficients
    bool palette_indices = false;   ///< a palette means labels, not colours
    bool check = true;              ///< decode what was encoded and compare
    SizeLimit limit;                ///< larger images are made smaller, and are not kept
    bool nearest = false;           ///< by taking the nearest pixel
    std::shared_ptr<const sluice::TableSet> tables;  ///< of `sluice`; null: those that come with the codec
};

enum class Origin : std::uint8_t { kept = 0, transcoded = 1, encoded = 2 };

/// An image as it will be stored.
struct StoredImage {
    ByteBuffer bytes;
    ByteBuffer metadata;  ///< what the source said and `bytes` do not: spec/dataset.md, "Metadata"
    std::vector<std::string> metadata_kept;
    std::vector<std::string> metadata_dropped;
    std::uint32_t checksum = 0;  ///< CRC-32C of `bytes`
    PixelShape shape;
    std::uint8_t orientation = 1;
    Origin origin = Origin::kept;
    const Codec* codec = nullptr;
    bool has_pixels = false;
    PixelHash pixels{};               ///< of the source, if `has_pixels`
    std::vector<std::size_t> pieces;  ///< lengths into which a block may cut `bytes`; empty: it is stored whole
    std::string fallback;             ///< why a JPEG was kept that `sluice` cannot restore; empty: it was not
};

/// Turns the source's bytes into what `target` wants. Throws as decodes and encodes do, and `corrupt` if a format that
/// promises exact pixels did not give them back. A JPEG that `sluice` cannot restore is kept, with a reason. A source
/// in `sluice` counts as the JPEG that it restores.
[[nodiscard]] StoredImage store_image(ByteBuffer source, const Target& target, std::uint64_t max_pixels);

}  // namespace penstock
