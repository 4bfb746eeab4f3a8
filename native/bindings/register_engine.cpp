#include <nanobind/stl/shared_ptr.h>

#include <chrono>
#include <memory>

#include "bindings/register.h"
#include "engine/thread_pool.h"

namespace penstock::bindings {

namespace nb = nanobind;

void register_engine(nb::module_& module) {
    module.def("usable_cores", &usable_cores);
    nb::class_<Job>(module, "Job")
        .def(
            "wait",
            [](Job& job, double seconds) {
                return job.wait_for(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
            },
            nb::arg("seconds"), nb::call_guard<nb::gil_scoped_release>())
        .def("finish", &Job::finish, nb::call_guard<nb::gil_scoped_release>())
        .def("cancel", &Job::cancel)
        .def_prop_ro("num_done", &Job::num_done)
        .def_prop_ro("num_tasks", &Job::num_tasks);
    nb::class_<ThreadPool>(module, "ThreadPool")
        .def(nb::init<std::size_t>(), nb::arg("num_threads") = 0)
        .def_prop_ro("num_threads", &ThreadPool::num_threads);
}

}  // namespace penstock::bindings
