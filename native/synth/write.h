// A whole procedural dataset: rendered, encoded and published on the pool's threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "codecs/codec.h"
#include "engine/thread_pool.h"
#include "synth/spec.h"

namespace penstock::synth {

/// Folders and format of the images. Image 42 of class 7 becomes `images_folder`/class007/000042`extension`. Its mask
/// becomes `masks_folder`/class007/000042.png, unless `masks_folder` is empty. The class folders must exist.
struct Target {
    std::string images_folder;
    std::string masks_folder;
    std::string extension;
    const Codec* codec = nullptr;
    Parameters parameters;
};

/// A dataset under way.
struct Writing {
    std::shared_ptr<Job> job;                                     ///< a task per image
    std::shared_ptr<const std::atomic<std::uint64_t>> num_bytes;  ///< published so far, masks included
};

/// Starts writing images 0 to `num_images` - 1. A file is published whole or not at all; its bytes depend neither on
/// the number of threads nor on the other images. The first error ends the job.
[[nodiscard]] Writing start_writing(ThreadPool& pool, const Spec& spec, std::uint64_t num_images, Target target);

}  // namespace penstock::synth
