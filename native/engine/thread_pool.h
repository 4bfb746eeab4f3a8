// The only place that starts threads. A pool runs ranges of numbered tasks; a waiting thread gets the first error.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/process_bound.h"

namespace penstock {

/// Running range of tasks. The pool's threads and the waiting thread share it; any thread may call anything.
class Job {
  public:
    /// Waits until all tasks ended or were given up, at most `timeout`. True if so.
    [[nodiscard]] bool wait_for(std::chrono::milliseconds timeout);

    /// Waits to the end and throws the first error of a task, or `cancelled` if not every task ran. A task may wait
    /// for a job of its own pool: its thread then works on that job instead of sleeping.
    void finish();

    /// Throws the first error of a task, if one has failed so far. Waits for nothing.
    void check() const;

    /// Cancels the job: no further task starts, and running ones finish. Does not wait.
    void cancel() noexcept;

    [[nodiscard]] std::size_t num_done() const noexcept { return num_done_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::size_t num_tasks() const noexcept { return num_tasks_; }

  private:
    friend class ThreadPool;
    using Task = std::function<void(std::size_t)>;
    struct Sync {
        std::mutex mutex;
        std::condition_variable ended;
        std::size_t num_workers = 0;
        std::exception_ptr first_error;
    };

    Job(std::size_t num_tasks, Task task, const void* pool)
        : num_tasks_(num_tasks), task_(std::move(task)), pool_(pool) {}
    [[nodiscard]] bool has_tasks() const noexcept;
    [[nodiscard]] bool has_ended(const Sync& locked) const noexcept;
    void help();
    void run_tasks(Sync& sync);

    const std::size_t num_tasks_;
    const Task task_;
    const void* const pool_;  // only compared, never followed: the pool may be gone
    std::atomic<std::size_t> next_{0};
    std::atomic<std::size_t> num_done_{0};
    std::atomic<bool> stopped_{false};
    ProcessBound<Sync> sync_;
};

/// Threads that live as long as the pool. They take no signals, so that Ctrl-C reaches the thread that waits.
///
/// Destroying the pool cancels its jobs and waits for the tasks under way; a task must not destroy its own pool.
/// In a forked child `run`, `wait_for` and `finish` throw `forked`; destroying is harmless.
class ThreadPool {
  public:
    /// 0 means `usable_cores()`. Waits until each thread has the memory that it needs to report an error. Throws
    /// `bad_argument` above 1024, `no_threads` if the system refuses, `out_of_memory` if a thread has none.
    explicit ThreadPool(std::size_t num_threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] std::size_t num_threads() const noexcept { return num_threads_; }

    /// Starts `task(0)` … `task(num_tasks - 1)`, each once, lower numbers first, jobs in the order they came.
    /// Never blocks. The first error stops the rest. The task is destroyed with the job, on whichever thread lets go
    /// of it last, so it must not own Python objects.
    [[nodiscard]] std::shared_ptr<Job> run(std::size_t num_tasks, std::function<void(std::size_t)> task);

  private:
    struct State;
    void start(std::size_t count);
    void stop(State& state) noexcept;

    std::size_t num_threads_;
    ProcessBound<State> state_;
};

}  // namespace penstock
