// The memory of one read, and where in its file the bytes stand.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/image.h"
#include "storage/extents.h"

namespace penstock {

/// Room for an extent at an address that suits direct reads. Readable 64 bytes past what was read.
class ReadBlock {
  public:
    ReadBlock(const Extent& extent, std::uint64_t alignment, BufferPool& pool)
        : extent_(extent), block_(bytes_needed(extent, alignment), pool) {
        const auto address = reinterpret_cast<std::uintptr_t>(block_.data());
        begin_ = block_.data() + (alignment - address % alignment) % alignment;
    }

    /// Returns the bytes that a block for this extent takes from the pool.
    [[nodiscard]] static std::size_t bytes_needed(const Extent& extent, std::uint64_t alignment) noexcept {
        return extent.length + (alignment > 64 ? alignment : 0);
    }

    [[nodiscard]] const Extent& extent() const noexcept { return extent_; }
    /// Returns the memory for the rest of the extent.
    [[nodiscard]] std::span<std::uint8_t> room() const noexcept {
        return {begin_ + filled_, static_cast<std::size_t>(extent_.length) - filled_};
    }
    /// Position in the file of the next byte to read.
    [[nodiscard]] std::uint64_t position() const noexcept { return extent_.offset + filled_; }
    void add_filled(std::size_t count) noexcept { filled_ += count; }
    [[nodiscard]] std::size_t filled() const noexcept { return filled_; }

    /// Returns the part of the file's bytes [offset, offset + length) that was read; it is shorter if the file ended
    /// before.
    [[nodiscard]] ByteView bytes(std::uint64_t offset, std::uint64_t length) const noexcept {
        const std::uint64_t begin = offset - extent_.offset;
        if (begin >= filled_) return {};
        return {begin_ + begin, static_cast<std::size_t>(std::min<std::uint64_t>(length, filled_ - begin))};
    }

  private:
    Extent extent_;
    PoolBlock block_;
    std::uint8_t* begin_ = nullptr;
    std::size_t filled_ = 0;
};

}  // namespace penstock
