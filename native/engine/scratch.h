// Working memory of one decoding thread, kept from sample to sample, because fresh pages cost as much as decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/memory_account.h"

namespace penstock {

class Scratch {
  public:
    explicit Scratch(MemoryAccount& memory) : memory_(memory) {}

    /// Returns at least `bytes` of arbitrary content. Meanwhile the codec takes up to `working` bytes from `working()`,
    /// and `other` bytes, for example of transforms, are only accounted for. Waits for other threads if the account is
    /// short. Throws `too_large` if the account is too small for this alone, and `cancelled` if the pipeline closes
    /// meanwhile.
    [[nodiscard]] std::uint8_t* room(std::size_t bytes, std::size_t working, std::size_t other) {
        const std::size_t wanted = bytes + working + other;
        if (block_ && block_->size() >= bytes && lease_.bytes() >= block_->size() + working + other) {
            working_.limit(lease_.bytes() - block_->size() - other);
            return block_->data();
        }
        if (wanted > memory_.limit_bytes()) {
            throw Error(ErrorCode::too_large,
                        "decoding takes " + std::to_string(wanted) + " bytes, more than the " +
                            std::to_string(memory_.limit_bytes()) + " bytes that the loader has for it",
                        "memory", "give the loader more memory, or fewer threads");
        }
        free();
        if (!memory_.acquire(wanted)) throw Error(ErrorCode::cancelled, "the loader was closed", "memory", "");
        lease_ = MemoryLease(memory_, wanted);
        block_.emplace(bytes, pool_);
        working_.limit(working);
        return block_->data();
    }

    /// Pool for the memory of a codec. Returned blocks stay for the next sample, within what is accounted for.
    [[nodiscard]] BufferPool& working() noexcept { return working_; }

    /// Releases the memory between samples if another thread waits for some.
    void ease() {
        if (block_ && memory_.is_wanted()) free();
    }

  private:
    void free() {
        working_.limit(0);
        block_.reset();
        lease_.release();
    }

    MemoryAccount& memory_;
    MemoryLease lease_;
    BufferPool pool_{0};  // keeps nothing: what is not in `block_` goes back to the system
    BufferPool working_{std::numeric_limits<std::size_t>::max()};
    std::optional<PoolBlock> block_;
};

}  // namespace penstock
