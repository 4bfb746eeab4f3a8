#include "bindings/wait.h"

#include <nanobind/nanobind.h>

#include <chrono>

#include "bindings/interpreter_lock.h"

namespace penstock::bindings {

namespace nb = nanobind;

namespace {

// How long Ctrl-C may go unnoticed.
constexpr std::chrono::milliseconds kSignalInterval{50};

// True if the job has ended.
bool wait_unlocked(Job& job) {
    const Unlocked unlocked;
    return job.wait_for(kSignalInterval);
}

}  // namespace

void finish_or_interrupt(Job& job) {
    while (!wait_unlocked(job)) {
        if (PyErr_CheckSignals() == 0) continue;
        const nb::python_error interrupt;
        job.cancel();
        while (!wait_unlocked(job)) continue;
        throw interrupt;
    }
    job.finish();
}

}  // namespace penstock::bindings
