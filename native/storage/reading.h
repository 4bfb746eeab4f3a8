// Positioned reads that block their thread, counted; faults of the disk are tried again before they count.
#pragma once

#include <atomic>
#include <cstdint>

#include "storage/data_files.h"
#include "storage/read_block.h"
#include "storage/read_faults.h"

namespace penstock {

/// Counters of reads. Any thread may read them.
struct ReadCounters {
    std::atomic<std::uint64_t> num_bytes{0};
    std::atomic<std::uint64_t> num_reads{0};    ///< extents and files, however many system calls they took
    std::atomic<std::uint64_t> num_retries{0};  ///< of reads that the disk failed
};

/// Number of retries of a failed read, after 10 ms, then 40.
inline constexpr int kReadRetries = 2;

/// Returns whether an error may be temporary: a fault of the disk, or of the network behind it.
[[nodiscard]] bool is_passing_fault(int error) noexcept;

/// Waits before retry number `attempt` (from 0).
void pause_before_retry(int attempt) noexcept;

/// Fills the block, or as much of it as the file has. Throws `read_failed`.
void read_block(const ByteFile& file, ReadBlock& block, ReadFaults& faults, ReadCounters& counters);

}  // namespace penstock
