// The one place that starts threads. A pool runs ranges of numbered tasks; whoever waits is told the first
// error.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/queue.h"

namespace penstock {

/// Cores this process may use (affinity and cgroup quota included), at least 1.
[[nodiscard]] std::size_t usable_cores();

/// A range of tasks under way. Shared by the pool's threads and whoever waits for it.
class Job {
  public:
    /// Waits until all tasks ended, at most `timeout`. True if they have.
    [[nodiscard]] bool wait_for(std::chrono::milliseconds timeout);
    /// Waits to the end and throws the first error of a task, if there was one.
    void finish();
    /// No further task starts; those under way end. `finish` then throws `cancelled`.
    void cancel() noexcept;
    [[nodiscard]] std::size_t num_done() const noexcept { return num_done_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::size_t num_tasks() const noexcept { return num_tasks_; }

  private:
    friend class ThreadPool;
    using Task = std::function<void(std::size_t)>;
    Job(std::size_t num_tasks, Task task) : num_tasks_(num_tasks), task_(std::move(task)) {}
    void work();

    const std::size_t num_tasks_;
    const Task task_;
    std::atomic<std::size_t> next_{0};
    std::atomic<std::size_t> num_done_{0};
    std::atomic<bool> stopped_{false};
    std::mutex mutex_;
    std::condition_variable ended_;
    std::size_t workers_left_ = 0;
    std::exception_ptr first_error_;
    bool cancelled_ = false;
};

/// Threads that live as long as the pool. Destroying it ends the jobs under way (as `cancel` does) and joins.
class ThreadPool {
  public:
    /// 0 means `usable_cores()`.
    explicit ThreadPool(std::size_t num_threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] std::size_t num_threads() const noexcept { return threads_.size(); }

    /// Runs `task(0)` … `task(num_tasks - 1)`, each once, in no particular order. The first error stops the
    /// rest.
    [[nodiscard]] std::shared_ptr<Job> run(std::size_t num_tasks, std::function<void(std::size_t)> task);

  private:
    BoundedQueue<std::shared_ptr<Job>> queue_;
    std::vector<std::thread> threads_;
    std::mutex jobs_mutex_;
    std::vector<std::weak_ptr<Job>> jobs_;
};

}  // namespace penstock
