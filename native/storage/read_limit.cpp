#include "storage/read_limit.h"

#include <time.h>

#include <algorithm>
#include <cmath>

namespace penstock {

namespace {

// What an idle disk may do at once: enough that a late wake-up costs nothing, too little to show in a rate.
constexpr double kBurstSeconds = 0.02;

double now_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void sleep_until(double seconds) {
    const double whole = std::floor(seconds);
    const timespec end{static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) != 0) continue;
}

// Books a cost behind those before it; when it is worked off.
double book(double& paid_until, double now, double cost) {
    paid_until = std::max(paid_until, now - kBurstSeconds) + cost;
    return paid_until;
}

}  // namespace

void ReadLimit::wait(std::uint64_t bytes) {
    double end = 0;
    const double now = now_seconds();
    {
        const std::lock_guard lock(mutex_);
        if (bytes_per_second_ > 0) {
            end = book(bytes_paid_until_, now, static_cast<double>(bytes) / bytes_per_second_);
        }
        if (reads_per_second_ > 0) end = std::max(end, book(reads_paid_until_, now, 1 / reads_per_second_));
    }
    if (end > now) sleep_until(end);
}

}  // namespace penstock
