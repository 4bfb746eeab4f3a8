// Waiting for a job from Python: without the GIL, and Ctrl-C ends it.
#pragma once

#include "engine/thread_pool.h"

namespace penstock::bindings {

/// Waits for the job to end and throws its first error. Call it with the GIL held: it is released meanwhile.
///
/// A signal whose Python handler raises (Ctrl-C does) cancels the job, waits for the tasks under way, and is thrown
/// as `nanobind::python_error`. So what the tasks borrow is safe to let go of afterwards in every case.
void finish_or_interrupt(Job& job);

}  // namespace penstock::bindings
