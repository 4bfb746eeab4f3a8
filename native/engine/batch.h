// A batch under way: slots that decoders fill on several threads, and what went wrong in which of them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/memory_account.h"
#include "engine/tally.h"
#include "pixels/operations.h"

namespace penstock {

/// Shape of one sample of a batch: its sides (H, W, C or C, H, W; H, W of a mask) and the type of its elements.
struct SlotShape {
    std::array<std::uint32_t, 3> sides{1, 1, 1};
    std::uint8_t num_sides = 3;
    SampleType type = SampleType::uint8;

    [[nodiscard]] std::size_t bytes() const noexcept {
        const std::size_t element = type == SampleType::uint8 ? 1 : type == SampleType::float32 ? 4 : 2;
        return std::size_t{sides[0]} * sides[1] * sides[2] * element;
    }
    friend bool operator==(const SlotShape&, const SlotShape&) = default;
};

/// Memory of one array that outlives the pipeline that made it: it belongs to its holder, then to the pool again.
class SlotMemory {
  public:
    SlotMemory(std::size_t bytes, std::shared_ptr<BufferPool> pool, std::shared_ptr<MemoryGauge> gauge)
        : gauge_(std::move(gauge)), pool_(std::move(pool)), block_(bytes, *pool_) {
        gauge_->add(block_.size());
    }
    ~SlotMemory() { hand_over(); }
    SlotMemory(const SlotMemory&) = delete;
    SlotMemory& operator=(const SlotMemory&) = delete;

    [[nodiscard]] std::uint8_t* data() noexcept { return block_.data(); }
    /// Passes the memory to its holder, so that it no longer counts as the loader's.
    void hand_over() noexcept {
        if (gauge_ != nullptr) gauge_->remove(block_.size());
        gauge_.reset();
    }

  private:
    std::shared_ptr<MemoryGauge> gauge_;
    std::shared_ptr<BufferPool> pool_;
    PoolBlock block_;
};

/// Source of the memory of batches.
struct SlotSource {
    std::shared_ptr<BufferPool> pool;
    std::shared_ptr<MemoryGauge> gauge;
    /// True if the last batch had one shape. The next one then gets room for all its samples at once.
    std::shared_ptr<std::atomic<bool>> expects_one_shape = std::make_shared<std::atomic<bool>>(true);
};

/// The pixels of one field of a batch: one array while all samples have one shape, else one a sample.
class BatchField {
  public:
    struct Slot {
        SlotShape shape;
        std::shared_ptr<SlotMemory> memory;  ///< null until a decoder asked for it
        std::uint8_t* data = nullptr;
    };

    BatchField(std::size_t num_samples, SlotSource source) : slots_(num_samples), source_(std::move(source)) {}

    /// Takes memory for a sample; thread-safe. If one shape is expected, the first sample gets room for all, and
    /// samples of the same shape get a place in it.
    [[nodiscard]] std::uint8_t* take(std::size_t position, const SlotShape& shape);

    /// Returns whether all samples have one shape. If so, they now lie in one array that starts at the first sample's
    /// `data`.
    [[nodiscard]] bool unite();
    /// Takes samples out, those behind move up.
    void drop(const std::vector<std::size_t>& positions);

    [[nodiscard]] const std::vector<Slot>& slots() const noexcept { return slots_; }

