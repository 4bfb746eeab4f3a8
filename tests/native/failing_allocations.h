// An allocator that counts and fails: every malloc, operator new and mmap of the process comes here, whichever library
// asks. For programs of their own; sanitizers replace malloc themselves, so it is built without them.
#pragma once

#include <cstddef>

namespace failing_allocations {

/// `once` fails one allocation; `from_then_on` fails it and all that follow, as a machine without memory does.
enum class Mode { once, from_then_on };

/// Call it once, before anything else: finds the loader's code, warms up what a backtrace allocates.
void prepare();

/// Starts a run: counts allocations of all threads and fails number `index` (from 1 on; 0: none).
void begin(std::size_t index, Mode mode);
/// No allocation fails or counts from now on; memory is still watched.
void pause();
/// They do again.
void resume();
/// Ends a run and gives the number of blocks that were allocated in it and not freed.
[[nodiscard]] std::size_t end();

/// Allocations counted since `begin`, pauses left out.
[[nodiscard]] std::size_t num_counted();
/// Whether the allocation that was to fail was reached.
[[nodiscard]] bool has_failed();

/// Tells on stderr which allocation failed, and where it was asked for. Safe in a signal handler.
void tell_failure();
/// Tells where up to eight blocks of the last run that were not freed were asked for.
void tell_leaks();

}  // namespace failing_allocations
