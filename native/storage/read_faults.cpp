#include "storage/read_faults.h"

#include <time.h>

namespace penstock {

void ReadFaults::stall(std::optional<std::uint32_t> file, std::chrono::milliseconds duration, std::uint64_t times) {
    const std::lock_guard lock(mutex_);
    orders_.push_back({file, duration, 0, times});
}

void ReadFaults::fail(std::optional<std::uint32_t> file, int error, std::uint64_t times) {
    const std::lock_guard lock(mutex_);
    orders_.push_back({file, std::chrono::milliseconds(0), error, times});
}

int ReadFaults::before_read(std::uint32_t file, std::uint64_t bytes) {
    if (limit_ != nullptr) limit_->wait(bytes);
    std::chrono::milliseconds duration{0};
    int error = 0;
    {
        const std::lock_guard lock(mutex_);
        for (Order& order : orders_) {
            if (order.times == 0 || (order.file && *order.file != file)) continue;
            --order.times;
            duration += order.duration;
            if (order.error != 0) error = order.error;
        }
        std::erase_if(orders_, [](const Order& order) { return order.times == 0; });
    }
    if (duration.count() > 0) {
        const timespec pause{duration.count() / 1000, duration.count() % 1000 * 1'000'000};
        ::nanosleep(&pause, nullptr);
    }
    return error;
}

}  // namespace penstock
