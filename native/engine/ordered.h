// Work done by many threads whose results are taken in order: what a build needs to write the same bytes whatever the
// number of threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/thread_pool.h"

namespace penstock {

/// Results on their way from the threads that make them to the one that takes them. Used by `run_ordered`.
template <typename Result>
class OrderedWindow {
  public:
    using Take = std::function<void(std::size_t, Result)>;

    OrderedWindow(std::size_t size, Take take) : slots_(size), take_(std::move(take)) {}

    /// Waits until result `index` may exist. False if the work has failed meanwhile.
    [[nodiscard]] bool wait_for_room(std::size_t index) {
        std::unique_lock lock(mutex_);
        moved_.wait(lock, [&] { return failed_ || index < next_ + slots_.size(); });
        return !failed_;
    }

    /// Puts a result in its place. If it is the next one, this thread takes it and those that follow, unless another
    /// thread is at it: that one will see it.
    void put(std::size_t index, Result result) {
        std::unique_lock lock(mutex_);
        slots_[index % slots_.size()] = std::move(result);
        if (taking_) return;
        taking_ = true;
        while (!failed_ && slots_[next_ % slots_.size()].has_value()) {
            Result taken = *std::exchange(slots_[next_ % slots_.size()], std::nullopt);
            lock.unlock();
            take_(next_, std::move(taken));
            lock.lock();
            ++next_;
            moved_.notify_all();
        }
        taking_ = false;
    }

    /// Lets go of everybody who waits: a result that they wait for will never come.
    void fail() {
        const std::lock_guard lock(mutex_);
        failed_ = true;
        moved_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable moved_;
    std::vector<std::optional<Result>> slots_;
    Take take_;
    std::size_t next_ = 0;
    bool taking_ = false;
    bool failed_ = false;
};

/// Starts `make(0)` … `make(num_tasks - 1)` on the pool and calls `take(i, result)` for one after the other, in order,
/// never two at a time, on whichever thread has just finished.
///
/// At most `window` results (at least 1) exist at once: a thread that is further ahead sleeps. An error of either
/// function ends the job with it. As with `ThreadPool::run`, the functions must not own Python objects.
template <typename Result>
[[nodiscard]] std::shared_ptr<Job> run_ordered(ThreadPool& pool, std::size_t num_tasks, std::size_t window,
                                               std::function<Result(std::size_t)> make,
                                               std::function<void(std::size_t, Result)> take) {
    auto results = std::make_shared<OrderedWindow<Result>>(window, std::move(take));
    return pool.run(num_tasks, [results, make = std::move(make)](std::size_t index) {
        if (!results->wait_for_room(index)) return;
        try {
            results->put(index, make(index));
        } catch (...) {
            results->fail();
            throw;
        }
    });
}

}  // namespace penstock
