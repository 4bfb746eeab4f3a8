// Owned memory: a growable byte buffer that does not zero what it hands out, and a bounded pool that recycles
// large blocks, because touching fresh pages costs as much as decoding into them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "base/image.h"

namespace penstock {

/// A byte vector whose new bytes are uninitialised. Growth is geometric; throws `out_of_memory`.
class ByteBuffer {
  public:
    ByteBuffer() = default;
    explicit ByteBuffer(std::size_t size) { resize(size); }

    void resize(std::size_t size);
    void reserve(std::size_t capacity);
    void append(const void* bytes, std::size_t size) {
        const std::size_t begin = size_;
        resize(size_ + size);
        if (size != 0) std::memcpy(data_.get() + begin, bytes, size);
    }
    void push_back(std::uint8_t byte) {
        resize(size_ + 1);
        data_.get()[size_ - 1] = byte;
    }

    [[nodiscard]] std::uint8_t* data() noexcept { return data_.get(); }
    [[nodiscard]] const std::uint8_t* data() const noexcept { return data_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] ByteView view() const noexcept { return {data_.get(), size_}; }

  private:
    struct Free {
        void operator()(std::uint8_t* block) const noexcept;
    };
    std::unique_ptr<std::uint8_t, Free> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

/// Recycles blocks between decodes. Blocks are 64-byte aligned and readable 64 bytes past their size.
///
/// Safe from many threads. Holds at most `max_idle_bytes` of idle blocks; the rest goes back to the system. After a
/// fork, the child may use `shared()` as before. To every other pool of its parent it can only return blocks, which go
/// to the system.
class BufferPool {
  public:
    explicit BufferPool(std::size_t max_idle_bytes);
    ~BufferPool();
    BufferPool(const BufferPool&) = delete;
    BufferPool& operator=(const BufferPool&) = delete;

    /// Takes a block of at least `size` bytes; its content is arbitrary.
    [[nodiscard]] std::uint8_t* take(std::size_t size);
    /// Gives back a block from `take`, with the size it was taken for.
    void give(std::uint8_t* block, std::size_t size) noexcept;

    /// Limits the bytes of used and idle blocks together. Idle blocks are freed before the system is asked for more;
    /// blocks in use are never refused. Without this call, only idle blocks are limited.
    void limit(std::size_t max_bytes);

    [[nodiscard]] std::size_t idle_bytes() const;

    /// The pool for decodes without their own output; it lives until the process ends.
    static BufferPool& shared();

  private:
    struct Bin {
        std::size_t capacity;
        std::vector<std::uint8_t*> blocks;
    };
    static void lock_shared();
    static void unlock_shared();
    static void unlock_shared_in_child();
    /// Frees idle blocks, the largest first, until all blocks and `more` bytes are within the limit. Needs the lock.
    void make_room(std::size_t more) noexcept;

    mutable std::mutex mutex_;
    unsigned num_forks_;  // of the process that uses the pool, before it did
    std::vector<Bin> bins_;
    std::size_t idle_bytes_ = 0;
    std::size_t used_bytes_ = 0;
    std::size_t max_idle_bytes_;
    std::size_t max_bytes_ = std::numeric_limits<std::size_t>::max();
};

/// A block of a pool that goes back at the end of its scope: working memory of one decode or encode.
class PoolBlock {
  public:
    PoolBlock(std::size_t size, BufferPool& pool) : pool_(pool), size_(size), data_(pool.take(size)) {}
    ~PoolBlock() { pool_.give(data_, size_); }
    PoolBlock(const PoolBlock&) = delete;
    PoolBlock& operator=(const PoolBlock&) = delete;

    [[nodiscard]] std::uint8_t* data() noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

  private:
    BufferPool& pool_;
    std::size_t size_;
    std::uint8_t* data_;
};

/// Pixels that own their block of a pool.
class OwnedImage {
  public:
    OwnedImage() = default;
    OwnedImage(PixelShape shape, BufferPool& pool)
        : pool_(&pool), block_bytes_(shape.bytes()), data_(pool.take(shape.bytes())), shape_(shape) {}
    OwnedImage(OwnedImage&& other) noexcept { *this = std::move(other); }
    OwnedImage& operator=(OwnedImage&& other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(block_bytes_, other.block_bytes_);
        std::swap(data_, other.data_);
        std::swap(shape_, other.shape_);
        return *this;
    }
    ~OwnedImage() {
        if (data_ != nullptr) pool_->give(data_, block_bytes_);
    }

    [[nodiscard]] ImageView view() noexcept { return {data_, shape_.row_bytes(), shape_}; }
    [[nodiscard]] ConstImageView view() const noexcept { return {data_, shape_.row_bytes(), shape_}; }
    [[nodiscard]] const PixelShape& shape() const noexcept { return shape_; }

  private:
    BufferPool* pool_ = nullptr;
    std::size_t block_bytes_ = 0;
    std::uint8_t* data_ = nullptr;
    PixelShape shape_;
};

}  // namespace penstock
