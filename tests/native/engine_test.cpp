// The thread pool and the queue: nothing lost, nothing run twice, no hang, and an error that arrives; and the memory
// that blocks of a pool take.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/buffer.h"
#include "claims.h"
#include "engine/cores.h"
#include "engine/ordered.h"
#include "engine/queue.h"
#include "engine/thread_pool.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

// The code of the error that `action` throws; 0 if it throws none.
template <typename Action>
int error_code(Action action) {
    try {
        action();
    } catch (const Error& error) {
        return static_cast<int>(error.code());
    }
    return 0;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

class TemporaryFolder {
  public:
    TemporaryFolder() : path_(std::filesystem::temp_directory_path() / ("engine_test_" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(path_);
    }
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace

// ---- blocks

CLAIM(idle_blocks_make_room_for_those_in_use) {
    BufferPool pool(1 << 30);
    pool.limit(100'000);
    pool.give(pool.take(80'000), 80'000);
    CHECK(pool.idle_bytes() == 81'920);
    std::uint8_t* other = pool.take(40'000);  // of another size: both do not fit
    CHECK(pool.idle_bytes() == 0);
    std::uint8_t* large = pool.take(200'000);  // never refused
    pool.give(large, 200'000);
    CHECK(pool.idle_bytes() == 0);
    pool.give(other, 40'000);
    CHECK(pool.idle_bytes() == 40'960);
    pool.limit(0);
    CHECK(pool.idle_bytes() == 0);
}

CLAIM(block_of_a_size_is_used_again) {
    BufferPool pool(1 << 30);
    std::uint8_t* first = pool.take(50'000);
    pool.give(first, 50'000);
    std::uint8_t* second = pool.take(50'000);
    CHECK(first == second);
    pool.give(second, 50'000);
}

// ---- queue

CLAIM(queue_gives_items_in_order) {
    BoundedQueue<int> queue(3);
    for (int i = 0; i < 3; ++i) CHECK(queue.push(i));
    for (int i = 0; i < 3; ++i) CHECK(queue.pop() == i);
    CHECK(queue.size() == 0);
}

CLAIM(queue_never_holds_more_than_its_capacity) {
    BoundedQueue<int> queue(2);
    std::thread producer([&] {
        for (int i = 0; i < 1000; ++i) CHECK(queue.push(i));
        queue.close();
    });
    int expected = 0;
    while (const std::optional<int> item = queue.pop()) {
        CHECK(queue.size() <= 2);
        CHECK(*item == expected++);
    }
    CHECK(expected == 1000);
    producer.join();
}

CLAIM(queue_loses_and_doubles_nothing_among_many_threads) {
    constexpr int producers = 4, consumers = 4, each = 2000;
    BoundedQueue<int> queue(8);
    std::vector<std::atomic<int>> seen(producers * each);
    std::vector<std::thread> threads;
    std::latch pushed(producers);
    for (int p = 0; p < producers; ++p) {
        threads.emplace_back([&, p] {
            for (int i = 0; i < each; ++i) CHECK(queue.push(p * each + i));
            pushed.count_down();
        });
    }
    for (int c = 0; c < consumers; ++c) {
        threads.emplace_back([&] {
            while (const std::optional<int> item = queue.pop()) ++seen[static_cast<std::size_t>(*item)];
        });
    }
    pushed.wait();
    queue.close();
    for (std::thread& thread : threads) thread.join();
    for (const std::atomic<int>& count : seen) CHECK(count == 1);
}

CLAIM(queue_close_wakes_those_who_wait_to_pop) {
    BoundedQueue<int> queue(1);
    std::thread waiting([&] { CHECK(!queue.pop().has_value()); });
    queue.close();
    waiting.join();
}

CLAIM(queue_close_wakes_those_who_wait_to_push) {
    BoundedQueue<int> queue(1);
    CHECK(queue.push(1));
    std::thread waiting([&] { CHECK(!queue.push(2)); });
    queue.close();
    waiting.join();
    CHECK(queue.pop() == 1);
    CHECK(!queue.pop().has_value());
}

CLAIM(queue_failure_reaches_every_consumer_and_drops_the_rest) {
    BoundedQueue<std::shared_ptr<int>> queue(4);
    const auto item = std::make_shared<int>(7);
    CHECK(queue.push(item));
    queue.fail(std::make_exception_ptr(Error(ErrorCode::corrupt, "first", "", "")));
    queue.fail(std::make_exception_ptr(Error(ErrorCode::cancelled, "second", "", "")));
    CHECK(item.use_count() == 1);
    CHECK(!queue.push(item));
    for (int i = 0; i < 2; ++i) CHECK(error_code([&] { (void)queue.pop(); }) == 320);
}

CLAIM(queue_failure_after_close_changes_nothing) {
    BoundedQueue<int> queue(4);
    CHECK(queue.push(1));
    queue.close();
    queue.fail(std::make_exception_ptr(std::runtime_error("late")));
    CHECK(queue.pop() == 1);
    CHECK(!queue.pop().has_value());
}

// ---- pool

CLAIM(pool_runs_every_task_once) {
    ThreadPool pool(4);
    std::vector<std::atomic<int>> runs(10000);
    const auto job = pool.run(runs.size(), [&](std::size_t i) { ++runs[i]; });
    job->finish();
    for (const std::atomic<int>& count : runs) CHECK(count == 1);
    CHECK(job->num_done() == runs.size());
    CHECK(job->num_tasks() == runs.size());
}

CLAIM(pool_makes_the_work_of_tasks_visible_to_whoever_waits) {
    ThreadPool pool(4);
    for (int round = 0; round < 200; ++round) {
        std::vector<int> plain(16);
        pool.run(plain.size(), [&](std::size_t i) { plain[i] = static_cast<int>(i); })->finish();
        for (std::size_t i = 0; i < plain.size(); ++i) CHECK(plain[i] == static_cast<int>(i));
    }
}

CLAIM(pool_finishes_a_job_without_tasks) {
    ThreadPool pool(2);
    const auto job = pool.run(0, [](std::size_t) { CHECK(false); });
    CHECK(job->wait_for(0ms));
    job->finish();
}

CLAIM(pool_of_one_thread_keeps_the_order) {
    ThreadPool pool(1);
    std::vector<int> order;
    const auto first = pool.run(3, [&](std::size_t i) { order.push_back(static_cast<int>(i)); });
    const auto second = pool.run(3, [&](std::size_t i) { order.push_back(10 + static_cast<int>(i)); });
    second->finish();
    first->finish();
    CHECK((order == std::vector<int>{0, 1, 2, 10, 11, 12}));
}

CLAIM(pool_uses_the_threads_it_was_asked_for) {
    ThreadPool pool(3);
    std::latch all_at_once(3);
    pool.run(3, [&](std::size_t) { all_at_once.arrive_and_wait(); })->finish();
    CHECK(pool.num_threads() == 3);
}

CLAIM(pool_runs_a_second_job_while_a_long_task_holds_one_thread) {
    ThreadPool pool(2);
    std::latch release(1);
    const auto slow = pool.run(1, [&](std::size_t) { release.wait(); });
    pool.run(100, [](std::size_t) {})->finish();
    release.count_down();
    slow->finish();
}

CLAIM(pool_tells_the_first_error_and_starts_nothing_more) {
    ThreadPool pool(1);
    std::atomic<int> started{0};
    const auto job = pool.run(1000, [&](std::size_t i) {
        ++started;
        if (i == 5) throw Error(ErrorCode::corrupt, "task 5", "here", "");
    });
    CHECK(error_code([&] { job->finish(); }) == 320);
    CHECK(error_code([&] { job->finish(); }) == 320);  // and again for whoever else waits
    CHECK(started == 6);
    CHECK(job->num_done() == 5);
    pool.run(10, [](std::size_t) {})->finish();  // the pool goes on
}

CLAIM(pool_carries_any_exception) {
    ThreadPool pool(2);
    const auto job = pool.run(2, [](std::size_t) { throw std::runtime_error("foreign"); });
    bool caught = false;
    try {
        job->finish();
    } catch (const std::runtime_error& error) {
        caught = std::string(error.what()) == "foreign";
    }
    CHECK(caught);
}

CLAIM(job_tells_of_a_task_that_failed_while_others_run) {
    ThreadPool pool(2);
    std::atomic<bool> may_end{false};
    const std::shared_ptr<Job> job = pool.run(2, [&](std::size_t index) {
        if (index == 1) throw Error(ErrorCode::corrupt, "one of two", "", "");
        while (!may_end) std::this_thread::yield();
    });
    const auto check = [&] { job->check(); };
    while (error_code(check) != 320) std::this_thread::yield();
    CHECK(!job->wait_for(0ms));
    may_end = true;
}

CLAIM(job_can_be_cancelled_while_it_runs) {
    ThreadPool pool(2);
    std::latch started(1);
    std::atomic<bool> first{true};
    const auto job = pool.run(1000000, [&](std::size_t) {
        if (first.exchange(false)) started.count_down();
    });
    started.wait();
    job->cancel();
    const int code = error_code([&] { job->finish(); });
    CHECK(code == 500 || job->num_done() == job->num_tasks());
    CHECK(job->wait_for(0ms));
}

CLAIM(job_cancelled_in_the_queue_ends_at_once) {
    ThreadPool pool(1);
    std::latch release(1);
    const auto busy = pool.run(1, [&](std::size_t) { release.wait(); });
    const auto waiting = pool.run(5, [](std::size_t) { CHECK(false); });
    waiting->cancel();
    CHECK(error_code([&] { waiting->finish(); }) == 500);
    release.count_down();
    busy->finish();
}

CLAIM(job_cancelled_after_its_last_task_is_no_error) {
    ThreadPool pool(2);
    const auto job = pool.run(10, [](std::size_t) {});
    job->finish();
    job->cancel();
    job->finish();
}

CLAIM(job_wait_times_out_and_says_so) {
    ThreadPool pool(1);
    std::latch release(1);
    const auto job = pool.run(1, [&](std::size_t) { release.wait(); });
    CHECK(!job->wait_for(1ms));
    release.count_down();
    job->finish();
    CHECK(job->wait_for(0ms));
}

CLAIM(task_may_wait_for_a_job_of_its_own_pool) {
    for (const std::size_t threads : {1, 3}) {
        ThreadPool pool(threads);
        std::atomic<int> inner{0};
        const auto job = pool.run(8, [&](std::size_t) { pool.run(8, [&](std::size_t) { ++inner; })->finish(); });
        job->finish();
        CHECK(inner == 64);
    }
}

CLAIM(destroying_a_pool_ends_its_jobs) {
    std::shared_ptr<Job> running, waiting;
    std::latch started(1);
    {
        ThreadPool pool(1);
        std::atomic<bool> first{true};
        running = pool.run(100000000, [&](std::size_t) {
            if (first.exchange(false)) started.count_down();
        });
        waiting = pool.run(5, [](std::size_t) { CHECK(false); });
        started.wait();
    }
    CHECK(error_code([&] { running->finish(); }) == 500);
    CHECK(error_code([&] { waiting->finish(); }) == 500);
}

CLAIM(pools_come_and_go) {
    for (int round = 0; round < 100; ++round) {
        ThreadPool pool(3);
        if (round % 2 == 0) (void)pool.run(50, [](std::size_t) {});
    }
}

CLAIM(what_a_task_owns_is_destroyed_with_the_job) {
    ThreadPool pool(2);
    const auto owned = std::make_shared<int>(0);
    pool.run(4, [owned](std::size_t) { (void)*owned; })->finish();
    pool.run(4, [](std::size_t) {})->finish();
    while (owned.use_count() > 1) std::this_thread::yield();
}

CLAIM(impossible_thread_counts_are_refused) {
    CHECK(error_code([] { ThreadPool pool(1025); }) == 100);
    CHECK(error_code([] { ThreadPool pool(static_cast<std::size_t>(-1)); }) == 100);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // sanitizers reserve terabytes of addresses
CLAIM(pool_that_gets_too_few_threads_says_so_and_leaves_none) {
    const rlimit limit{std::size_t{256} << 20, RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(error_code([] { ThreadPool pool(1000); }) == 520);
    ThreadPool pool(2);
    pool.run(10, [](std::size_t) {})->finish();
}
#endif

CLAIM(pool_threads_take_no_signals) {
    ThreadPool pool(1);
    sigset_t blocked;
    pool.run(1, [&](std::size_t) { pthread_sigmask(SIG_SETMASK, nullptr, &blocked); })->finish();
    CHECK(sigismember(&blocked, SIGINT) == 1);
    sigset_t ours;
    pthread_sigmask(SIG_SETMASK, nullptr, &ours);
    CHECK(sigismember(&ours, SIGINT) == 0);
}

CLAIM(forked_child_is_refused_and_can_exit) {
    std::latch release(1);
    auto pool = std::make_unique<ThreadPool>(2);
    auto job = pool->run(2, [&](std::size_t) { release.wait(); });
    std::thread waiter([&job] { (void)job->wait_for(10000ms); });  // so that the child inherits a used condition
    const pid_t child = ::fork();
    if (child == 0) {
        const bool refused = error_code([&] { (void)pool->run(1, [](std::size_t) {}); }) == 510 &&
                             error_code([&] { job->finish(); }) == 510 &&
                             error_code([&] { (void)job->wait_for(1ms); }) == 510;
        job->cancel();
        job.reset();
        pool.reset();
        ::_exit(refused ? 0 : 1);
    }
    int status = -1;
    CHECK(::waitpid(child, &status, 0) == child);
    release.count_down();
    waiter.join();
    job->finish();
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// ---- cores

CLAIM(cores_are_at_least_one) { CHECK(usable_cores() >= 1); }

CLAIM(no_quota_is_no_limit) {
    const TemporaryFolder root;
    CHECK(quota_cores(root.path()) == 0);
    write_text(root.path() / "proc/self/cgroup", "0::/\n");
    write_text(root.path() / "sys/fs/cgroup/cpu.max", "max 100000\n");
    CHECK(quota_cores(root.path()) == 0);
}

CLAIM(tightest_quota_of_nested_groups_counts) {
    const TemporaryFolder root;
    write_text(root.path() / "proc/self/cgroup", "0::/outer/inner\n");
    write_text(root.path() / "sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
    write_text(root.path() / "sys/fs/cgroup/outer/inner/cpu.max", "400000 100000\n");
    CHECK(quota_cores(root.path()) == 1.5);
}

CLAIM(quota_of_a_container_is_found_at_the_top) {
    const TemporaryFolder root;
    write_text(root.path() / "proc/self/cgroup", "0::/docker/0123456789\n");
    write_text(root.path() / "sys/fs/cgroup/cpu.max", "200000 100000\n");
    CHECK(quota_cores(root.path()) == 2);
}

CLAIM(quota_of_version_1_groups_counts) {
    const TemporaryFolder root;
    write_text(root.path() / "proc/self/cgroup", "12:memory:/a\n4:cpu,cpuacct:/a\n3:cpuset:/a\n");
    write_text(root.path() / "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n");
    write_text(root.path() / "sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    write_text(root.path() / "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    write_text(root.path() / "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    CHECK(quota_cores(root.path()) == 0.5);
}

CLAIM(unreadable_quota_is_no_limit) {
    const TemporaryFolder root;
    write_text(root.path() / "proc/self/cgroup", "nonsense\n0::/\n");
    write_text(root.path() / "sys/fs/cgroup/cpu.max", "many of\n");
    CHECK(quota_cores(root.path()) == 0);
}

// ---- ordered results

CLAIM(results_are_taken_in_order_one_at_a_time) {
    ThreadPool pool(4);
    std::vector<std::size_t> taken;  // without a lock: a sanitizer would see two at once
    run_ordered<std::size_t>(
        pool, 2000, 8, [](std::size_t index) { return index * index; },
        [&](std::size_t index, std::size_t result) {
            CHECK(result == index * index);
            taken.push_back(index);
        })
        ->finish();
    CHECK(taken.size() == 2000);
    for (std::size_t i = 0; i < taken.size(); ++i) CHECK(taken[i] == i);
}

CLAIM(results_wait_for_a_slow_one_in_front_and_never_exceed_the_window) {
    ThreadPool pool(4);
    std::atomic<std::size_t> alive{0}, most{0};
    run_ordered<int>(
        pool, 400, 6,
        [&](std::size_t index) {
            if (index % 50 == 0) std::this_thread::sleep_for(2ms);
            const std::size_t now = ++alive;
            for (std::size_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
            return 0;
        },
        [&](std::size_t, int) { --alive; })
        ->finish();
    CHECK(alive == 0);
    CHECK(most <= 7);  // six in the window, and one that is just being taken out of it
}

CLAIM(an_error_in_making_or_taking_ends_the_work_without_a_hang) {
    for (const bool in_take : {false, true}) {
        ThreadPool pool(4);
        std::atomic<std::size_t> num_taken{0};
        const auto job = run_ordered<int>(
            pool, 1000, 4,
            [&](std::size_t index) {
                if (!in_take && index == 100) throw Error(ErrorCode::corrupt, "made badly", "", "");
                return 0;
            },
            [&](std::size_t index, int) {
                if (in_take && index == 100) throw Error(ErrorCode::corrupt, "taken badly", "", "");
                ++num_taken;
            });
        CHECK(error_code([&] { job->finish(); }) == static_cast<int>(ErrorCode::corrupt));
        CHECK(num_taken <= 100);
    }
}

CLAIM(cancelled_ordered_work_ends) {
    ThreadPool pool(3);
    std::atomic<std::size_t> num_taken{0};
    const auto job =
        run_ordered<int>(pool, 100000, 4, [](std::size_t) { return 0; }, [&](std::size_t, int) { ++num_taken; });
    while (num_taken < 10) std::this_thread::yield();
    job->cancel();
    CHECK(job->wait_for(10s));
}

int main(int argc, char** argv) {
    if (argc == 2) return claims::run_named(argv[1]);
    for (const claims::Claim& claim : claims::all()) std::puts(claim.name);
    return 0;
}
