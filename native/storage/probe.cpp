#include "storage/probe.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "storage/read_block.h"
#include "storage/reading.h"
#include "storage/system_error.h"
#include "storage/uring.h"

namespace penstock {

namespace {

double seconds_of(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

constexpr std::size_t kIdleBytes = std::size_t{64} << 20;  // fresh pages would count as the cost of reading

/// Reads of one probe, a block of memory for each that may be under way.
class Probe {
  public:
    Probe(const DataFile& file, std::span<const std::uint64_t> offsets, std::uint64_t request_bytes,
          std::shared_ptr<ReadLimit> limit)
        : file_(file), offsets_(offsets), request_bytes_(request_bytes), pool_(kIdleBytes), faults_(std::move(limit)) {}

    void run_one_by_one() {
        for (const std::uint64_t offset : offsets_) {
            ReadBlock block(extent_at(offset), file_.alignment(), pool_);
            read_block(file_, block, faults_, counters_);
            num_bytes_ += block.filled();
        }
    }

    void run_on(Uring& ring) {
        std::vector<std::unique_ptr<ReadBlock>> blocks(ring.depth());
        std::vector<std::uint64_t> idle(ring.depth());
        for (std::uint64_t i = 0; i < idle.size(); ++i) idle[i] = i;
        try {
            read_on(ring, blocks, idle);
        } catch (...) {
            ring.drain();  // before the blocks go
            throw;
        }
    }

    [[nodiscard]] std::uint64_t num_bytes() const noexcept { return num_bytes_; }

  private:
    void read_on(Uring& ring, std::vector<std::unique_ptr<ReadBlock>>& blocks, std::vector<std::uint64_t>& idle) {
        std::vector<Uring::Completion> completions;
        std::size_t next = 0;
        while (next < offsets_.size() || ring.num_pending() > 0) {
            for (; next < offsets_.size() && !idle.empty(); ++next) {
                const std::uint64_t slot = idle.back();
                idle.pop_back();
                blocks[slot] = std::make_unique<ReadBlock>(extent_at(offsets_[next]), file_.alignment(), pool_);
                ring.queue_read(file_.descriptor(), offsets_[next], blocks[slot]->room(), slot);
            }
            completions.clear();
            ring.wait(completions);
            for (const Uring::Completion& done : completions) {
                if (done.result < 0)
                    throw_storage_error(ErrorCode::read_failed, "read a probe file", file_.path(), -done.result);
                num_bytes_ += static_cast<std::uint64_t>(done.result);
                idle.push_back(done.token);
            }
        }
    }

    [[nodiscard]] Extent extent_at(std::uint64_t offset) const { return {0, offset, request_bytes_}; }

    const DataFile& file_;
    const std::span<const std::uint64_t> offsets_;
    const std::uint64_t request_bytes_;
    BufferPool pool_;
    ReadFaults faults_;
    ReadCounters counters_;
    std::uint64_t num_bytes_ = 0;
};

}  // namespace

ProbedReads probe_reads(const std::string& path, std::span<const std::uint64_t> offsets, std::uint64_t request_bytes,
                        unsigned depth, Caching caching, std::shared_ptr<ReadLimit> limit) {
    const DataFile file(path, caching);
    int refusal = 0;
    const std::unique_ptr<Uring> ring = depth > 1 && limit == nullptr ? Uring::open(depth, refusal) : nullptr;
    Probe probe(file, offsets, request_bytes, std::move(limit));
    const double wall_begin = seconds_of(CLOCK_MONOTONIC);
    const double cpu_begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    if (ring != nullptr) {
        probe.run_on(*ring);
    } else {
        probe.run_one_by_one();
    }
    return {seconds_of(CLOCK_MONOTONIC) - wall_begin, seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu_begin,
            probe.num_bytes(), file.is_direct(), ring != nullptr};
}

}  // namespace penstock
