// The loader's pipeline: batches of ids in, batches of pixels out. Readers, decoders and the memory between them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/batch.h"
#include "engine/process_bound.h"
#include "engine/read_stage.h"
#include "engine/sample_decoder.h"
#include "engine/sample_table.h"
#include "engine/tally.h"

namespace penstock {

/// Bytes for each kind of use; together they are the working memory, batches that the caller was given left aside.
struct PipelineMemory {
    std::size_t read_bytes = std::size_t{64} << 20;    ///< encoded samples read and not yet decoded
    std::size_t scratch_bytes = std::size_t{1} << 30;  ///< decoded samples on their way, all threads together
    std::size_t idle_bytes = std::size_t{256} << 20;   ///< batches given back, kept for the next ones
    std::size_t cache_bytes = 0;                       ///< samples that stay between epochs
};

struct PipelineOptions {
    std::size_t num_threads = 0;  ///< that decode; 0 means `usable_cores()`
    Caching caching = Caching::system;
    ReadOptions reading;
    SampleOptions samples;
    PipelineMemory memory;
};

/// Counters of the pipeline. Seconds are summed over all threads of a stage.
struct PipelineStats {
    std::uint64_t bytes_read = 0;
    std::uint64_t num_reads = 0;
    std::uint64_t num_retries = 0;
    std::uint64_t num_decoded = 0;
    std::uint64_t num_hits = 0;           ///< samples that were in memory
    std::uint64_t cache_bytes = 0;        ///< held now
    std::uint64_t num_unkept = 0;         ///< samples that should have been kept and did not fit
    std::uint64_t num_recoded = 0;        ///< samples that were decoded whole to stay as pixels, or encoded again
    std::uint64_t num_decodes_saved = 0;  ///< samples that were served from those
    std::uint64_t num_unfit = 0;          ///< samples that could not be kept so, or not in the room planned for them
    double read_busy_seconds = 0;
    double read_wait_seconds = 0;
    double decode_busy_seconds = 0;
    double decode_wait_seconds = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t peak_memory_bytes = 0;
    const char* io_engine = "";
    bool io_direct = false;
    int uring_refusal = 0;
};

/// Any thread may call anything but `submit` and `resubmit`, which one thread at a time may. A batch always ends: well,
/// with failures, or by an error of `wait_for`. In a forked child every call throws `forked`; closing and destroying
/// are harmless.
class Pipeline {
  public:
    /// The table's columns must outlive the pipeline.
    Pipeline(SampleTable table, TransformProgram program, const PipelineOptions& options);
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    /// Starts work on a batch and returns at once. Batches are worked on in the order they came, and memory is as if
    /// each had ended before the next came: a batch waits for a sample that an earlier one will keep, and samples that
    /// an earlier one drops are gone. Throws `bad_argument` for samples that the table does not have.
    [[nodiscard]] std::shared_ptr<Batch> submit(BatchWish wish);
    /// Starts work on other samples in some places of a batch that is done.
    void resubmit(const std::shared_ptr<Batch>& batch, const std::vector<std::size_t>& positions,
                  const std::vector<std::uint64_t>& ids);
    /// Waits until the batch is done, at most `timeout`; true if it is. Throws `cancelled` once the pipeline is closed,
    /// and what a thread died of if one did.
    [[nodiscard]] bool wait_for(const Batch& batch, std::chrono::milliseconds timeout);

    /// Stops the threads, and waits for the read and the decode that each is running. Threads that wait for a batch get
    /// an error. The destructor does the same.
    void close() noexcept;

    /// Returns a new tally for batches to count in; `stats` adds it to the others.
    [[nodiscard]] std::shared_ptr<Tally> open_tally();

    /// Returns the number of samples that failed so far, without those of cancelled batches.
    [[nodiscard]] std::uint64_t num_failed() const;
    /// Forgets what is kept between epochs.
    void clear_cache();
    /// Forgets all of it but these samples.
    void retain_cache(const std::vector<std::uint64_t>& ids);

    /// Returns the bytes that the cache holds of each of these samples; 0 for those it does not hold.
    [[nodiscard]] std::vector<std::uint64_t> kept_bytes(const std::vector<std::uint64_t>& ids) const;

    /// Returns the counters, without the work of the batches that count in `without`.
    [[nodiscard]] PipelineStats stats(const Tally* without = nullptr) const;
    [[nodiscard]] ReadFaults& faults();

  private:
    struct State;
    ProcessBound<State> state_;
};

}  // namespace penstock
