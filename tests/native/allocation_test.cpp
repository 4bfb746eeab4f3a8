// Fails one allocation after the other, in one process: whatever fails, there is an error or a right result, no hang
// and no leak, and the same work done again is right.
//
//     allocation_test SCENARIO FIRST LAST STEP once|from_then_on [SECONDS that a run may take]
//
// prints "allocations N points N reached N errors N". Status 1: something is wrong, 3: a run hangs.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

#include "allocation_scenarios.h"
#include "base/buffer.h"
#include "failing_allocations.h"

namespace {

using failing_allocations::Mode;

// Ends the program when a run takes longer than it may.
class Watchdog {
  public:
    explicit Watchdog(std::chrono::seconds limit) : limit_(limit), thread_([this] { watch(); }) {}
    ~Watchdog() {
        ended_.store(true);
        thread_.join();
    }
    void begin_run() { num_runs_.fetch_add(1); }

  private:
    void watch() {
        std::size_t seen = 0;
        auto since = std::chrono::steady_clock::now();
        while (!ended_.load()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            const auto now = std::chrono::steady_clock::now();
            if (const std::size_t runs = num_runs_.load(); runs != seen) {
                seen = runs;
                since = now;
            } else if (now - since > limit_) {
                std::fputs("a run hangs: ", stderr);
                failing_allocations::tell_failure();
                if (std::getenv("PENSTOCK_ALLOCATION_WAIT") != nullptr) ::pause();  // for a debugger
                std::_Exit(3);
            }
        }
    }

    const std::chrono::seconds limit_;
    std::atomic<std::size_t> num_runs_{0};
    std::atomic<bool> ended_{false};
    std::thread thread_;
};

void on_crash(int number) {
    failing_allocations::tell_failure();
    ::signal(number, SIG_DFL);
    ::raise(number);
}

// The process's own pool keeps lists of idle blocks, which grow once: let them grow before anybody counts.
void warm_up_pool() {
    penstock::BufferPool& pool = penstock::BufferPool::shared();
    for (std::size_t size = 4096; size < std::size_t{4} << 20; size += size / 4) {
        std::uint8_t* blocks[32];
        for (std::uint8_t*& block : blocks) block = pool.take(size);
        for (std::uint8_t* block : blocks) pool.give(block, size);
    }
}

void empty_pool() {
    penstock::BufferPool::shared().limit(0);
    penstock::BufferPool::shared().limit(std::size_t{1} << 40);
}

// Runs with allocation `index` failing, 0 for none; gives the number of errors.
std::size_t run_once(scenarios::Scenario& scenario, std::size_t index, Mode mode) {
    scenario.prepare();
    failing_allocations::begin(index, mode);
    std::exception_ptr error;
    try {
        scenario.run();
    } catch (...) {
        error = std::current_exception();
    }
    failing_allocations::pause();
    if (error != nullptr && !scenarios::is_shortage(error)) {
        scenarios::give_up("the error is not that memory is short: " + scenarios::text_of(error));
    }
    const std::size_t num_errors = scenario.check(error);
    error = nullptr;
    empty_pool();
    if (const std::size_t leaks = failing_allocations::end(); leaks != 0) {
        failing_allocations::tell_leaks();
        scenarios::give_up(std::to_string(leaks) + " blocks were not freed");
    }
    return num_errors;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) return 2;
    const std::size_t first = std::stoul(argv[2]), last = std::stoul(argv[3]), step = std::stoul(argv[4]);
    const Mode mode = std::string(argv[5]) == "once" ? Mode::once : Mode::from_then_on;
    failing_allocations::prepare();
    for (const int number : {SIGABRT, SIGSEGV, SIGBUS}) ::signal(number, &on_crash);
    warm_up_pool();
    const std::unique_ptr<scenarios::Scenario> scenario = scenarios::make(argv[1]);
    if (scenario == nullptr) return 2;
    Watchdog watchdog(std::chrono::seconds(argc > 6 ? std::stoi(argv[6]) : 60));
    for (int i = 0; i < 3; ++i) {  // what is made once is made
        watchdog.begin_run();
        scenario->prepare();
        scenario->run();
        (void)scenario->check(nullptr);
    }
    watchdog.begin_run();
    (void)run_once(*scenario, 0, mode);
    const std::size_t total = failing_allocations::num_counted();
    std::size_t points = 0, reached = 0, errors = 0;
    for (std::size_t index = first; index <= last; index += step) {
        watchdog.begin_run();
        errors += run_once(*scenario, index, mode);
        ++points;
        reached += failing_allocations::has_failed() ? 1 : 0;
    }
    std::printf("allocations %zu points %zu reached %zu errors %zu\n", total, points, reached, errors);
    return 0;
}
