#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>

#include "bindings/interpreter_lock.h"
#include "bindings/register.h"
#include "bindings/wait.h"
#include "engine/cores.h"
#include "engine/thread_pool.h"

namespace penstock::bindings {

namespace nb = nanobind;

namespace {

// Long enough for anybody, and short enough for every clock.
constexpr double kLongestWaitSeconds = 1e6;

bool wait(Job& job, double seconds) {
    const double limited = seconds > 0 ? std::min(seconds, kLongestWaitSeconds) : 0;
    return job.wait_for(std::chrono::milliseconds(static_cast<std::int64_t>(limited * 1000)));
}

// Calls a Python function on the pool's threads, each with the GIL while it runs Python. The caller keeps the function.
void call_each(ThreadPool& pool, const nb::callable& function, std::size_t count) {
    const std::shared_ptr<Job> job =
        pool.run(count, [called = function.ptr()](std::size_t index) { call_from_thread(called, index); });
    finish_or_interrupt(*job);
}

}  // namespace

void register_engine(nb::module_& module) {
    module.def("usable_cores", &usable_cores);
    nb::class_<Job>(module, "Job")
        .def("wait", &wait, nb::arg("seconds"), nb::call_guard<Unlocked>())
        .def("finish", &Job::finish, nb::call_guard<Unlocked>())
        .def("cancel", &Job::cancel)
        .def_prop_ro("num_done", &Job::num_done)
        .def_prop_ro("num_tasks", &Job::num_tasks);
    nb::class_<ThreadPool>(module, "ThreadPool")
        .def(nb::init<std::size_t>(), nb::arg("num_threads") = 0)
        .def_prop_ro("num_threads", &ThreadPool::num_threads)
        .def("call_each", &call_each, nb::arg("function"), nb::arg("count"),
             nb::sig("def call_each(self, function: collections.abc.Callable[[int], object], count: int) -> None"),
             "Calls function(0) … function(count - 1) on the threads of the pool; the first error stops the rest.");
}

}  // namespace penstock::bindings
