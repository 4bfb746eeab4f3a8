// The headers of many images, read on the pool's threads: what a plan's rules ask for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "codecs/codec.h"
#include "engine/thread_pool.h"
#include "records/source_files.h"

namespace penstock {

/// Header of one image; zeros and no codec if it cannot be read.
struct Header {
    PixelShape shape{0, 0, 0, 0};
    const Codec* codec = nullptr;
};

struct Inspecting {
    std::shared_ptr<Job> job;
    std::shared_ptr<const std::vector<Header>> headers;  ///< valid once the job has ended
};

/// Starts reading the headers at these places. An image that cannot be read gives an empty header and no error: the
/// conversion will report the problem.
[[nodiscard]] Inspecting start_inspect(ThreadPool& pool, std::shared_ptr<const SourceFiles> files,
                                       std::vector<Place> places);

}  // namespace penstock
