// Samples that wait for a decoder; those of the oldest batch go first, so that no batch waits for a later one.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/fetch.h"

namespace penstock {

/// Queue for any number of producers and consumers. Bounded by the memory of the data that was read, not by a count.
class ReadyQueue {
  public:
    /// Makes room for so many samples: while no more of them wait, `push` needs no memory.
    void reserve(std::size_t num_samples) {
        const std::lock_guard lock(mutex_);
        if (heap_.capacity() < num_samples) heap_.reserve(std::max(num_samples, 2 * heap_.capacity()));
    }

    /// Never fails: there is room for the samples of all batches under way.
    void push(ReadySample sample) noexcept {
        const std::lock_guard lock(mutex_);
        const std::uint64_t batch = sample.batch->number();
        heap_.push_back({batch, num_pushed_++, std::move(sample)});
        std::ranges::push_heap(heap_, later);
        not_empty_.notify_one();
    }

    /// Waits for a sample. Empty once the queue is closed: what is inside is left there. Calls `ease` before it sleeps,
    /// and again whenever `wake` is called meanwhile: who sleeps must not hold what others wait for.
    template <typename Ease>
    [[nodiscard]] std::optional<ReadySample> pop(const Ease& ease) {
        std::unique_lock lock(mutex_);
        while (!closed_ && heap_.empty()) {
            const std::uint64_t seen = num_wakes_;
            lock.unlock();
            ease();
            lock.lock();
            not_empty_.wait(lock, [&] { return closed_ || !heap_.empty() || num_wakes_ != seen; });
        }
        if (closed_) return std::nullopt;
        std::ranges::pop_heap(heap_, later);
        std::optional<ReadySample> sample(std::move(heap_.back().sample));
        heap_.pop_back();
        return sample;
    }

    /// Wakes threads that wait in `pop`, so that they check what they hold.
    void wake() {
        const std::lock_guard lock(mutex_);
        ++num_wakes_;
        not_empty_.notify_all();
    }

    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        not_empty_.notify_all();
    }

  private:
    struct Item {
        std::uint64_t batch;
        std::uint64_t arrival;
        ReadySample sample;
    };
    static bool later(const Item& a, const Item& b) noexcept {
        return std::pair(a.batch, a.arrival) > std::pair(b.batch, b.arrival);
    }

    std::mutex mutex_;
    std::condition_variable not_empty_;
    std::vector<Item> heap_;
    std::uint64_t num_pushed_ = 0;
    std::uint64_t num_wakes_ = 0;
    bool closed_ = false;
};

}  // namespace penstock
