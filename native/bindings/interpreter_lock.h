// Letting go of the interpreter's lock, and taking it, on threads that may outlive the interpreter.
#pragma once

#include <Python.h>

#include <functional>

namespace penstock::bindings {

/// Releases the GIL for a scope.
///
/// While the interpreter ends, CPython before 3.14 ends any other thread that asks for the lock, by unwinding its
/// stack, which C++ code in between does not survive. Such a thread sleeps instead, as it does from 3.14 on: the
/// process ends without it.
class Unlocked {
  public:
    Unlocked() : state_(PyEval_SaveThread()) {}
    ~Unlocked() noexcept(false);
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

  private:
    PyThreadState* state_;
};

/// Calls `function(index)` on a thread that Python knows nothing of; the same holds for it. Throws
/// `nanobind::python_error`.
void call_from_thread(PyObject* function, std::size_t index);

/// Calls `function` with a tuple of arguments, with the lock held; the same holds for it. Null if it raised.
[[nodiscard]] PyObject* call_python(PyObject* function, PyObject* arguments);

/// Runs `work` with the lock on a thread that Python knows nothing of; the same holds for it. Throws what it throws.
void with_interpreter(const std::function<void()>& work);

}  // namespace penstock::bindings
