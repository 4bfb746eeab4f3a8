#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>

#include "bindings/register.h"
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

}  // namespace

void register_engine(nb::module_& module) {
    module.def("usable_cores", &usable_cores);
    nb::class_<Job>(module, "Job")
        .def("wait", &wait, nb::arg("seconds"), nb::call_guard<nb::gil_scoped_release>())
        .def("finish", &Job::finish, nb::call_guard<nb::gil_scoped_release>())
        .def("cancel", &Job::cancel)
        .def_prop_ro("num_done", &Job::num_done)
        .def_prop_ro("num_tasks", &Job::num_tasks);
    nb::class_<ThreadPool>(module, "ThreadPool")
        .def(nb::init<std::size_t>(), nb::arg("num_threads") = 0)
        .def_prop_ro("num_threads", &ThreadPool::num_threads);
}

}  // namespace penstock::bindings
