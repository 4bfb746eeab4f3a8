// The reading stage: fetches in, samples with their bytes out. One thread on an io_uring where the bytes lie in files
// and the kernel allows it, else several that block in reads of the store. Memory is leased before a read is asked for.
// Reads count in the tally of the batch that they are for.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/fetch.h"
#include "engine/memory_account.h"
#include "engine/queue.h"
#include "engine/stage_clock.h"
#include "storage/data_files.h"
#include "storage/read_faults.h"
#include "storage/reading.h"
#include "storage/uring.h"

namespace penstock {

struct ReadOptions {
    std::size_t num_readers = 4;  ///< threads, where there is no ring
    bool allow_uring = true;      ///< false forces threads, for tests and comparisons
    unsigned ring_depth = 32;
    std::shared_ptr<ReadLimit> limit;  ///< a slower disk; null for the one there is
};

/// Callbacks of the stage for a finished fetch, called from its threads. They must not throw, because threads that wait
/// for a sample of the fetch would wait for ever.
struct ReadSink {
    std::function<void(const Fetch&, const std::shared_ptr<const SampleBytes>&)> read;
    std::function<void(const Fetch&, const std::exception_ptr&)> failed;
    std::function<void(const Fetch&)> dropped;  ///< the batch was cancelled
};

class ReadStage {
  public:
    /// `whole_files` says that fetches are files to be opened, read and closed: those go to threads, because opening
    /// blocks too.
    ReadStage(ByteStore& files, MemoryAccount& memory, bool whole_files, const ReadOptions& options, ReadSink sink);

    /// Threads that must call `run`.
    [[nodiscard]] std::size_t num_threads() const noexcept { return uses_ring_ ? 1 : num_readers_; }
    /// The work of one of them, until `close`.
    void run();

    /// Takes the fetch, unless there is no memory for it: then the caller still has it.
    void push(Fetch&& fetch) { (void)fetches_.push(std::move(fetch)); }
    void close();

    /// "uring", "pread", or "store" if the bytes come from elsewhere.
    [[nodiscard]] const char* engine_name() const noexcept { return uses_ring_ ? "uring" : files_.engine_name(); }
    /// The errno with which a ring was refused; 0 if it was not, or not asked for.
    [[nodiscard]] int ring_refusal() const noexcept { return ring_refusal_; }
    [[nodiscard]] const StageClock& clock() const noexcept { return clock_; }
    [[nodiscard]] ReadFaults& faults() noexcept { return faults_; }

  private:
    class RingRun;

    void run_thread();
    [[nodiscard]] Extent extent_in(const ByteFile& file, const Extent& wish) const;
    void check_room(std::size_t bytes, const std::string& path) const;
    [[nodiscard]] std::shared_ptr<Fetched> room_for(const ByteFile& file, const Extent& extent, bool may_wait);
    void read_now(const Fetch& fetch, StageWatch& watch);
    [[nodiscard]] std::shared_ptr<Fetched> read_parts(const Fetch& fetch, StageWatch& watch);
    void deliver(const Fetch& fetch, const std::shared_ptr<Fetched>& bytes);

    ByteStore& files_;
    MemoryAccount& memory_;
    const bool whole_files_;
    const std::size_t num_readers_;
    const ReadSink sink_;
    BoundedQueue<Fetch> fetches_;
    std::unique_ptr<Uring> ring_;
    bool uses_ring_ = false;
    int ring_refusal_ = 0;
    BufferPool pool_;
    ReadFaults faults_;
    StageClock clock_;
};

}  // namespace penstock
