#include "bindings/interpreter_lock.h"

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <utility>

namespace penstock::bindings {

namespace {

// CPython ends the thread: it may not go on, and its stack may not be unwound either.
[[noreturn]] void sleep_for_ever() {
    for (;;) ::pause();
}

}  // namespace

Unlocked::~Unlocked() noexcept(false) {
    try {
        PyEval_RestoreThread(state_);
    } catch (const abi::__forced_unwind&) {
        sleep_for_ever();
    }
}

PyObject* call_python(PyObject* function, PyObject* arguments) {
    try {
        return PyObject_Call(function, arguments, nullptr);
    } catch (const abi::__forced_unwind&) {
        sleep_for_ever();  // here: no frame of nanobind may be unwound, because its objects need the lock
    }
}

void with_interpreter(const std::function<void()>& work) {
    try {
        const PyGILState_STATE state = PyGILState_Ensure();
        try {
            work();
        } catch (const abi::__forced_unwind&) {
            throw;
        } catch (...) {
            PyGILState_Release(state);
            throw;
        }
        PyGILState_Release(state);
    } catch (const abi::__forced_unwind&) {
        sleep_for_ever();
    }
}

void call_from_thread(PyObject* function, std::size_t index) {
    PyObject* result = nullptr;
    try {
        const PyGILState_STATE state = PyGILState_Ensure();
        result = PyObject_CallFunction(function, "n", static_cast<Py_ssize_t>(index));
        if (result == nullptr) {
            nanobind::python_error problem;  // takes what was raised, while the lock is ours
            PyGILState_Release(state);
            throw problem;
        }
        Py_DECREF(result);
        PyGILState_Release(state);
    } catch (const abi::__forced_unwind&) {
        sleep_for_ever();
    }
}

}  // namespace penstock::bindings
