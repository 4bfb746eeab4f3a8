// Training of Sluice's tables on some images of a source, on the pool's threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "codecs/sluice_transcode.h"
#include "engine/thread_pool.h"
#include "records/source_files.h"

namespace penstock {

struct TableTraining {
    std::shared_ptr<Job> job;
    std::shared_ptr<const sluice::Training> training;  ///< complete once the job has ended
};

/// Starts counting the symbols of the images at these places. Images that cannot be read, or that Sluice does not take,
/// are left out: the conversion will report them. The result does not depend on the number of threads.
[[nodiscard]] TableTraining start_training(ThreadPool& pool, std::shared_ptr<const SourceFiles> files,
                                           std::vector<Place> places, std::uint64_t max_pixels);

}  // namespace penstock
