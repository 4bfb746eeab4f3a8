#include "engine/thread_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"
#include "engine/cores.h"

namespace penstock {

namespace {

constexpr std::size_t kMaxThreads = 1024;

// The pool this thread belongs to, null elsewhere.
thread_local const void* current_pool = nullptr;

// New threads inherit the mask of the thread that starts them.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_;
};

constexpr std::size_t kThreadLocalBytes = 16 * 1024;

// Takes the memory that glibc allocates when a thread first uses a thread-local variable of a library that was loaded
// at run time, such as what libstdc++ notes about exceptions. Where that allocation fails, glibc ends the process.
// False if there is no memory for it.
[[nodiscard]] bool has_thread_locals() noexcept {
    void* room = std::malloc(kThreadLocalBytes);
    if (room == nullptr) return false;
    *static_cast<volatile char*>(room) = 0;  // or the compiler would leave out both calls
    std::free(room);
    // Declared pure: unless its result is used, the compiler leaves the call out.
    [[maybe_unused]] const volatile int touched = std::uncaught_exceptions();
    return true;
}

void name_this_thread([[maybe_unused]] std::size_t index) {
#if defined(__linux__)
    pthread_setname_np(pthread_self(), ("penstock-" + std::to_string(index)).c_str());
#endif
}

}  // namespace

bool Job::has_tasks() const noexcept {
    return !stopped_.load(std::memory_order_relaxed) && next_.load(std::memory_order_relaxed) < num_tasks_;
}

// A task that was taken is run by a worker, and workers are counted: none left means none under way.
bool Job::has_ended(const Sync& locked) const noexcept { return locked.num_workers == 0 && !has_tasks(); }

void Job::run_tasks(Sync& sync) {
    while (!stopped_.load(std::memory_order_relaxed)) {
        const std::size_t index = next_.fetch_add(1, std::memory_order_relaxed);
        if (index >= num_tasks_) break;
        try {
            task_(index);
        } catch (...) {
            stopped_.store(true, std::memory_order_relaxed);
            const std::lock_guard lock(sync.mutex);
            if (sync.first_error == nullptr) sync.first_error = std::current_exception();
            break;
        }
        num_done_.fetch_add(1, std::memory_order_relaxed);
    }
}

// Works on this job until no task is left to take.
void Job::help() {
    Sync& sync = sync_.get();
    {
        const std::lock_guard lock(sync.mutex);
        if (!has_tasks()) return;
        ++sync.num_workers;
    }
    run_tasks(sync);
    const std::lock_guard lock(sync.mutex);
    if (--sync.num_workers == 0) sync.ended.notify_all();
}

bool Job::wait_for(std::chrono::milliseconds timeout) {
    Sync& sync = sync_.get();
    std::unique_lock lock(sync.mutex);
    return sync.ended.wait_for(lock, timeout, [&] { return has_ended(sync); });
}

void Job::finish() {
    Sync& sync = sync_.get();
    if (current_pool == pool_) help();
    std::unique_lock lock(sync.mutex);
    sync.ended.wait(lock, [&] { return has_ended(sync); });
    if (sync.first_error != nullptr) std::rethrow_exception(sync.first_error);
    if (num_done() < num_tasks_) {
        throw Error(ErrorCode::cancelled,
                    "stopped after " + std::to_string(num_done()) + " of " + std::to_string(num_tasks_) + " tasks",
                    "thread pool", "run it again");
    }
}

void Job::check() const {
    Sync& sync = sync_.get();
    const std::lock_guard lock(sync.mutex);
    if (sync.first_error != nullptr) std::rethrow_exception(sync.first_error);
}

void Job::cancel() noexcept {
    if (!sync_.is_here()) return;
    Sync& sync = sync_.get();
    const std::lock_guard lock(sync.mutex);
    stopped_.store(true, std::memory_order_relaxed);
    sync.ended.notify_all();
}

