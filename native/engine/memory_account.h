// Bytes that several threads may hold together: the part of a memory budget that one kind of use gets.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>

namespace penstock {

/// Bytes that all uses together hold now, and their peak.
class MemoryGauge {
  public:
    void add(std::size_t bytes) noexcept {
        const std::size_t now = held_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
        std::size_t most = peak_.load(std::memory_order_relaxed);
        while (most < now && !peak_.compare_exchange_weak(most, now, std::memory_order_relaxed)) continue;
    }
    void remove(std::size_t bytes) noexcept { held_.fetch_sub(bytes, std::memory_order_relaxed); }

    [[nodiscard]] std::size_t held_bytes() const noexcept { return held_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::size_t peak_bytes() const noexcept { return peak_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::size_t> held_{0};
    std::atomic<std::size_t> peak_{0};
};

/// Lends bytes up to a limit. A thread that asks for more than is free blocks until other threads release some.
class MemoryAccount {
  public:
    /// Makes an account. `on_wanted` is called when a thread starts to wait; it must not use the account.
    MemoryAccount(std::size_t limit_bytes, MemoryGauge& gauge, std::function<void()> on_wanted = {})
        : limit_bytes_(limit_bytes), gauge_(gauge), on_wanted_(std::move(on_wanted)) {}

    [[nodiscard]] std::size_t limit_bytes() const noexcept { return limit_bytes_; }

    /// Waits for `bytes`, which must be within the limit; the caller checks that first, to name what is too large.
    /// Returns false if the account was closed meanwhile, and lends nothing.
    [[nodiscard]] bool acquire(std::size_t bytes) {
        std::unique_lock lock(mutex_);
        const auto may_go = [&] { return closed_ || bytes <= limit_bytes_ - lent_bytes_; };
        if (!may_go()) {
            ++num_waiting_;
            if (on_wanted_) on_wanted_();
            returned_.wait(lock, may_go);
            --num_waiting_;
        }
        if (closed_) return false;
        lent_bytes_ += bytes;
        gauge_.add(bytes);
        return true;
    }

    /// Lends `bytes` if they are there now.
    [[nodiscard]] bool try_acquire(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        if (closed_ || bytes > limit_bytes_ - lent_bytes_) return false;
        lent_bytes_ += bytes;
        gauge_.add(bytes);
        return true;
    }

    void release(std::size_t bytes) noexcept {
        if (bytes == 0) return;
        gauge_.remove(bytes);
        const std::lock_guard lock(mutex_);
        lent_bytes_ -= bytes;
        returned_.notify_all();
    }

    /// Returns whether a thread waits for memory. A holder should then release what it does not need.
    [[nodiscard]] bool is_wanted() const {
        const std::lock_guard lock(mutex_);
        return num_waiting_ > 0;
    }

    /// Wakes everybody, lends no more.
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        returned_.notify_all();
    }

  private:
    const std::size_t limit_bytes_;
    MemoryGauge& gauge_;
    const std::function<void()> on_wanted_;
    mutable std::mutex mutex_;
    std::condition_variable returned_;
    std::size_t lent_bytes_ = 0;
    std::size_t num_waiting_ = 0;
    bool closed_ = false;
};

/// Bytes of an account, given back at the end of their scope.
class MemoryLease {
  public:
    MemoryLease() = default;
    /// Takes over bytes that were acquired.
    MemoryLease(MemoryAccount& account, std::size_t bytes) : account_(&account), bytes_(bytes) {}
    MemoryLease(MemoryLease&& other) noexcept
        : account_(std::exchange(other.account_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    MemoryLease& operator=(MemoryLease&& other) noexcept {
        std::swap(account_, other.account_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~MemoryLease() { release(); }

    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    void release() noexcept {
        if (account_ != nullptr) account_->release(std::exchange(bytes_, 0));
        account_ = nullptr;
    }

  private:
    MemoryAccount* account_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace penstock
