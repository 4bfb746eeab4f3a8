#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "bindings/convert.h"
#include "bindings/interpreter_lock.h"
#include "bindings/register.h"
#include "codecs/codec.h"
#include "codecs/sluice_tables.h"
#include "codecs/sluice_transcode.h"

namespace penstock::bindings {

namespace {

// Keeps a table set known as long as it exists.
struct TablesHandle {
    std::shared_ptr<const sluice::TableSet> tables;
};

void new_handle(TablesHandle* self, nb::handle object) {
    const BorrowedBytes data(object);
    new (self) TablesHandle{sluice::hold_tables(data.view())};
}

nb::bytes bytes_of(const sluice::TableSet& tables) {
    return nb::bytes(reinterpret_cast<const char*>(tables.bytes().data()), tables.bytes().size());
}

std::shared_ptr<const sluice::TableSet> tables_of(std::optional<std::uint64_t> id) {
    if (!id) return nullptr;
    std::shared_ptr<const sluice::TableSet> tables = sluice::find_tables(*id);
    if (tables != nullptr) return tables;
    throw Error(ErrorCode::bad_argument, "no sluice table set has the id " + std::to_string(*id), "tables",
                "register the table set first, with penstock.codecs.sluice.register_tables");
}

void check_layer_bits(unsigned layer_bits) {
    if (layer_bits <= sluice::kMaxLayerBits) return;
    throw Error(ErrorCode::bad_argument, "layer_bits is " + std::to_string(layer_bits), "layer_bits",
                "choose 1, 2 or 3, or 0 for one layer");
}

nb::bytes from_jpeg(nb::handle object, std::optional<std::uint64_t> tables, bool store_tables, std::uint64_t max_pixels,
                    unsigned layer_bits) {
    check_layer_bits(layer_bits);
    const BorrowedBytes data(object);
    ByteBuffer encoded;
    {
        const Unlocked unlocked;
        const auto held = tables_of(tables);
        encoded = sluice::from_jpeg(data.view(), {held.get(), store_tables, layer_bits, max_pixels});
    }
    return to_bytes(encoded);
}

nb::bytes recode(nb::handle object, std::optional<std::uint64_t> tables, bool store_tables, std::uint64_t max_pixels) {
    const BorrowedBytes data(object);
    ByteBuffer encoded;
    {
        const Unlocked unlocked;
        const auto held = tables_of(tables);
        encoded = sluice::recode(data.view(), {held.get(), store_tables, 0, max_pixels});
    }
    return to_bytes(encoded);
}

nb::dict facts(nb::handle object) {
    const BorrowedBytes data(object);
    const sluice::Facts found = sluice::facts_of(data.view());
    nb::dict fields;
    fields["table_set"] = sluice::table_set_name(found.table_set);
    fields["has_tables"] = found.has_tables;
    fields["is_default"] = found.is_default;
    fields["is_known"] = found.is_known;
    fields["restoration_bytes"] = found.restoration_bytes;
    fields["num_layers"] = found.num_layers;
    fields["tiles_across"] = found.tiles_across;
    fields["tiles_down"] = found.tiles_down;
    fields["tile_width"] = found.tile_width;
    fields["tile_height"] = found.tile_height;
    return fields;
}

nb::bytes to_jpeg(nb::handle object, std::uint64_t max_pixels) {
    const BorrowedBytes data(object);
    ByteBuffer restored;
    {
        const Unlocked unlocked;
        restored = sluice::to_jpeg(data.view(), max_pixels);
    }
    return to_bytes(restored);
}

nb::bytes train_tables(const nb::list& files, unsigned first_pair, unsigned layer_bits) {
    check_layer_bits(layer_bits);
    if (first_pair < 2 || first_pair > 64 || first_pair % 2 != 0) {
        throw Error(ErrorCode::bad_argument, "first_pair is " + std::to_string(first_pair), "first_pair",
                    "choose an even number from 2 to 64");
    }
    std::vector<std::unique_ptr<BorrowedBytes>> borrowed;
    std::vector<ByteView> views;
    for (const nb::handle file : files) {
        borrowed.push_back(std::make_unique<BorrowedBytes>(file));
        views.push_back(borrowed.back()->view());
    }
    ByteBuffer tables;
    {
        const Unlocked unlocked;
        tables = sluice::train_tables(views, first_pair, layer_bits);
    }
    return to_bytes(tables);
}

std::uint64_t register_tables(nb::handle object) {
    const BorrowedBytes data(object);
    return sluice::keep_tables(data.view())->id();
}

std::size_t first_layer_bytes(nb::handle object) {
    const BorrowedBytes data(object);
    return sluice::first_layer_bytes(data.view());
}

nb::bytes default_tables(unsigned layer_bits) {
    check_layer_bits(layer_bits);
    return bytes_of(layer_bits == 0 ? sluice::default_tables() : sluice::default_layered_tables(layer_bits));
}

}  // namespace

void register_sluice(nb::module_& module) {
    constexpr std::uint64_t max_pixels = DecodeOptions{}.max_pixels;
    module.def("sluice_from_jpeg", &from_jpeg, nb::arg("data"), nb::arg("tables") = nb::none(),
               nb::arg("store_tables") = false, nb::arg("max_pixels") = max_pixels, nb::arg("layer_bits") = 0,
               nb::sig("def sluice_from_jpeg(data: penstock.types.Buffer, tables: int | None = None, "
                       "store_tables: bool = False, max_pixels: int = 268435456, layer_bits: int = 0) -> bytes"));
    module.def("sluice_first_layer_bytes", &first_layer_bytes, nb::arg("data"),
               nb::sig("def sluice_first_layer_bytes(data: penstock.types.Buffer) -> int"));
    nb::class_<TablesHandle>(module, "SluiceTables")
        .def("__init__", &new_handle, nb::arg("tables"),
             nb::sig("def __init__(self, tables: penstock.types.Buffer) -> None"))
        .def_prop_ro("id", [](const TablesHandle& handle) { return handle.tables->id(); })
        .def_prop_ro("name", [](const TablesHandle& handle) { return sluice::table_set_name(handle.tables->id()); })
        .def_prop_ro("data", [](const TablesHandle& handle) { return bytes_of(*handle.tables); });
    module.def("num_sluice_tables", &sluice::num_known_tables,
               "Number of table sets that are known, the default one not counted.");
    module.def("sluice_recode", &recode, nb::arg("data"), nb::arg("tables") = nb::none(),
               nb::arg("store_tables") = false, nb::arg("max_pixels") = max_pixels,
               nb::sig("def sluice_recode(data: penstock.types.Buffer, tables: int | None = None, "
                       "store_tables: bool = False, max_pixels: int = 268435456) -> bytes"));
    module.def("sluice_facts", &facts, nb::arg("data"),
               nb::sig("def sluice_facts(data: penstock.types.Buffer) -> dict[str, int | str | bool]"));
    module.def("sluice_to_jpeg", &to_jpeg, nb::arg("data"), nb::arg("max_pixels") = max_pixels,
               nb::sig("def sluice_to_jpeg(data: penstock.types.Buffer, max_pixels: int = 268435456) -> bytes"));
    module.def("train_sluice_tables", &train_tables, nb::arg("files"),
               nb::arg("first_pair") = sluice::kDefaultFirstPair, nb::arg("layer_bits") = 0,
               nb::sig("def train_sluice_tables(files: list[penstock.types.Buffer], first_pair: int = 22, "
                       "layer_bits: int = 0) -> bytes"));
    module.def("register_sluice_tables", &register_tables, nb::arg("tables"),
               nb::sig("def register_sluice_tables(tables: penstock.types.Buffer) -> int"));
    module.def("default_sluice_tables", &default_tables, nb::arg("layer_bits") = 0);
    module.def("force_sluice_gather", &sluice::force_gather, nb::arg("gather"),
               "Makes decoders gather (1) or load one by one (0); -1: as suits this processor.");
}

}  // namespace penstock::bindings
