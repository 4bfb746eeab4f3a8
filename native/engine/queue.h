// A bounded queue between threads. Both sides sleep, without spinning, until there is room or an item.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

namespace penstock {

/// First in, first out, from any number of threads to any number of threads.
template <typename T>
class BoundedQueue {
  public:
    /// `capacity` is at least 1.
    explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

    /// Waits for room. False if the queue is closed: the caller should stop. The item is taken only by success: a
    /// caller who is refused, or finds no memory, still has it.
    [[nodiscard]] bool push(T&& item) {
        std::unique_lock lock(mutex_);
        not_full_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
        if (closed_) return false;
        items_.push_back(std::move(item));
        not_empty_.notify_one();
        return true;
    }
    [[nodiscard]] bool push(const T& item) { return push(T(item)); }

    /// Waits for an item. Empty once the queue is closed and drained; throws what `fail` was told.
    [[nodiscard]] std::optional<T> pop() {
        std::unique_lock lock(mutex_);
        not_empty_.wait(lock, [&] { return closed_ || !items_.empty(); });
        if (failure_ != nullptr) std::rethrow_exception(failure_);
        if (items_.empty()) return std::nullopt;
        std::optional<T> item(std::move(items_.front()));
        items_.pop_front();
        not_full_.notify_one();
        return item;
    }

    /// An item if there is one, without waiting. Throws what `fail` was told.
    [[nodiscard]] std::optional<T> try_pop() {
        const std::lock_guard lock(mutex_);
        if (failure_ != nullptr) std::rethrow_exception(failure_);
        if (items_.empty()) return std::nullopt;
        std::optional<T> item(std::move(items_.front()));
        items_.pop_front();
        not_full_.notify_one();
        return item;
    }

    /// Closes the queue: wakes all waiting threads and refuses pushes. Remaining items can still be taken.
    void close() {
        const std::lock_guard lock(mutex_);
        close_locked();
    }

    /// Closes because of an error, which every `pop` throws from now on; what is inside is dropped. Only the first
    /// error counts, and none after `close`: then whatever was promised has been delivered.
    void fail(std::exception_ptr error) {
        std::deque<T> dropped;  // destroyed after the lock is gone
        const std::lock_guard lock(mutex_);
        if (closed_) return;
        failure_ = std::move(error);
        dropped.swap(items_);
        close_locked();
    }

    [[nodiscard]] std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return items_.size();
    }

  private:
    void close_locked() {
        closed_ = true;
        not_full_.notify_all();
        not_empty_.notify_all();
    }

    const std::size_t capacity_;
    mutable std::mutex mutex_;
    std::condition_variable not_full_;
    std::condition_variable not_empty_;
    std::deque<T> items_;
    std::exception_ptr failure_;
    bool closed_ = false;
};

}  // namespace penstock
