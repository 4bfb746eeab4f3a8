#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings/codec_named.h"
#include "bindings/convert.h"
#include "bindings/interpreter_lock.h"
#include "bindings/register.h"
#include "codecs/decode.h"
#include "codecs/embed.h"
#include "codecs/jpeg.h"
#include "codecs/jpeg_header.h"
#include "codecs/jpeg_rows.h"
#include "codecs/jpeg_scans.h"
#include "codecs/libraries.h"
#include "codecs/metadata.h"
#include "codecs/table.h"

namespace penstock::bindings {

namespace {

using ParameterList = std::vector<std::pair<std::string, std::string>>;
using RegionTuple = std::array<std::int64_t, 4>;

// "" means: let the content decide. Null if nothing matches.
const Codec* choose_codec(const std::string& name, ByteView data) {
    return name.empty() ? sniff_codec(data) : &codec_named(name);
}

std::optional<Region> region_of(nb::handle object) {
    if (object.is_none()) return std::nullopt;
    RegionTuple sides{};
    bool fits = true;
    try {
        const nb::sequence sequence = nb::cast<nb::sequence>(object);
        fits = nb::len(sequence) == sides.size();
        for (std::size_t i = 0; fits && i < sides.size(); ++i) {
            sides[i] = nb::cast<std::int64_t>(sequence[i]);
            fits = sides[i] >= 0 && sides[i] <= 0xffffffffLL;
        }
    } catch (const nb::cast_error&) {
        fits = false;
    }
    if (!fits) {
        throw Error(ErrorCode::bad_region, "region must be four whole numbers (y, x, height, width), none negative",
                    "region", "for example region=(0, 0, 224, 224)");
    }
    return Region{static_cast<std::uint32_t>(sides[0]), static_cast<std::uint32_t>(sides[1]),
                  static_cast<std::uint32_t>(sides[2]), static_cast<std::uint32_t>(sides[3])};
}

DecodeOptions options_of(nb::handle region, std::uint32_t scale, bool palette_indices, bool orient, bool fast,
                         bool verify, std::uint64_t max_pixels) {
    DecodeOptions options;
    options.region = region_of(region);
    options.scale = scale;
    options.palette_indices = palette_indices;
    options.orient = orient;
    options.fast = fast;
    options.verify = verify;
    options.max_pixels = max_pixels;
    return options;
}

nb::object run_decode(const Codec& codec, ByteView data, const DecodeOptions& options, nb::handle out) {
    if (!out.is_none()) {
        const BorrowedPixels target(out, true);
        const Unlocked unlocked;
        const DecodePlan plan = plan_decode(codec, data, options);
        decode_image(codec, data, plan, target.view());
    } else {
        OwnedImage image;
        {
            const Unlocked unlocked;
            const DecodePlan plan = plan_decode(codec, data, options);
            image = OwnedImage(plan.shape, BufferPool::shared());
            decode_image(codec, data, plan, image.view());
        }
        return to_array(std::move(image));
    }
    return nb::borrow(out);
}

// None if no native codec knows the content.
nb::object decode(nb::handle object, const std::string& codec_name, nb::handle region, std::uint32_t scale,
                  nb::handle out, bool palette_indices, bool orient, bool fast, bool verify, std::uint64_t max_pixels) {
    const BorrowedBytes data(object);
    const Codec* codec = choose_codec(codec_name, data.view());
    if (codec == nullptr) return nb::none();
    const DecodeOptions options = options_of(region, scale, palette_indices, orient, fast, verify, max_pixels);
    return run_decode(*codec, data.view(), options, out);
}

std::tuple<nb::object, std::uint64_t, std::uint64_t> decode_counted(nb::handle object, nb::handle region,
                                                                    std::uint32_t scale, bool plain) {
    const BorrowedBytes data(object);
    DecodeOptions options;
    DecodeCounters counters;
    options.region = region_of(region);
    options.scale = scale;
    options.plain = plain;
    options.counters = &counters;
    const Codec* codec = sniff_codec(data.view());
    if (codec == nullptr) return {nb::none(), 0, 0};
    nb::object pixels = run_decode(*codec, data.view(), options, nb::none());
    return {std::move(pixels), counters.units_total, counters.units_decoded};
}

nb::object inspect(nb::handle object, const std::string& codec_name, std::uint64_t max_pixels) {
    const BorrowedBytes data(object);
    const Codec* codec = choose_codec(codec_name, data.view());
    if (codec == nullptr) return nb::none();
    const ImageInfo info = inspect_image(*codec, data.view(), max_pixels);
    nb::dict fields;
    fields["codec"] = std::string(codec->name());
    fields["width"] = info.shape.width;
    fields["height"] = info.shape.height;
    fields["channels"] = info.shape.channels;
    fields["sample_bytes"] = info.shape.sample_bytes;
    fields["depth"] = info.depth;
    fields["orientation"] = info.orientation;
    fields["lossless"] = info.lossless;
    fields["palette"] = info.palette;
    fields["color"] = std::string(info.color);
    fields["variant"] = std::string(info.variant);
    return fields;
}

nb::bytes encode(nb::handle object, const std::string& codec_name, ParameterList parameters) {
    const Codec& codec = codec_named(codec_name);
    const BorrowedPixels pixels(object, false);
    ByteBuffer encoded;
    {
        const Unlocked unlocked;
        encoded = codec.encode(pixels.view(), Parameters(std::move(parameters)));
    }
    return to_bytes(encoded);
}

// The file with a stored block of metadata in it, and the tags that its format cannot hold.
std::pair<nb::bytes, std::vector<std::string>> embed(nb::handle object, nb::handle block_object) {
    const BorrowedBytes data(object);
    const BorrowedBytes block(block_object);
    ByteBuffer file;
    std::vector<std::string> dropped;
    {
        const Unlocked unlocked;
        file = embed_metadata(data.view(), read_metadata_block(block.view()), dropped);
    }
    return {to_bytes(file), std::move(dropped)};
}

// A file's metadata as a dataset stores it, the tags of its entries, and what was dropped.
std::tuple<nb::bytes, std::vector<std::string>, std::vector<std::string>> metadata_of(nb::handle object) {
    const BorrowedBytes data(object);
    Metadata metadata;
    {
        const Unlocked unlocked;
        metadata = read_metadata(data.view());
    }
    return {to_bytes(metadata.block()), metadata.kept(), metadata.dropped()};
}

nb::bytes transcode_jpeg(nb::handle object, ParameterList parameters, std::uint64_t max_pixels) {
    const BorrowedBytes data(object);
    ByteBuffer encoded;
    {
        const Unlocked unlocked;
        encoded = jpeg::transcode(data.view(), Parameters(std::move(parameters)), max_pixels);
    }
    return to_bytes(encoded);
}

std::vector<std::size_t> jpeg_scan_ends(nb::handle object) {
    const BorrowedBytes data(object);
    return jpeg::scan_ends(data.view());
}

nb::bytes jpeg_with_segments_in_front(nb::handle object) {
    const BorrowedBytes data(object);
    return to_bytes(jpeg::with_segments_in_front(data.view()));
}

std::vector<std::size_t> jpeg_restart_offsets(nb::handle object) {
    const BorrowedBytes data(object);
    return jpeg::restart_offsets(data.view());
}

std::vector<std::size_t> jpeg_row_offsets(nb::handle object) {
    const BorrowedBytes data(object);
    return jpeg::row_offsets(data.view());
}

}  // namespace

void register_codecs(nb::module_& module) {
    constexpr std::uint64_t max_pixels = DecodeOptions{}.max_pixels;
    module.def("codec_names", [] {
        std::vector<std::string> names;
        for (const Codec* codec : all_codecs()) names.emplace_back(codec->name());
        return names;
    });
    module.def("library_versions", &library_versions);
    module.def("webp_package", &webp_package);
    module.def(
        "sniff",
        [](nb::handle object) -> std::optional<std::string> {
            const BorrowedBytes data(object);
            const Codec* codec = sniff_codec(data.view());
            if (codec == nullptr) return std::nullopt;
            return std::string(codec->name());
        },
        nb::arg("data"));
    module.def(
        "can_scale", [](const std::string& name, std::uint32_t scale) { return codec_named(name).can_scale(scale); },
        nb::arg("codec"), nb::arg("scale"));
    module.def("inspect", &inspect, nb::arg("data"), nb::arg("codec") = "", nb::arg("max_pixels") = max_pixels,
               nb::sig("def inspect(data: penstock.types.Buffer, codec: str = '', max_pixels: int = 268435456) -> "
                       "dict[str, object] | None"));
    module.def(
        "decode", &decode, nb::arg("data"), nb::arg("codec") = "", nb::arg("region") = nb::none(), nb::arg("scale") = 1,
        nb::arg("out") = nb::none(), nb::arg("palette_indices") = false, nb::arg("orient") = false,
        nb::arg("fast") = false, nb::arg("verify") = true, nb::arg("max_pixels") = max_pixels,
        nb::sig("def decode(data: penstock.types.Buffer, codec: str = '', region: penstock.types.Region | None = None, "
                "scale: int = 1, out: penstock.types.Pixels | None = None, palette_indices: bool = False, "
                "orient: bool = False, fast: bool = False, verify: bool = True, max_pixels: int = 268435456) -> "
                "penstock.types.Pixels | None"));
    module.def("decode_counted", &decode_counted, nb::arg("data"), nb::arg("region") = nb::none(), nb::arg("scale") = 1,
               nb::arg("plain") = false,
               nb::sig("def decode_counted(data: penstock.types.Buffer, region: penstock.types.Region | None = None, "
                       "scale: int = 1, plain: bool = False) -> tuple[penstock.types.Pixels, int, int]"));
    module.def("encode", &encode, nb::arg("pixels"), nb::arg("codec"), nb::arg("parameters"));
    module.def("embed_metadata", &embed, nb::arg("data"), nb::arg("block"),
               nb::sig("def embed_metadata(data: penstock.types.Buffer, block: penstock.types.Buffer) -> "
                       "tuple[bytes, list[str]]"));
    module.def("read_metadata", &metadata_of, nb::arg("data"),
               nb::sig("def read_metadata(data: penstock.types.Buffer) -> tuple[bytes, list[str], list[str]]"));
    module.def("transcode_jpeg", &transcode_jpeg, nb::arg("data"), nb::arg("parameters"),
               nb::arg("max_pixels") = max_pixels);
    module.def("jpeg_restart_offsets", &jpeg_restart_offsets, nb::arg("data"));
    module.def("jpeg_row_offsets", &jpeg_row_offsets, nb::arg("data"));
    module.def("jpeg_scan_ends", &jpeg_scan_ends, nb::arg("data"));
    module.def("jpeg_with_segments_in_front", &jpeg_with_segments_in_front, nb::arg("data"),
               nb::sig("def jpeg_with_segments_in_front(data: penstock.types.Buffer) -> bytes"));
}

}  // namespace penstock::bindings
