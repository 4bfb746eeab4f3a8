#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings/codec_named.h"
#include "bindings/convert.h"
#include "bindings/files_handle.h"
#include "bindings/register.h"
#include "export/run.h"

namespace penstock::bindings {

namespace {

template <typename Number>
using Column = nb::ndarray<const Number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ParameterList = std::vector<std::pair<std::string, std::string>>;
// file, offset, length, checksum, metadata length, `ExportItem::Way`
using ItemColumns = std::tuple<Column<std::int32_t>, Column<std::int64_t>, Column<std::int64_t>, Column<std::uint32_t>,
                               Column<std::int64_t>, Column<std::uint8_t>>;

std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

std::vector<ExportItem> items_of(const std::vector<nb::bytes>& names, const std::vector<nb::bytes>& texts,
                                 const ItemColumns& columns, std::vector<Pieces> pieces, std::size_t num_files) {
    const auto& [file, offset, length, checksum, metadata_length, way] = columns;
    const std::size_t count = names.size();
    bool fits = texts.size() == count && file.size() == count && offset.size() == count && length.size() == count &&
                checksum.size() == count && metadata_length.size() == count && way.size() == count;
    std::vector<ExportItem> items(fits ? count : 0);
    for (std::size_t i = 0; i < items.size(); ++i) {
        ExportItem& item = items[i];
        item.name = text_of(names[i]);
        item.text = text_of(texts[i]);
        item.place = {file.data()[i], offset.data()[i], length.data()[i]};
        item.checksum = checksum.data()[i];
        item.metadata_length = metadata_length.data()[i];
        item.way = static_cast<ExportItem::Way>(way.data()[i]);
        item.pieces = std::move(pieces[i]);
        fits = fits && item.place.file >= Place::kAbsent && item.place.file < static_cast<std::int64_t>(num_files) &&
               item.place.offset >= 0 && item.place.length >= 0 && item.metadata_length >= 0;
    }
    if (fits) return items;
    throw Error(ErrorCode::bad_argument, "items do not fit their columns and files", "items",
                "give a name, a text, a place, a checksum, a length of metadata and a flag for every item");
}

std::shared_ptr<ExportPlan> new_plan(const FilesHandle& handle, const std::vector<nb::bytes>& names,
                                     const std::vector<nb::bytes>& texts, const ItemColumns& columns,
                                     const PieceColumns& pieces, const std::string& codec, ParameterList parameters,
                                     std::uint64_t max_pixels) {
    std::vector<ExportItem> items =
        items_of(names, texts, columns, pieces_of(pieces, names.size()), handle.files->size());
    return std::make_shared<ExportPlan>(
        ExportPlan{handle.files, std::move(items), &codec_named(codec), Parameters(std::move(parameters)), max_pixels});
}

}  // namespace

void register_export(nb::module_& module) {
    nb::class_<ExportPlan>(module, "ExportPlan")
        .def(nb::new_(&new_plan), nb::arg("files"), nb::arg("names"), nb::arg("texts"), nb::arg("columns"),
             nb::arg("pieces"), nb::arg("codec"), nb::arg("parameters"), nb::arg("max_pixels"));
    nb::class_<Exporting>(module, "Exporting")
        .def_ro("job", &Exporting::job)
        .def_prop_ro("num_bytes", [](const Exporting& exporting) { return exporting.counters->num_bytes(); })
        .def_prop_ro("dropped", [](const Exporting& exporting) { return exporting.counters->dropped(); });
    module.def(
        "export_files",
        [](ThreadPool& pool, const ExportPlan& plan, const nb::bytes& folder) {
            return start_export_files(pool, plan, text_of(folder));
        },
        nb::arg("pool"), nb::arg("plan"), nb::arg("folder"));
    module.def(
        "export_tar",
        [](ThreadPool& pool, const ExportPlan& plan, const nb::bytes& path) {
            return start_export_tar(pool, plan, text_of(path));
        },
        nb::arg("pool"), nb::arg("plan"), nb::arg("path"));
}

}  // namespace penstock::bindings
