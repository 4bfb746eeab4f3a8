// A disk that stalls, fails or is slow on demand: what tests and emulations do to reads. Without orders it does
// nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "storage/read_limit.h"

namespace penstock {

/// Orders are given from any thread, also while reads are under way.
class ReadFaults {
  public:
    ReadFaults() = default;
    /// All reads keep to a limit, which other readers may share; null for none.
    explicit ReadFaults(std::shared_ptr<ReadLimit> limit) : limit_(std::move(limit)) {}

    /// The next `times` reads of a file (of any, without one) take `duration` longer.
    void stall(std::optional<std::uint32_t> file, std::chrono::milliseconds duration, std::uint64_t times);
    /// The next `times` reads of a file (of any, without one) fail with `error`, an errno.
    void fail(std::optional<std::uint32_t> file, int error, std::uint64_t times);

    /// Called before every read: sleeps if told to. The errno to fail with, or 0.
    [[nodiscard]] int before_read(std::uint32_t file, std::uint64_t bytes);

  private:
    struct Order {
        std::optional<std::uint32_t> file;
        std::chrono::milliseconds duration;
        int error;
        std::uint64_t times;
    };

    const std::shared_ptr<ReadLimit> limit_;
    std::mutex mutex_;
    std::vector<Order> orders_;
};

}  // namespace penstock
