// Working memory of one decoding thread, kept from sample to sample, because fresh pages cost as much as decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/memory_account.h"

namespace penstock {

class Scratch {
  public:
    explicit Scratch(MemoryAccount& memory) : memory_(memory) {}

    /// At least `bytes`, of any content. Waits for other threads if the account is short; throws `too_large` if it is
    /// too small for this alone, `cancelled` if the pipeline closes meanwhile.
    [[nodiscard]] std::uint8_t* room(std::size_t bytes) {
        if (block_ && block_->size() >= bytes) return block_->data();
        if (bytes > memory_.limit_bytes()) {
            throw Error(ErrorCode::too_large,
                        "decoding takes " + std::to_string(bytes) + " bytes, more than the " +
                            std::to_string(memory_.limit_bytes()) + " bytes that the loader has for it",
                        "memory", "give the loader more memory, or fewer threads");
        }
        free();
        if (!memory_.acquire(bytes)) throw Error(ErrorCode::cancelled, "the loader was closed", "memory", "");
        lease_ = MemoryLease(memory_, bytes);
        block_.emplace(bytes, pool_);
        return block_->data();
    }

    /// Between samples: lets go of the memory if another thread waits for some.
    void ease() {
        if (block_ && memory_.is_wanted()) free();
    }

  private:
    void free() {
        block_.reset();
        lease_.release();
    }

    MemoryAccount& memory_;
    MemoryLease lease_;
    BufferPool pool_{0};  // keeps nothing: what is not in `block_` goes back to the system
    std::optional<PoolBlock> block_;
};

}  // namespace penstock
