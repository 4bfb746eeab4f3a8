#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings/codec_named.h"
#include "bindings/convert.h"
#include "bindings/files_handle.h"
#include "bindings/interpreter_lock.h"
#include "bindings/python_store.h"
#include "bindings/register.h"
#include "codecs/sluice_tables.h"
#include "pixels/hash.h"
#include "records/build.h"
#include "records/check.h"
#include "records/inspect.h"
#include "records/train.h"

namespace penstock::bindings {

namespace {

template <typename Number>
using Column = nb::ndarray<const Number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ParameterList = std::vector<std::pair<std::string, std::string>>;
using PlaceColumns = std::tuple<Column<std::int32_t>, Column<std::int64_t>, Column<std::int64_t>>;
// places, checksums (-1 where they are not known), and what becomes of the images
using FieldColumns = std::tuple<PlaceColumns, Column<std::int64_t>, Target>;

std::string path_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

// Objects of a Python store by number; the handle that Python holds keeps the function alive.
class NamedObjects final : public ByteStore {
  public:
    NamedObjects(PyObject* read, std::vector<std::string> names, const Column<std::int64_t>& sizes)
        : read_(read), names_(std::move(names)), sizes_(sizes.data(), sizes.data() + sizes.size()) {}

    [[nodiscard]] std::shared_ptr<const ByteFile> open(std::uint32_t file) override {
        return python_file(read_, names_[file], static_cast<std::uint64_t>(sizes_[file]));
    }

