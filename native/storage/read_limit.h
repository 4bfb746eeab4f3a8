// A slower disk: reads wait for their turn. Holds a disk limit where no control group may.
#pragma once

#include <cstdint>
#include <mutex>

namespace penstock {

/// Two token buckets, for bytes and for requests, as a disk throttle of the kernel has them. Every read waits, also one
/// that the page cache would have served.
class ReadLimit {
  public:
    /// Sets the limits per second; 0 leaves bytes or requests unlimited.
    ReadLimit(double bytes_per_second, double reads_per_second)
        : bytes_per_second_(bytes_per_second), reads_per_second_(reads_per_second) {}

    /// Sleeps for as long as a read of so many bytes takes on the slower disk. From any thread; first come, first
    /// served.
    void wait(std::uint64_t bytes);

    [[nodiscard]] double bytes_per_second() const noexcept { return bytes_per_second_; }
    [[nodiscard]] double reads_per_second() const noexcept { return reads_per_second_; }

  private:
    const double bytes_per_second_;
    const double reads_per_second_;
    std::mutex mutex_;
    double bytes_paid_until_ = 0;  // on the monotonic clock: when what was let through is worked off
    double reads_paid_until_ = 0;
};

}  // namespace penstock
