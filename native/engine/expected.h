// Samples that are read before a batch needs them: on their way into memory, and who waits for them meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/batch.h"

namespace penstock {

/// One sample's place in a batch.
struct BatchPlace {
    std::shared_ptr<Batch> batch;
    std::uint32_t position = 0;
};

/// Safe from many threads. A sample is expected from the moment its read is asked for until it is settled.
class Expected {
  public:
    /// False if the sample is on its way already.
    [[nodiscard]] bool expect(std::uint64_t id) {
        const std::lock_guard lock(mutex_);
        return places_.try_emplace(id).second;
    }

    /// Lets a place have the sample when it comes. False if it is not expected, or no longer.
    [[nodiscard]] bool await(std::uint64_t id, BatchPlace place) {
        const std::lock_guard lock(mutex_);
        const auto found = places_.find(id);
        if (found == places_.end()) return false;
        found->second.push_back(std::move(place));
        return true;
    }

    [[nodiscard]] bool is_awaited(std::uint64_t id) const {
        const std::lock_guard lock(mutex_);
        const auto found = places_.find(id);
        return found != places_.end() && !found->second.empty();
    }

    /// Removes a sample that has arrived or will not arrive, and returns the places that waited for it.
    [[nodiscard]] std::vector<BatchPlace> settle(std::uint64_t id) {
        const std::lock_guard lock(mutex_);
        const auto found = places_.find(id);
        if (found == places_.end()) return {};
        std::vector<BatchPlace> waited = std::move(found->second);
        places_.erase(found);
        return waited;
    }

  private:
    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::vector<BatchPlace>> places_;
};

}  // namespace penstock
