// A store whose bytes a Python function hands out, read by the threads of the engine.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "storage/byte_store.h"
#include "storage/data_files.h"

namespace penstock::bindings {

/// An object of the name `path`, read by `read(path, offset, length)`.
[[nodiscard]] std::shared_ptr<const ByteFile> python_file(PyObject* read, std::string path, std::uint64_t size);

/// Calls `read(name, offset, length)`, which gives an object with exactly so many bytes. Neither the function nor the
/// columns are owned: the owner of the store keeps them alive for as long as its readers run.
class PythonStore final : public ByteStore {
  public:
    /// `sizes` has the size of each file, in bytes.
    PythonStore(PyObject* read, FileNames names, std::span<const std::uint64_t> sizes)
        : read_(read), names_(std::move(names)), sizes_(sizes) {}

    [[nodiscard]] std::shared_ptr<const ByteFile> open(std::uint32_t file) override {
        return python_file(read_, names_.path(file), sizes_[file]);
    }

  private:
    PyObject* const read_;
    const FileNames names_;
    const std::span<const std::uint64_t> sizes_;
};

}  // namespace penstock::bindings
