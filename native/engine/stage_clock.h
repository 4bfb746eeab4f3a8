// How long a stage of the pipeline worked and how long it waited, all its threads together.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

namespace penstock {

class StageClock {
  public:
    using Clock = std::chrono::steady_clock;

    void add_busy(Clock::duration time) noexcept { add(busy_, time); }
    void add_waited(Clock::duration time) noexcept { add(waited_, time); }
    [[nodiscard]] double busy_seconds() const noexcept { return seconds(busy_); }
    [[nodiscard]] double waited_seconds() const noexcept { return seconds(waited_); }

  private:
    using Nanoseconds = std::atomic<std::uint64_t>;
    static void add(Nanoseconds& total, Clock::duration time) noexcept {
        const auto count = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
        total.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
    }
    static double seconds(const Nanoseconds& total) noexcept {
        return static_cast<double>(total.load(std::memory_order_relaxed)) * 1e-9;
    }

    Nanoseconds busy_{0};
    Nanoseconds waited_{0};
};

/// Follows one thread of a stage: from its last `began_waiting` to `began_working` it waited, and so on.
class StageWatch {
  public:
    explicit StageWatch(StageClock& clock) : clock_(clock), since_(StageClock::Clock::now()) {}
    void began_working() noexcept { clock_.add_waited(lap()); }
    void began_waiting() noexcept { clock_.add_busy(lap()); }

  private:
    StageClock::Clock::duration lap() noexcept {
        const auto now = StageClock::Clock::now();
        return now - std::exchange(since_, now);
    }

    StageClock& clock_;
    StageClock::Clock::time_point since_;
};

}  // namespace penstock
