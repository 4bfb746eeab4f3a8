#include "records/store.h"

#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/decode.h"
#include "codecs/jpeg.h"
#include "codecs/jpeg_quality.h"
#include "codecs/jpeg_scans.h"
#include "codecs/metadata.h"
#include "codecs/png_chunks.h"
#include "codecs/sluice_transcode.h"
#include "codecs/table.h"

namespace penstock {

namespace {

const Codec& codec_of(ByteView data) {
    const Codec* codec = sniff_codec(data);
    if (codec != nullptr) return *codec;
    throw Error(ErrorCode::unknown_format,
                data.empty() ? "the file is empty" : "the content is of no known image format", "byte 0",
                "remove the file, or convert it to PNG or JPEG");
}

OwnedImage decode_whole(const Codec& codec, ByteView data, bool palette_indices, std::uint64_t max_pixels) {
    DecodeOptions options;
    options.palette_indices = palette_indices;
    options.max_pixels = max_pixels;
    const DecodePlan plan = plan_decode(codec, data, options);
    OwnedImage image(plan.shape, BufferPool::shared());
    decode_image(codec, data, plan, image.view());
    return image;
}

bool are_equal(const OwnedImage& one, const OwnedImage& other) {
    if (!(one.shape() == other.shape())) return false;
    return std::memcmp(one.view().data, other.view().data, one.shape().bytes()) == 0;
}

void check_equal(const OwnedImage& source, const Codec& codec, ByteView stored, std::uint64_t max_pixels) {
    if (are_equal(source, decode_whole(codec, stored, false, max_pixels))) return;
    throw Error(ErrorCode::corrupt, std::string(codec.name()) + " did not give back the pixels that it was given",
                "comparison with the source", "this is a mistake in Penstock: report it with the image");
}

// What can be said of bytes that are stored as they are, without decoding them.
void check_kept(const Codec& codec, ByteView data) {
    if (codec.name() == "png") {
        (void)png::read_chunks(data, true);
    } else if (codec.name() == "jpeg") {
        jpeg::check_end(data);
    }
}

const Parameters kProgressive(std::vector<std::pair<std::string, std::string>>{{"progressive", "true"}});

bool is_progressive(const Target& target) { return target.codec != nullptr && target.codec->name() == "pjpeg"; }

bool is_sluice_codec(const Codec& codec) { return codec.name() == "sluice"; }

bool is_sluice(const Target& target) { return target.codec != nullptr && is_sluice_codec(*target.codec); }

bool is_wanted_already(const Codec& codec, const ImageInfo& info, ByteView data, const Target& target) {
    if (!(limited(info.shape, target.limit) == info.shape)) return false;
    if (target.codec == nullptr) return true;
    if (&codec != target.codec && !(codec.name() == "jpeg" && (is_progressive(target) || is_sluice(target)))) {
        return false;
    }
    if (codec.name() == "jpeg") return jpeg::is_at_most(data, target.keep_quality);
    return target.keep_variant == "*" || (!target.keep_variant.empty() && target.keep_variant == info.variant);
}

bool has_layers(const Target& target) { return is_sluice(target) && sluice::layer_bits_of(target.parameters) != 0; }

// Codes a JPEG as Sluice, or says why it must be kept. Restores the file before the source is dropped, so that an
// export always gives the original bytes.
std::string sluice_of(const StoredImage& image, const Target& target, std::uint64_t max_pixels, ByteBuffer& coded) {
    const ByteView jpeg = image.bytes.view();
    try {
        coded =
            sluice::from_jpeg(jpeg, {target.tables.get(), false, sluice::layer_bits_of(target.parameters), max_pixels});
        const ByteBuffer restored = sluice::to_jpeg(coded.view(), max_pixels);
        if (restored.size() != jpeg.size() || std::memcmp(restored.data(), jpeg.data(), jpeg.size()) != 0) {
            return "restoring it gives other bytes";
        }
    } catch (const Error& error) {
        if (error.code() == ErrorCode::out_of_memory) throw;
        return error.what();
    }
    if (!target.check) return "";
    const OwnedImage pixels = decode_whole(*image.codec, jpeg, false, max_pixels);
    const bool same = are_equal(pixels, decode_whole(*target.codec, coded.view(), false, max_pixels));
    return same ? "" : "its coefficients decode to other pixels";
}

ByteBuffer jpeg_of(const StoredImage& image, const Target& target, std::uint64_t max_pixels) {
    const ByteView jpeg = image.bytes.view();
    ByteBuffer coded = is_progressive(target)
                           ? jpeg::transcode(jpeg, kProgressive, max_pixels, jpeg::SegmentOrder::behind)
                           : jpeg::transcode(jpeg, target.parameters, max_pixels);
    if (target.check) {
        const OwnedImage pixels = decode_whole(*image.codec, jpeg, false, max_pixels);
        check_equal(pixels, *image.codec, coded.view(), max_pixels);
    }
    return coded;
}

void transcode(const Target& target, std::uint64_t max_pixels, StoredImage& image) {
    ByteBuffer coded;
    if (is_sluice(target)) {
        image.fallback = sluice_of(image, target, max_pixels, coded);
        if (!image.fallback.empty()) {
            check_kept(*image.codec, image.bytes.view());
            return;
        }
    } else {
        coded = jpeg_of(image, target, max_pixels);
    }
    image.bytes = std::move(coded);
    image.codec = target.codec;
    image.origin = Origin::transcoded;
}

// Sluice has no loss of its own: other sources need a quality.
void check_quality(const Target& target) {
    if (!is_sluice(target) || !target.parameters.text("q", "").empty()) return;
    throw Error(ErrorCode::unsupported, "the image must be encoded, and 'sluice' without a quality holds JPEGs only",
                "format", "give other sources a quality, for example sluice:q=90, which leaves JPEGs as they are");
}

// A Sluice source counts as the JPEG in it. Bytes that are kept must not need the tables of another dataset.
void open_sluice(const Target& target, std::uint64_t max_pixels, StoredImage& image) {
    const sluice::Facts facts = sluice::facts_of(image.bytes.view());
    if (target.codec == nullptr) {
        if (facts.has_tables || facts.is_default) return;
        image.bytes = sluice::recode(image.bytes.view(), {nullptr, false, 0, max_pixels});
        image.origin = Origin::transcoded;
    } else if (facts.restoration_bytes != 0) {
        image.bytes = sluice::to_jpeg(image.bytes.view(), max_pixels);
        image.codec = find_codec("jpeg");
    } else if (is_sluice(target)) {
        image.bytes = sluice::recode(image.bytes.view(), {target.tables.get(), false, 0, max_pixels});
        image.origin = Origin::transcoded;
    }
}

OwnedImage pixels_of(const StoredImage& image, const Target& target, std::uint64_t max_pixels) {
    OwnedImage pixels = decode_whole(*image.codec, image.bytes.view(), target.palette_indices, max_pixels);
    const PixelShape shape = limited(pixels.shape(), target.limit);
    return shape == pixels.shape() ? std::move(pixels) : shrink(pixels, shape, target.nearest);
}

// An image that would be kept, were it not too large: in its own format if it is lossy, else as PNG.
const Codec& codec_for_shrunk(const Codec& source) { return source.name() == "jpeg" ? source : *find_codec("png"); }

void encode(const Target& target, std::uint64_t max_pixels, StoredImage& image) {
    check_quality(target);
    const OwnedImage pixels = pixels_of(image, target, max_pixels);
    const Metadata metadata = read_metadata(image.bytes.view());
    image.metadata = metadata.block();
    image.metadata_kept = metadata.kept();
    image.metadata_dropped = metadata.dropped();
    const Codec& codec = target.codec == nullptr ? codec_for_shrunk(*image.codec) : *target.codec;
    image.bytes = codec.encode(pixels.view(), target.parameters);
    image.shape = pixels.shape();
    image.codec = &codec;
    image.origin = Origin::encoded;
    if (!target.exact && codec.name() != "png") return;
    image.pixels = hash_pixels(pixels.view());
    image.has_pixels = true;
    if (target.check) check_equal(pixels, codec, image.bytes.view(), max_pixels);
}

}  // namespace

StoredImage store_image(ByteBuffer source, const Target& target, std::uint64_t max_pixels) {
    StoredImage image;
    image.bytes = std::move(source);
    image.codec = &codec_of(image.bytes.view());
    ImageInfo info = inspect_image(*image.codec, image.bytes.view(), max_pixels);
    if (image.codec->name() == "sluice") {
        open_sluice(target, max_pixels, image);
        info = inspect_image(*image.codec, image.bytes.view(), max_pixels);
    }
    const ByteView data = image.bytes.view();
    image.shape = info.shape;
    image.orientation = info.orientation;
    if (is_wanted_already(*image.codec, info, data, target)) {
        if (target.transcode && image.codec->name() == "jpeg") {
            transcode(target, max_pixels, image);
        } else {
            check_kept(*image.codec, data);
        }
    } else {
        encode(target, max_pixels, image);
    }
    if (is_progressive(target)) {
        image.pieces = jpeg::ScanGroups(target.parameters.text("groups", "all")).piece_lengths(image.bytes.view());
    }
    if (has_layers(target)) {
        const std::size_t size = image.bytes.size();
        const std::size_t first = is_sluice_codec(*image.codec) ? sluice::first_layer_bytes(image.bytes.view()) : size;
        image.pieces = {first, size - first};
    }
    image.checksum = crc32c(image.bytes.view());
    return image;
}

}  // namespace penstock
