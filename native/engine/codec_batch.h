// Many images through one codec on the pool, and how long that took: what `penstock bench` measures.
// Results are discarded; callers have checked the pixels before.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "codecs/codec.h"
#include "engine/thread_pool.h"

namespace penstock {

struct BatchTime {
    double wall_seconds = 0;  ///< from the start of the batch to the end of its last task
    double cpu_seconds = 0;   ///< user and system time of all tasks together
};

/// A batch under way.
struct TimedBatch {
    std::shared_ptr<Job> job;
    /// Valid once `job->finish()` has returned.
    std::shared_ptr<const BatchTime> time;
};

/// Starts decoding every image `passes` times, each into a block of the shared pool that goes back at once.
///
/// The views and the codec must outlive the job. The first image that cannot be decoded ends it with that error.
[[nodiscard]] TimedBatch start_decodes(ThreadPool& pool, const Codec& codec, std::vector<ByteView> images,
                                       std::size_t passes);

/// Starts encoding every image `passes` times. As above.
[[nodiscard]] TimedBatch start_encodes(ThreadPool& pool, const Codec& codec, std::vector<ConstImageView> images,
                                       Parameters parameters, std::size_t passes);

}  // namespace penstock
