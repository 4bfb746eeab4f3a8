// Counters of the work that batches took. The batches of one epoch share a tally, so that work for the next epoch can
// be told apart while both are under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/reading.h"

namespace penstock {

/// Any thread may count and read. It hands out shared pointers itself: one that Python made would take the
/// interpreter's lock when a thread of the pipeline lets it go.
struct Tally : std::enable_shared_from_this<Tally> {
    ReadCounters reads;
    std::atomic<std::uint64_t> num_decoded{0};
    std::atomic<std::uint64_t> num_decodes_saved{0};
    std::atomic<std::uint64_t> num_recoded{0};
    std::atomic<std::uint64_t> num_hits{0};

    /// Adds the counts of another tally.
    void add(const Tally& other) noexcept {
        sum(reads.num_bytes, other.reads.num_bytes);
        sum(reads.num_reads, other.reads.num_reads);
        sum(reads.num_retries, other.reads.num_retries);
        sum(num_decoded, other.num_decoded);
        sum(num_decodes_saved, other.num_decodes_saved);
        sum(num_recoded, other.num_recoded);
        sum(num_hits, other.num_hits);
    }

  private:
    static void sum(std::atomic<std::uint64_t>& total, const std::atomic<std::uint64_t>& part) noexcept {
        total.fetch_add(part.load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
};

/// All tallies of a pipeline, added up. Safe from many threads. A tally that nothing counts in any more is folded into
/// the first, so that many epochs take no more memory than a few.
class TallySum {
  public:
    /// Returns the tally of work that has none of its own.
    [[nodiscard]] const std::shared_ptr<Tally>& own() const noexcept { return own_; }

    [[nodiscard]] std::shared_ptr<Tally> open() {
        const std::lock_guard lock(mutex_);
        std::erase_if(open_, [this](const std::shared_ptr<Tally>& tally) {
            if (tally.use_count() > 1) return false;  // a batch or its owner holds it
            own_->add(*tally);
            return true;
        });
        return open_.emplace_back(std::make_shared<Tally>());
    }

    /// Adds every tally but one to `total`.
    void add_to(Tally& total, const Tally* without) const {
        const std::lock_guard lock(mutex_);
        total.add(*own_);
        for (const std::shared_ptr<Tally>& tally : open_) {
            if (tally.get() != without) total.add(*tally);
        }
    }

  private:
    mutable std::mutex mutex_;
    const std::shared_ptr<Tally> own_ = std::make_shared<Tally>();
    std::vector<std::shared_ptr<Tally>> open_;
};

}  // namespace penstock
