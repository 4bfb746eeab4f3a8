#include "base/buffer.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <utility>

#include "base/error.h"

namespace penstock {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kPadding = 64;  // vector loads and stores may run over a row's end
constexpr std::size_t kSharedIdleBytes = std::size_t{512} << 20;

[[noreturn]] void throw_out_of_memory(std::size_t size) {
    throw Error(ErrorCode::out_of_memory, "could not allocate " + std::to_string(size) + " bytes", "memory",
                "lower max_pixels, or free memory");
}

// Four size classes per power of two: at most 25 % of a block is unused.
std::size_t size_class(std::size_t size) {
    constexpr std::size_t smallest = 4096;
    if (size <= smallest) return smallest;
    const std::size_t step = std::bit_floor(size - 1) >> 2;
    return (size + step - 1) / step * step;
}

}  // namespace

void ByteBuffer::Free::operator()(std::uint8_t* block) const noexcept { std::free(block); }

void ByteBuffer::reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    auto* grown = static_cast<std::uint8_t*>(std::realloc(data_.get(), capacity));
    if (grown == nullptr) throw_out_of_memory(capacity);
    (void)data_.release();
    data_.reset(grown);
    capacity_ = capacity;
}

void ByteBuffer::resize(std::size_t size) {
    if (size > capacity_) reserve(std::max(size, capacity_ + capacity_ / 2));
    size_ = size;
}

// Every fork counts, in the child. A thread of the parent may have held a pool's lock then, and will never release it.
namespace {

std::atomic<unsigned> num_forks{0};

}  // namespace

BufferPool::BufferPool(std::size_t max_idle_bytes)
    : num_forks_(num_forks.load(std::memory_order_relaxed)), max_idle_bytes_(max_idle_bytes) {}

BufferPool::~BufferPool() {
    for (const Bin& bin : bins_) {
        for (std::uint8_t* block : bin.blocks) std::free(block);
    }
}

std::uint8_t* BufferPool::take(std::size_t size) {
    const std::size_t capacity = size_class(size);
    {
        const std::lock_guard lock(mutex_);
        const auto bin = std::ranges::find(bins_, capacity, &Bin::capacity);
        if (bin != bins_.end() && !bin->blocks.empty()) {
            std::uint8_t* block = bin->blocks.back();
            bin->blocks.pop_back();
            idle_bytes_ -= capacity;
            used_bytes_ += capacity;
            return block;
        }
        make_room(capacity);
        used_bytes_ += capacity;
    }
    auto* block = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, capacity + kPadding));
    if (block == nullptr) {
        const std::lock_guard lock(mutex_);
        used_bytes_ -= capacity;
        throw_out_of_memory(size);
    }
    return block;
}

void BufferPool::give(std::uint8_t* block, std::size_t size) noexcept {
    if (num_forks_ != num_forks.load(std::memory_order_relaxed)) return std::free(block);
    const std::size_t capacity = size_class(size);
    try {
        const std::lock_guard lock(mutex_);
        used_bytes_ -= capacity;
        if (idle_bytes_ + capacity <= std::min(max_idle_bytes_, max_bytes_ - std::min(max_bytes_, used_bytes_))) {
            auto bin = std::ranges::find(bins_, capacity, &Bin::capacity);
            if (bin == bins_.end()) {
                bins_.push_back({capacity, {}});
                bin = bins_.end() - 1;
            }
            bin->blocks.push_back(block);
            idle_bytes_ += capacity;
            return;
        }
    } catch (const std::bad_alloc&) {
        // The list of idle blocks could not grow: the block itself goes back instead.
    }
    std::free(block);
}

void BufferPool::limit(std::size_t max_bytes) {
    const std::lock_guard lock(mutex_);
    max_bytes_ = max_bytes;
    make_room(0);
}

void BufferPool::make_room(std::size_t more) noexcept {
    if (idle_bytes_ + used_bytes_ + more <= max_bytes_) return;
    std::ranges::sort(bins_, std::greater<>{}, &Bin::capacity);
    for (Bin& bin : bins_) {
        while (!bin.blocks.empty() && idle_bytes_ + used_bytes_ + more > max_bytes_) {
            std::free(bin.blocks.back());
            bin.blocks.pop_back();
            idle_bytes_ -= bin.capacity;
        }
    }
}

std::size_t BufferPool::idle_bytes() const {
    const std::lock_guard lock(mutex_);
    return idle_bytes_;
}

BufferPool& BufferPool::shared() {
    // Never destroyed: arrays that Python frees at interpreter exit still come back here. A forking thread holds its
    // lock meanwhile, so that the child finds it whole and can unlock it.
    static auto* pool = [] {
        auto* made = new BufferPool(kSharedIdleBytes);
        (void)::pthread_atfork(&lock_shared, &unlock_shared, &unlock_shared_in_child);
        return made;
    }();
    return *pool;
}

void BufferPool::lock_shared() { shared().mutex_.lock(); }

void BufferPool::unlock_shared() { shared().mutex_.unlock(); }

void BufferPool::unlock_shared_in_child() {
    shared().num_forks_ = num_forks.fetch_add(1, std::memory_order_relaxed) + 1;
    shared().mutex_.unlock();
}

}  // namespace penstock
