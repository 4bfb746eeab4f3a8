// The one converter from a native error to a Python exception: the family of the code chooses the class.
#include <nanobind/stl/string.h>

#include <exception>

#include "base/error.h"
#include "bindings/register.h"

namespace penstock::bindings {

namespace nb = nanobind;

namespace {

const char* class_name(ErrorCode code) {
    switch (static_cast<int>(code) / 100) {
        case 1: return "ArgumentError";
        case 3: return "CodecError";
        case 4: return "StorageError";
        default: return "PenstockError";
    }
}

void set_python_error(const Error& error) {
    const nb::object type = nb::module_::import_("penstock.errors").attr(class_name(error.code()));
    const nb::object exception = type(error.what(), nb::arg("where") = error.where(), nb::arg("fix") = error.fix(),
                                      nb::arg("code") = static_cast<int>(error.code()));
    PyErr_SetObject(type.ptr(), exception.ptr());
}

}  // namespace

void register_errors(nb::module_&) {
    nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
        try {
            std::rethrow_exception(pointer);
        } catch (const Error& error) {
            set_python_error(error);
        }
    });
}

}  // namespace penstock::bindings
