#include "codecs/decode.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace penstock {

namespace {

// Whatever limit a caller sets: an image of so many pixels has a size in bytes that does not overflow.
constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 48;

std::string size_text(std::uint64_t width, std::uint64_t height) {
    return std::to_string(width) + "x" + std::to_string(height);
}

bool swaps_sides(std::uint8_t orientation) { return orientation >= 5; }

void check_region(const Region& region, const PixelShape& image) {
    const bool inside = region.width > 0 && region.height > 0 && region.x < image.width && region.y < image.height &&
                        region.width <= image.width - region.x && region.height <= image.height - region.y;
    if (inside) return;
    throw Error(ErrorCode::bad_region,
                "region (y=" + std::to_string(region.y) + ", x=" + std::to_string(region.x) +
                    ", height=" + std::to_string(region.height) + ", width=" + std::to_string(region.width) +
                    ") does not lie inside the image of " + size_text(image.width, image.height) + " pixels",
                "region",
                "choose 0 <= y < y + height <= " + std::to_string(image.height) +
                    " and 0 <= x < x + width <= " + std::to_string(image.width));
}

// The stored rectangle that becomes `region` once a stored image of `stored` size has been turned.
Region unorient_region(const Region& region, std::uint8_t orientation, const PixelShape& stored) {
    Region r = region;
    if (swaps_sides(orientation)) r = {region.x, region.y, region.width, region.height};
    const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    if (from_right) r.x = stored.width - r.x - r.width;
    if (from_bottom) r.y = stored.height - r.y - r.height;
    return r;
}

// Those that the codec can decode at: "1", or "1, 2, 4 or 8".
std::string scales_text(const Codec& codec) {
    std::string text = "1";
    for (const std::uint32_t scale : {2U, 4U, 8U}) {
        if (codec.can_scale(scale)) text += (scale == 8 ? " or " : ", ") + std::to_string(scale);
    }
    return text;
}

PixelShape oriented(PixelShape shape, std::uint8_t orientation) {
    if (swaps_sides(orientation)) std::swap(shape.width, shape.height);
    return shape;
}

}  // namespace

ImageInfo inspect_image(const Codec& codec, ByteView data, std::uint64_t max_pixels) {
    const ImageInfo info = codec.inspect(data);
    const PixelShape& shape = info.shape;
    if (shape.width == 0 || shape.height == 0) {
        throw Error(ErrorCode::corrupt, "image has no pixels (" + size_text(shape.width, shape.height) + ")",
                    "header of the " + std::string(codec.name()) + " data",
                    "the file is damaged: restore it from its source");
    }
    max_pixels = std::min(max_pixels, kMostPixels);
    if (shape.pixels() > max_pixels) {
        throw Error(ErrorCode::too_large,
                    "image of " + size_text(shape.width, shape.height) +
                        " pixels is larger than max_pixels=" + std::to_string(max_pixels),
                    "header of the " + std::string(codec.name()) + " data",
                    "pass a larger max_pixels if the file is trusted");
    }
    return info;
}

DecodePlan plan_decode(const Codec& codec, ByteView data, const DecodeOptions& options) {
    DecodePlan plan{inspect_image(codec, data, options.max_pixels), options, {}};
    if (!codec.can_scale(options.scale)) {
        throw Error(
            ErrorCode::unsupported,
            "codec '" + std::string(codec.name()) + "' cannot decode at scale 1/" + std::to_string(options.scale),
            "scale", "decode at scale " + scales_text(codec) + " and resize");
    }
    PixelShape whole = codec.decoded_shape(plan.info, options);
    const std::uint8_t orientation = options.orient ? plan.info.orientation : std::uint8_t{1};
    plan.shape = oriented(whole, orientation);
    if (options.region) {
        check_region(*options.region, plan.shape);
        plan.shape.width = options.region->width;
        plan.shape.height = options.region->height;
        plan.options.region = unorient_region(*options.region, orientation, whole);
    }
    plan.options.orient = orientation != 1;
    return plan;
}

void decode_image(const Codec& codec, ByteView data, const DecodePlan& plan, ImageView out) {
    if (out.shape != plan.shape) {
        throw Error(ErrorCode::bad_output, "output has another shape or sample type than the decoded image", "out",
                    "pass an array of height " + std::to_string(plan.shape.height) + ", width " +
                        std::to_string(plan.shape.width) + ", channels " + std::to_string(plan.shape.channels) + ", " +
                        std::to_string(plan.shape.sample_bytes * 8) + "-bit unsigned");
    }
    if (!plan.options.orient) {
        codec.decode(data, plan.info, plan.options, out);
        return;
    }
    DecodeOptions stored_options = plan.options;
    stored_options.orient = false;
    OwnedImage stored(oriented(plan.shape, plan.info.orientation), plan.options.working_pool());
    codec.decode(data, plan.info, stored_options, stored.view());
    orient_image(stored.view(), plan.info.orientation, out);
}

void orient_image(ConstImageView source, std::uint8_t orientation, ImageView out) {
    const std::size_t pixel_bytes = std::size_t{source.shape.channels} * source.shape.sample_bytes;
    const std::uint32_t width = source.shape.width;
    const std::uint32_t height = source.shape.height;
    const bool mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    for (std::uint32_t y = 0; y < out.shape.height; ++y) {
        std::uint8_t* target = out.row(y);
        for (std::uint32_t x = 0; x < out.shape.width; ++x) {
            std::uint32_t from_x = swaps_sides(orientation) ? y : x;
            std::uint32_t from_y = swaps_sides(orientation) ? x : y;
            if (mirror_x) from_x = width - 1 - from_x;
            if (mirror_y) from_y = height - 1 - from_y;
            std::memcpy(target + x * pixel_bytes, source.row(from_y) + from_x * pixel_bytes, pixel_bytes);
        }
    }
}

}  // namespace penstock
