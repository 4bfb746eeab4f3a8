#include "engine/thread_pool.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#if defined(__linux__)
#include <sched.h>
#endif

#include "base/error.h"

namespace penstock {

namespace {

std::size_t affinity_cores() {
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<std::size_t>(CPU_COUNT(&set));
#endif
    return std::max(1u, std::thread::hardware_concurrency());
}

// Cores that the cgroup's CPU quota is worth; 0 if there is none. Version 2 first, then version 1.
double quota_cores() {
    std::string quota;
    double period = 0;
    if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2 >> quota >> period) {
        return quota == "max" || period <= 0 ? 0 : std::stod(quota) / period;
    }
    double microseconds = 0;
    std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    std::ifstream v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    if (v1_quota >> microseconds && v1_period >> period && microseconds > 0 && period > 0) {
        return microseconds / period;
    }
    return 0;
}

}  // namespace

std::size_t usable_cores() {
    const std::size_t cores = std::max<std::size_t>(1, affinity_cores());
    const double quota = quota_cores();
    if (quota <= 0) return cores;
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(quota)), 1, cores);
}

void Job::work() {
    while (!stopped_.load(std::memory_order_relaxed)) {
        const std::size_t index = next_.fetch_add(1, std::memory_order_relaxed);
        if (index >= num_tasks_) break;
        try {
            task_(index);
        } catch (...) {
            stopped_.store(true, std::memory_order_relaxed);
            const std::lock_guard lock(mutex_);
            if (first_error_ == nullptr) first_error_ = std::current_exception();
            break;
        }
        num_done_.fetch_add(1, std::memory_order_relaxed);
    }
    const std::lock_guard lock(mutex_);
    if (--workers_left_ == 0) ended_.notify_all();
}

bool Job::wait_for(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, timeout, [&] { return workers_left_ == 0; });
}

void Job::finish() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return workers_left_ == 0; });
    if (first_error_ != nullptr) std::rethrow_exception(first_error_);
    if (cancelled_ && num_done_.load() < num_tasks_) {
        throw Error(
            ErrorCode::cancelled,
            "stopped after " + std::to_string(num_done_.load()) + " of " + std::to_string(num_tasks_) + " tasks",
            "thread pool", "run it again");
    }
}

void Job::cancel() noexcept {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    stopped_.store(true, std::memory_order_relaxed);
}

ThreadPool::ThreadPool(std::size_t num_threads) : queue_(1024) {
    const std::size_t count = num_threads == 0 ? usable_cores() : num_threads;
    threads_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        threads_.emplace_back([this] {
            while (std::optional<std::shared_ptr<Job>> job = queue_.pop()) (*job)->work();
        });
    }
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(jobs_mutex_);
        for (const std::weak_ptr<Job>& weak : jobs_) {
            if (const std::shared_ptr<Job> job = weak.lock()) job->cancel();
        }
    }
    queue_.close();
    for (std::thread& thread : threads_) thread.join();
}

std::shared_ptr<Job> ThreadPool::run(std::size_t num_tasks, std::function<void(std::size_t)> task) {
    const std::shared_ptr<Job> job(new Job(num_tasks, std::move(task)));
    job->workers_left_ = threads_.size();
    {
        const std::lock_guard lock(jobs_mutex_);
        std::erase_if(jobs_, [](const std::weak_ptr<Job>& weak) { return weak.expired(); });
        jobs_.push_back(job);
    }
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        if (!queue_.push(job)) {
            throw Error(ErrorCode::cancelled, "the thread pool is closed", "thread pool", "make a new one");
        }
    }
    return job;
}

}  // namespace penstock
