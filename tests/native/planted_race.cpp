// A counter without a lock: what ThreadSanitizer must find, and must not where the interpreter's lock guards it.
#include <atomic>

namespace {

std::atomic<int> num_entered{0};
long count = 0;

}  // namespace

/// Counts, once so many threads are here. That they met is no order between them.
extern "C" void count_together(int num_threads) {
    num_entered.fetch_add(1, std::memory_order_relaxed);
    while (num_entered.load(std::memory_order_relaxed) < num_threads) continue;
    for (int i = 0; i < 1000; ++i) count = count + 1;
}