  private:
    mutable std::mutex mutex_;
    std::vector<Slot> slots_;
    Slot common_;
    SlotSource source_;
};

/// Sample that failed to load.
struct SampleFailure {
    std::size_t position;
    std::uint64_t id;
    Error error;
};

/// Action on a sample's bytes in memory once it is decoded.
enum class Keeping : std::uint8_t { as_it_is = 0, keep = 1, drop = 2 };

/// Samples of a batch, their random choices, and which of them stay in memory.
struct BatchWish {
    std::vector<std::uint64_t> ids;
    std::vector<Keeping> keeping;      ///< of each sample; empty for `as_it_is`
    std::vector<std::uint64_t> ahead;  ///< ids to read into memory with it, for itself or for later batches
    std::uint64_t seed = 0;
    std::uint64_t epoch = 0;
    std::uint32_t fidelity = 0;              ///< scans of pictures that stand in blocks; 0: all
    std::shared_ptr<Tally> tally = nullptr;  ///< counts its work; null: the pipeline's own
};

/// Shared by the decoders that fill it and the caller who waits for it; who waits for what is the pipeline's. It hands
/// out shared pointers itself, as `Tally` does.
class Batch : public std::enable_shared_from_this<Batch> {
  public:
    Batch(BatchWish wish, std::uint64_t number, std::size_t num_fields, const SlotSource& source);

    [[nodiscard]] const BatchWish& wish() const noexcept { return wish_; }
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    [[nodiscard]] BatchField& field(std::size_t index) { return *fields_[index]; }
    [[nodiscard]] std::size_t num_fields() const noexcept { return fields_.size(); }

    /// Requests other samples at some positions, after a failure. No thread may be working on the batch.
    void replace(const std::vector<std::size_t>& positions, const std::vector<std::uint64_t>& ids);
    /// Removes samples at these positions. No thread may be working on the batch.
    void drop(const std::vector<std::size_t>& positions);

    [[nodiscard]] Keeping keeping(std::size_t position) const noexcept {
        return wish_.keeping.empty() ? Keeping::as_it_is : wish_.keeping[position];
    }
    /// Leaves memory as it is after a sample: there is nothing to drop, or it was dropped already. Before the sample is
    /// given to a decoder.
    void end_dropping(std::size_t position) noexcept { wish_.keeping[position] = Keeping::as_it_is; }
    /// Number of samples that were in memory when the batch was submitted, or that an earlier batch kept since.
    [[nodiscard]] std::size_t num_hits() const noexcept { return num_hits_.load(std::memory_order_relaxed); }
    void add_hits(std::size_t count) noexcept {
        num_hits_.fetch_add(count, std::memory_order_relaxed);
        wish_.tally->num_hits.fetch_add(count, std::memory_order_relaxed);
    }
    /// A sample that an earlier batch should have kept is not there: it is read after all.
    void lose_hit() noexcept {
        num_hits_.fetch_sub(1, std::memory_order_relaxed);
        wish_.tally->num_hits.fetch_sub(1, std::memory_order_relaxed);
        add_num_read(1);
    }
    /// Number of samples that were read with the batch, for itself or for later batches.
    [[nodiscard]] std::size_t num_read() const noexcept { return num_read_.load(std::memory_order_relaxed); }
    void add_num_read(std::size_t count) noexcept { num_read_.fetch_add(count, std::memory_order_relaxed); }
    [[nodiscard]] Tally& tally() const noexcept { return *wish_.tally; }

    /// Cancels the batch: work that has not started is skipped.
    void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

    /// Notes why a sample failed. Where there is no memory even for that, `take_failures` says so.
    void add_failure(std::size_t position, const std::exception_ptr& problem) noexcept;
    /// Takes the failures, sorted by position, and empties the list. Throws `std::bad_alloc` if the reason of a failure
    /// found no memory.
    [[nodiscard]] std::vector<SampleFailure> take_failures();

    /// A sample has ended, well or not. True for the last one.
    [[nodiscard]] bool end_sample() noexcept { return num_open_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
    [[nodiscard]] bool is_done() const noexcept { return num_open_.load(std::memory_order_acquire) == 0; }

  private:
    BatchWish wish_;
    const std::uint64_t number_;
    std::vector<std::unique_ptr<BatchField>> fields_;
    std::atomic<std::size_t> num_hits_{0};
    std::atomic<std::size_t> num_read_{0};
    std::atomic<std::size_t> num_open_;
    std::atomic<bool> cancelled_{false};
    std::mutex mutex_;
    std::vector<SampleFailure> failures_;
    bool lost_failure_ = false;  // there was no memory to note one
};

}  // namespace penstock
