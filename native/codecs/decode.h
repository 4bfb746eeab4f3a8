// Entry point of every decode. It inspects the header, checks limits, region and scale, applies the orientation, and
// only then lets the codec write pixels.
#pragma once

#include "codecs/codec.h"

namespace penstock {

/// Reads the header of `data`; refuses one that claims no pixels or more than `max_pixels`.
[[nodiscard]] ImageInfo inspect_image(const Codec& codec, ByteView data, std::uint64_t max_pixels);

/// A decode with checked options: what will be written, and how.
struct DecodePlan {
    ImageInfo info;
    DecodeOptions options;
    PixelShape shape;  ///< of the output, region and orientation included
};

[[nodiscard]] DecodePlan plan_decode(const Codec& codec, ByteView data, const DecodeOptions& options);

/// Runs a plan. `out.shape` must equal `plan.shape`; throws `bad_output` otherwise.
void decode_image(const Codec& codec, ByteView data, const DecodePlan& plan, ImageView out);

/// Copies `source` into `out` turned by an EXIF orientation (1 to 8). Shapes must fit; the views must not
/// overlap.
void orient_image(ConstImageView source, std::uint8_t orientation, ImageView out);

}  // namespace penstock