struct ThreadPool::State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::shared_ptr<Job>> jobs;  // those that may have tasks left, oldest first
    bool closing = false;
    std::size_t num_started = 0;  // threads that have told whether they can work
    std::size_t num_without_memory = 0;
    std::vector<std::thread> threads;

    // Called by each thread once, before anything that may throw.
    [[nodiscard]] bool report_start(bool is_ready) {
        const std::lock_guard lock(mutex);
        ++num_started;
        if (!is_ready) ++num_without_memory;
        changed.notify_all();
        return is_ready;
    }

    // Waits until every thread has reported; false if one of them has no memory to work with.
    [[nodiscard]] bool wait_for_start() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return num_started == threads.size(); });
        return num_without_memory == 0;
    }

    // The next job to work on; null when the pool closes.
    std::shared_ptr<Job> wait_for_job() {
        std::unique_lock lock(mutex);
        for (;;) {
            if (closing) return nullptr;
            if (jobs.empty()) {
                changed.wait(lock);
            } else if (jobs.front()->has_tasks()) {
                return jobs.front();
            } else {
                forget_front(lock);
            }
        }
    }

    // What a task owns is destroyed with the last reference, and may want this lock itself.
    void forget_front(std::unique_lock<std::mutex>& lock) {
        std::shared_ptr<Job> exhausted = std::move(jobs.front());
        jobs.pop_front();
        lock.unlock();
        exhausted.reset();
        lock.lock();
    }
};

ThreadPool::ThreadPool(std::size_t num_threads) : num_threads_(num_threads == 0 ? usable_cores() : num_threads) {
    if (num_threads_ > kMaxThreads) {
        throw Error(ErrorCode::bad_argument, std::to_string(num_threads_) + " threads are more than a pool takes",
                    "thread pool", "choose from 1 to " + std::to_string(kMaxThreads) + ", or 0 for the usable cores");
    }
    start(num_threads_);
}

void ThreadPool::start(std::size_t count) {
    State& state = state_.get();
    const SignalsBlocked blocked;
    state.threads.reserve(count);
    try {
        for (std::size_t i = 0; i < count; ++i) {
            state.threads.emplace_back([&state, this, i] {
                if (!state.report_start(has_thread_locals())) return;
                current_pool = this;
                name_this_thread(i);
                while (const std::shared_ptr<Job> job = state.wait_for_job()) job->help();
            });
        }
    } catch (const std::system_error& problem) {
        stop(state);
        throw Error(
            ErrorCode::no_threads,
            "the system refused thread " + std::to_string(state.threads.size() + 1) + " of " + std::to_string(count),
            "thread pool", "use fewer threads, or raise the limit (ulimit -u)", problem.code().value());
    } catch (...) {
        stop(state);  // no memory for a thread: those that run must not outlive their pool
        throw;
    }
    if (!state.wait_for_start()) {
        stop(state);
        throw Error(ErrorCode::out_of_memory, "there is no memory for " + std::to_string(count) + " threads",
                    "thread pool", "use fewer threads, or free memory");
    }
}

void ThreadPool::stop(State& state) noexcept {
    {
        const std::lock_guard lock(state.mutex);
        state.closing = true;
        for (const std::shared_ptr<Job>& job : state.jobs) job->cancel();
        state.changed.notify_all();
    }
    for (std::thread& thread : state.threads) thread.join();
}

ThreadPool::~ThreadPool() {
    if (state_.is_here()) stop(state_.get());
}

std::shared_ptr<Job> ThreadPool::run(std::size_t num_tasks, std::function<void(std::size_t)> task) {
    State& state = state_.get();
    std::shared_ptr<Job> job(new Job(num_tasks, std::move(task), this));
    const std::lock_guard lock(state.mutex);
    if (state.closing) {
        job->cancel();  // a task that outlives the pool's end may still ask; its wait must not hang
        return job;
    }
    state.jobs.push_back(job);
    state.changed.notify_all();
    return job;
}

}  // namespace penstock
