#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings/convert.h"
#include "bindings/interpreter_lock.h"
#include "bindings/register.h"
#include "storage/append_file.h"
#include "storage/file.h"
#include "storage/probe.h"
#include "storage/read_limit.h"

namespace penstock::bindings {

namespace {

// Paths cross as the bytes the system uses: not every name on a disk is UTF-8.
std::string path_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

nb::object read_rest(const InputFile& file, std::size_t max_bytes) {
    ByteBuffer content;
    {
        const Unlocked unlocked;
        content = file.read_rest(max_bytes);
    }
    return to_bytes(content);
}

// Straight into the bytes object, without a copy, as long as the file keeps the size it had when opened.
nb::object read_whole(const nb::bytes& path, std::size_t max_bytes) {
    const std::string name = path_of(path);
    const InputFile file = [&] {
        const Unlocked unlocked;
        return InputFile(name);
    }();
    if (file.size() > max_bytes) file.refuse_length(max_bytes);
    if (file.size() == 0) return read_rest(file, max_bytes);
    PyObject* content = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(file.size()));
    if (content == nullptr) nb::raise_python_error();
    const nb::object owner = nb::steal(content);
    const std::span<std::uint8_t> target(reinterpret_cast<std::uint8_t*>(PyBytes_AS_STRING(content)), file.size());
    std::size_t filled = 0;
    {
        const Unlocked unlocked;
        filled = file.read_at(0, target);
    }
    if (filled == file.size()) return owner;
    return nb::bytes(PyBytes_AS_STRING(content), filled);
}

nb::object read_range(const nb::bytes& path, std::size_t offset, std::size_t length) {
    const std::string name = path_of(path);
    PyObject* content = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(length));
    if (content == nullptr) nb::raise_python_error();
    const nb::object owner = nb::steal(content);
    const std::span<std::uint8_t> target(reinterpret_cast<std::uint8_t*>(PyBytes_AS_STRING(content)), length);
    std::size_t filled = 0;
    {
        const Unlocked unlocked;
        filled = InputFile(name).read_at(offset, target);
    }
    if (filled == length) return owner;
    return nb::bytes(PyBytes_AS_STRING(content), filled);
}

void write_whole(const nb::bytes& path, nb::handle object, bool durable, const nb::bytes& work_folder) {
    const std::string name = path_of(path);
    const std::string folder = path_of(work_folder);
    const BorrowedBytes data(object);
    const Unlocked unlocked;
    write_file(name, data.view(), durable ? Durability::power_cut : Durability::process, folder);
}

nb::dict probe(const nb::bytes& path, const std::vector<std::uint64_t>& offsets, std::uint64_t request_bytes,
               unsigned depth, bool direct, std::shared_ptr<ReadLimit> limit) {
    const std::string name = path_of(path);
    ProbedReads found;
    {
        const Unlocked unlocked;
        found = probe_reads(name, offsets, request_bytes, depth, direct ? Caching::none : Caching::system,
                            std::move(limit));
    }
    nb::dict fields;
    fields["wall_seconds"] = found.wall_seconds;
    fields["cpu_seconds"] = found.cpu_seconds;
    fields["num_bytes"] = found.num_bytes;
    fields["is_direct"] = found.is_direct;
    fields["used_ring"] = found.used_ring;
    return fields;
}

}  // namespace

void register_storage(nb::module_& module) {
    nb::class_<ReadLimit>(module, "ReadLimit")
        .def(nb::init<double, double>(), nb::arg("bytes_per_second"), nb::arg("reads_per_second"))
        .def_prop_ro("bytes_per_second", &ReadLimit::bytes_per_second)
        .def_prop_ro("reads_per_second", &ReadLimit::reads_per_second)
        .def(
            "wait",
            [](ReadLimit& limit, std::uint64_t bytes) {
                const Unlocked unlocked;
                limit.wait(bytes);
            },
            nb::arg("bytes"), "Sleeps for as long as a read of so many bytes takes.");
    nb::class_<AppendFile>(module, "AppendFile")
        .def(
            "__init__", [](AppendFile* self, const nb::bytes& path) { new (self) AppendFile(path_of(path)); },
            nb::arg("path"))
        .def(
            "append",
            [](AppendFile& file, nb::handle object) {
                const BorrowedBytes data(object);
                const Unlocked unlocked;
                file.append(data.view());
            },
            nb::arg("data"), nb::sig("def append(self, data: penstock.types.Buffer) -> None"))
        .def(
            "publish",
            [](AppendFile& file, const nb::bytes& path) {
                const std::string name = path_of(path);
                const Unlocked unlocked;
                file.publish(name, Durability::power_cut);
            },
            nb::arg("path"));
    module.def("read_file", &read_whole, nb::arg("path"), nb::arg("max_bytes"),
               nb::sig("def read_file(path: bytes, max_bytes: int) -> bytes"));
    module.def("read_range", &read_range, nb::arg("path"), nb::arg("offset"), nb::arg("length"),
               nb::sig("def read_range(path: bytes, offset: int, length: int) -> bytes"));
    module.def(
        "file_checksum",
        [](const nb::bytes& path) {
            const std::string name = path_of(path);
            const Unlocked unlocked;
            return file_checksum(name);
        },
        nb::arg("path"));
    module.def("write_file", &write_whole, nb::arg("path"), nb::arg("data"), nb::arg("durable") = false,
               nb::arg("work_folder") = nb::bytes("", 0),
               nb::sig("def write_file(path: bytes, data: penstock.types.Buffer, durable: bool = False, "
                       "work_folder: bytes = b'') -> None"));
    module.def(
        "make_folders",
        [](const nb::bytes& path) {
            const std::string name = path_of(path);
            const Unlocked unlocked;
            make_folders(name);
        },
        nb::arg("path"));
    module.def(
        "sync_file_system",
        [](int descriptor) {
            const Unlocked unlocked;
            sync_file_system(descriptor);
        },
        nb::arg("descriptor"));
    module.def("probe_reads", &probe, nb::arg("path"), nb::arg("offsets"), nb::arg("request_bytes"), nb::arg("depth"),
               nb::arg("direct"), nb::arg("limit").none() = nb::none(),
               nb::sig("def probe_reads(path: bytes, offsets: Sequence[int], request_bytes: int, depth: int, "
                       "direct: bool, limit: ReadLimit | None = None) -> dict[str, float]"));
}

}  // namespace penstock::bindings
