#include "storage/reading.h"

#include <time.h>

#include <cerrno>

#include "storage/system_error.h"

namespace penstock {

namespace {

// One attempt at what is left of the block; its errno, or 0.
int read_rest(const ByteFile& file, ReadBlock& block, ReadFaults& faults) {
    if (const int error = faults.before_read(block.extent().file, block.room().size()); error != 0) return error;
    while (!block.room().empty()) {
        const std::int64_t count = file.read_some(block.position(), block.room());
        if (count < 0) return static_cast<int>(-count);
        if (count == 0) break;
        block.add_filled(static_cast<std::size_t>(count));
        // A direct read that stops off the grid stopped at the end of the file; the next one would be refused.
        if (static_cast<std::uint64_t>(count) % file.alignment() != 0) break;
    }
    return 0;
}

}  // namespace

bool is_passing_fault(int error) noexcept {
    return error == EIO || error == EAGAIN || error == ETIMEDOUT || error == ESTALE || error == ENOMEM;
}

void pause_before_retry(int attempt) noexcept {
    const timespec pause{0, attempt == 0 ? 10'000'000 : 40'000'000};
    ::nanosleep(&pause, nullptr);
}

void read_block(const ByteFile& file, ReadBlock& block, ReadFaults& faults, ReadCounters& counters) {
    for (int attempt = 0;; ++attempt) {
        const int error = read_rest(file, block, faults);
        if (error == 0) break;
        if (!is_passing_fault(error) || attempt == kReadRetries) {
            throw_storage_error(ErrorCode::read_failed, "read", file.path(), error);
        }
        counters.num_retries.fetch_add(1, std::memory_order_relaxed);
        pause_before_retry(attempt);
    }
    counters.num_reads.fetch_add(1, std::memory_order_relaxed);
    counters.num_bytes.fetch_add(block.filled(), std::memory_order_relaxed);
    file.drop(block.extent().offset, block.extent().length);
}

}  // namespace penstock
