#include "bindings/python_store.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"
#include "bindings/convert.h"
#include "bindings/interpreter_lock.h"
#include "storage/reading.h"

namespace penstock::bindings {

namespace nb = nanobind;

namespace {

std::string text_of(nb::handle object) { return nb::borrow<nb::str>(nb::str(object)).c_str(); }

// An error of the package keeps its code and words; any other exception of the function becomes a failed read.
Error error_of(const nb::python_error& problem, const std::string& path) {
    const nb::handle value = problem.value();
    if (nb::hasattr(value, "what") && nb::hasattr(value, "code") && nb::hasattr(value, "fix")) {
        const int code = nb::cast<int>(value.attr("code"));
        const nb::object number = nb::getattr(value, "errno", nb::none());
        const int system_error = nb::isinstance<nb::int_>(number) ? nb::cast<int>(number) : 0;
        const auto kind = code / 100 == 4 ? static_cast<ErrorCode>(code) : ErrorCode::read_failed;
        return {kind, text_of(value.attr("what")), text_of(value.attr("where")), text_of(value.attr("fix")),
                system_error};
    }
    const std::string kind = text_of(problem.type().attr("__name__"));
    return {ErrorCode::read_failed, "the store failed: " + kind + ": " + text_of(value), path,
            "correct the store, or run penstock.testing.store on it"};
}

class PythonFile final : public ByteFile {
  public:
    PythonFile(PyObject* read, std::string path, std::uint64_t size)
        : read_(read), path_(std::move(path)), size_(size) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }

    [[nodiscard]] std::int64_t read_some(std::uint64_t offset, std::span<std::uint8_t> room) const override {
        if (offset >= size_ || room.empty()) return 0;
        const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), size_ - offset));
        int passing_fault = 0;
        with_interpreter([&] {
            try {
                const nb::tuple arguments = nb::make_tuple(nb::str(path_.data(), path_.size()), offset, length);
                PyObject* const answer = call_python(read_, arguments.ptr());
                if (answer == nullptr) throw nb::python_error();
                const nb::object data = nb::steal(answer);
                const BorrowedBytes bytes(data);
                if (bytes.view().size() != length) {
                    throw Error(ErrorCode::read_failed,
                                "the store gave " + std::to_string(bytes.view().size()) + " bytes for " +
                                    std::to_string(length),
                                path_, "correct the store, or run penstock.testing.store on it");
                }
                std::memcpy(room.data(), bytes.view().data(), length);
            } catch (const nb::python_error& problem) {
                const Error error = error_of(problem, path_);
                if (!is_passing_fault(error.system_error())) throw error;
                passing_fault = error.system_error();
            }
        });
        return passing_fault != 0 ? -passing_fault : static_cast<std::int64_t>(length);
    }

  private:
    PyObject* const read_;
    const std::string path_;
    const std::uint64_t size_;
};

}  // namespace

std::shared_ptr<const ByteFile> python_file(PyObject* read, std::string path, std::uint64_t size) {
    return std::make_shared<const PythonFile>(read, std::move(path), size);
}

}  // namespace penstock::bindings
