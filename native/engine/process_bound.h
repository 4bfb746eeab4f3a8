// Things that do not survive a fork: locks that a vanished thread may hold, threads that are not there.
#pragma once

#include <unistd.h>

#include <utility>

#include "base/error.h"

namespace penstock {

/// Owns a `T` on behalf of the process that made it. A forked child is refused when it asks for it, and leaks it
/// instead of destroying it: destroying a condition variable on which a thread of the parent waits never returns.
template <typename T>
class ProcessBound {
  public:
    template <typename... Arguments>
    explicit ProcessBound(Arguments&&... arguments)
        : value_(new T(std::forward<Arguments>(arguments)...)), owner_(::getpid()) {}
    ~ProcessBound() {
        if (is_here()) delete value_;
    }
    ProcessBound(const ProcessBound&) = delete;
    ProcessBound& operator=(const ProcessBound&) = delete;

    [[nodiscard]] bool is_here() const noexcept { return ::getpid() == owner_; }

    /// Throws `forked` in a child of the owner.
    [[nodiscard]] T& get() const {
        if (is_here()) return *value_;
        throw Error(ErrorCode::forked, "threads started before a fork do not exist in the forked process",
                    "thread pool", "make a new pool after the fork, or start processes with the 'spawn' method");
    }

  private:
    T* value_;
    pid_t owner_;
};

}  // namespace penstock