  private:
    PyObject* const read_;
    const std::vector<std::string> names_;
    const std::vector<std::int64_t> sizes_;
};

void new_files(FilesHandle* self, const std::vector<nb::bytes>& paths, nb::object read,
               const std::optional<Column<std::int64_t>>& sizes) {
    std::vector<std::string> names;
    names.reserve(paths.size());
    for (const nb::bytes& path : paths) names.push_back(path_of(path));
    if (read.is_none()) {
        new (self) FilesHandle{std::make_shared<const SourceFiles>(std::move(names)), {}};
        return;
    }
    if (!sizes || sizes->size() != names.size()) {
        throw Error(ErrorCode::bad_argument, "sizes do not fit the files", "sizes", "give one size for every file");
    }
    auto store = std::make_shared<NamedObjects>(read.ptr(), names, *sizes);
    new (self) FilesHandle{std::make_shared<const SourceFiles>(std::move(names), std::move(store)), std::move(read)};
}

std::vector<Place> places_of(const PlaceColumns& columns, std::size_t count, std::size_t num_files) {
    const auto& [file, offset, length] = columns;
    bool fits = file.size() == count && offset.size() == count && length.size() == count;
    std::vector<Place> places(fits ? count : 0);
    for (std::size_t i = 0; i < places.size(); ++i) {
        places[i] = {file.data()[i], offset.data()[i], length.data()[i], Place::kUnknown};
        fits = fits && places[i].file >= Place::kAbsent && places[i].file < static_cast<std::int64_t>(num_files) &&
               places[i].offset >= 0 && places[i].length >= Place::kWhole;
    }
    if (fits) return places;
    throw Error(ErrorCode::bad_argument, "places do not fit the samples and files", "places",
                "give a file, an offset and a length for every sample");
}

void set_checksums(const Column<std::int64_t>& checksums, std::vector<Place>& places) {
    if (checksums.size() != places.size()) {
        throw Error(ErrorCode::bad_argument, "checksums do not fit the samples", "places",
                    "give one for every sample, -1 where it is not known");
    }
    for (std::size_t i = 0; i < places.size(); ++i) places[i].checksum = checksums.data()[i];
}

void new_target(Target* self, const std::string& codec, ParameterList parameters, bool exact,
                const std::string& keep_variant, int keep_quality, bool transcode, bool palette_indices, bool check,
                std::pair<std::uint32_t, std::uint32_t> limit, bool nearest) {
    new (self) Target{codec.empty() ? nullptr : &codec_named(codec),
                      Parameters(std::move(parameters)),
                      exact,
                      keep_variant,
                      keep_quality,
                      transcode,
                      palette_indices,
                      check,
                      {limit.first, limit.second},
                      nearest,
                      nullptr};
}

Building build_shards(ThreadPool& pool, const FilesHandle& handle, const Column<std::int64_t>& ids,
                      const std::vector<FieldColumns>& fields,
                      const std::tuple<nb::bytes, nb::bytes, std::string>& names,
                      const std::tuple<std::uint32_t, std::uint64_t, nb::bytes>& shards, bool skip_errors,
                      bool keep_source, bool durable, std::uint64_t max_pixels) {
    ShardBuild build;
    build.files = handle.files;
    build.ids.assign(ids.data(), ids.data() + ids.size());
    for (const auto& [places, checksums, target] : fields) {
        build.fields.push_back({places_of(places, ids.size(), handle.files->size()), target});
        set_checksums(checksums, build.fields.back().places);
    }
    build.names = {path_of(std::get<0>(names)), path_of(std::get<1>(names)), std::get<2>(names),
                   std::get<0>(shards),         std::get<1>(shards),         {}};
    const nb::bytes& identity = std::get<2>(shards);
    if (identity.size() != build.names.identity.size()) {
        throw Error(ErrorCode::bad_argument, "an identity has 16 bytes", "identity", "pass 16 bytes");
    }
    std::memcpy(build.names.identity.data(), identity.c_str(), identity.size());
    build.names.durability = durable ? Durability::power_cut : Durability::process;
    build.skip_errors = skip_errors;
    build.keep_source = keep_source;
    build.max_pixels = max_pixels;
    const Unlocked unlocked;
    return start_build(pool, std::move(build));
}

// One image through a target: the stored bytes, and whether they were kept (0), transcoded (1) or encoded (2).
std::pair<nb::bytes, int> store_one(nb::handle object, const Target& target, std::uint64_t max_pixels) {
    const BorrowedBytes data(object);
    StoredImage image;
    {
        const Unlocked unlocked;
        ByteBuffer copy;
        copy.append(data.view().data(), data.view().size());
        image = store_image(std::move(copy), target, max_pixels);
    }
    return {to_bytes(image.bytes), static_cast<int>(image.origin)};
}

Inspecting inspect_sources(ThreadPool& pool, const FilesHandle& handle, const PlaceColumns& columns) {
    return start_inspect(pool, handle.files, places_of(columns, std::get<0>(columns).size(), handle.files->size()));
}

TableTraining train_on_sources(ThreadPool& pool, const FilesHandle& handle, const PlaceColumns& columns,
                               std::uint64_t max_pixels) {
    return start_training(pool, handle.files, places_of(columns, std::get<0>(columns).size(), handle.files->size()),
                          max_pixels);
}

// (width, height, channels, bits, codec) of every image.
nb::list headers_of(const Inspecting& inspecting) {
    nb::list found;
    for (const Header& header : *inspecting.headers) {
        const std::string codec = header.codec == nullptr ? "" : std::string(header.codec->name());
        found.append(nb::make_tuple(header.shape.width, header.shape.height, header.shape.channels,
                                    8 * header.shape.sample_bytes, codec));
    }
    return found;
}

// Rows of the index as columns: (file, offset, length), (metadata length, checksum), (width, height, channels, bits),
// hashes (empty where there is none).
using CheckColumns =
    std::tuple<PlaceColumns, std::pair<Column<std::int32_t>, Column<std::uint32_t>>,
               std::tuple<Column<std::int32_t>, Column<std::int32_t>, Column<std::uint8_t>, Column<std::uint8_t>>,
               std::vector<nb::bytes>>;

Checking check_images(ThreadPool& pool, const FilesHandle& handle, const CheckColumns& columns,
                      const PieceColumns& piece_columns, bool palette_indices, bool decode, std::uint64_t max_pixels) {
    const auto& [place_columns, numbers, shape, hashes] = columns;
    const std::vector<Place> places = places_of(place_columns, hashes.size(), handle.files->size());
    std::vector<Pieces> pieces = pieces_of(piece_columns, places.size());
    std::vector<Expected> images(places.size());
    for (std::size_t i = 0; i < images.size(); ++i) {
        Expected& image = images[i];
        image.place = places[i];
        image.pieces = std::move(pieces[i]);
        image.metadata_length = static_cast<std::uint32_t>(numbers.first.data()[i]);
        image.checksum = numbers.second.data()[i];
        image.shape = {static_cast<std::uint32_t>(std::get<1>(shape).data()[i]),
                       static_cast<std::uint32_t>(std::get<0>(shape).data()[i]), std::get<2>(shape).data()[i],
                       static_cast<std::uint8_t>(std::get<3>(shape).data()[i] / 8)};
        image.palette_indices = palette_indices;
        image.has_pixels = hashes[i].size() == image.pixels.size();
        if (image.has_pixels) std::memcpy(image.pixels.data(), hashes[i].c_str(), image.pixels.size());
    }
    const Unlocked unlocked;
    return start_check(pool, handle.files, std::move(images), decode, max_pixels);
}

nb::bytes pixel_hash(nb::handle object) {
    const BorrowedPixels pixels(object, false);
    const PixelHash hash = hash_pixels(pixels.view());
    return nb::bytes(hash.data(), hash.size());
}

}  // namespace

void register_records(nb::module_& module) {
    nb::class_<FilesHandle>(module, "SourceFiles")
        .def("__init__", &new_files, nb::arg("paths"), nb::arg("read").none() = nb::none(),
             nb::arg("sizes").none() = nb::none(),
             nb::sig("def __init__(self, paths: collections.abc.Sequence[bytes], read: "
                     "collections.abc.Callable[[str, int, int], penstock.types.Buffer] | None = None, sizes: "
                     "numpy.typing.NDArray[numpy.int64] | None = None) -> None"),
             "Files of a local disk; or objects that `read(name, offset, length)` gives, with their sizes.")
        .def(
            "read",
            [](const FilesHandle& handle, std::int32_t file, std::int64_t offset, std::int64_t length) {
                ByteBuffer bytes;
                {
                    const Unlocked unlocked;
                    bytes = handle.files->read({file, offset, length, Place::kUnknown});
                }
                return to_bytes(bytes);
            },
            nb::arg("file"), nb::arg("offset"), nb::arg("length"));
    nb::class_<Target>(module, "Target")
        .def("__init__", &new_target, nb::arg("codec"), nb::arg("parameters"), nb::arg("exact"),
             nb::arg("keep_variant"), nb::arg("keep_quality"), nb::arg("transcode"), nb::arg("palette_indices"),
             nb::arg("check"), nb::arg("limit"), nb::arg("nearest"))
        .def(
            "use_tables", [](Target& target, std::uint64_t id) { target.tables = sluice::find_tables(id); },
            nb::arg("id"), "Chooses the table set of `sluice`, which must be known.");
    nb::class_<TableTraining>(module, "TableTraining")
        .def_ro("job", &TableTraining::job)
        .def_prop_ro("num_images", [](const TableTraining& training) { return training.training->num_added(); })
        .def("tables", [](const TableTraining& training) { return to_bytes(training.training->finish()); });
    module.def("train_on_sources", &train_on_sources, nb::arg("pool"), nb::arg("files"), nb::arg("places"),
               nb::arg("max_pixels"));
    nb::class_<Building>(module, "Building")
        .def_ro("job", &Building::job)
        .def_prop_ro("source_bytes", [](const Building& building) { return building.counters->source_bytes.load(); })
        .def_prop_ro("stored_bytes", [](const Building& building) { return building.counters->stored_bytes.load(); })
        .def_prop_ro("num_shards", [](const Building& building) { return building.counters->num_shards.load(); });
    module.def("build_shards", &build_shards, nb::arg("pool"), nb::arg("files"), nb::arg("ids"), nb::arg("fields"),
               nb::arg("names"), nb::arg("shards"), nb::arg("skip_errors"), nb::arg("keep_source"), nb::arg("durable"),
               nb::arg("max_pixels"));
    nb::class_<Inspecting>(module, "Inspecting")
        .def_ro("job", &Inspecting::job)
        .def("headers", &headers_of, nb::sig("def headers(self) -> list[tuple[int, int, int, int, str]]"));
    nb::class_<Checking>(module, "Checking")
        .def_ro("job", &Checking::job)
        .def_prop_ro("findings", [](const Checking& checking) { return checking.findings->get(); });
    module.def("store_image", &store_one, nb::arg("data"), nb::arg("target"),
               nb::arg("max_pixels") = DecodeOptions{}.max_pixels,
               nb::sig("def store_image(data: penstock.types.Buffer, target: Target, max_pixels: int = 268435456) -> "
                       "tuple[bytes, int]"));
    module.def("inspect_sources", &inspect_sources, nb::arg("pool"), nb::arg("files"), nb::arg("places"));
    module.def("check_images", &check_images, nb::arg("pool"), nb::arg("files"), nb::arg("columns"), nb::arg("pieces"),
               nb::arg("palette_indices"), nb::arg("decode"), nb::arg("max_pixels"));
    module.def("pixel_hash", &pixel_hash, nb::arg("pixels"),
               nb::sig("def pixel_hash(pixels: penstock.types.Pixels) -> bytes"));
}

}  // namespace penstock::bindings
