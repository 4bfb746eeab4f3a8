// The one converter from a native error to a Python exception: the family of the code chooses the class.
#include <nanobind/nanobind.h>

#include <exception>
#include <new>
#include <string>

#include "base/error.h"
#include "bindings/register.h"

namespace penstock::bindings {

namespace nb = nanobind;

namespace {

const char* class_name(ErrorCode code) {
    switch (static_cast<int>(code) / 100) {
        case 1: return "ArgumentError";
        case 2: return "DatasetError";
        case 3: return "CodecError";
        case 4: return "StorageError";
        default: return "PenstockError";
    }
}

// A path may hold any bytes; those that are not UTF-8 are shown, not choked on.
nb::object text_of(const std::string& bytes) {
    PyObject* text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace");
    if (text == nullptr) nb::raise_python_error();
    return nb::steal(text);
}

void set_python_error(const Error& error) {
    const nb::object type = nb::module_::import_("penstock.errors").attr(class_name(error.code()));
    const nb::object exception =
        type(text_of(error.what()), nb::arg("where") = text_of(error.where()), nb::arg("fix") = text_of(error.fix()),
             nb::arg("code") = static_cast<int>(error.code()));
    if (error.system_error() != 0) exception.attr("errno") = error.system_error();
    PyErr_SetObject(type.ptr(), exception.ptr());
}

}  // namespace

void register_errors(nb::module_&) {
    nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
        try {
            std::rethrow_exception(pointer);
        } catch (const Error& error) {
            set_python_error(error);
        } catch (const std::bad_alloc&) {
            set_python_error(Error(ErrorCode::out_of_memory, "could not allocate working memory", "memory",
                                   "lower max_pixels, or free memory"));
        }
    });
}

}  // namespace penstock::bindings
