// Stored images held against their index: bytes by checksum, pixels by hash.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/thread_pool.h"
#include "records/source_files.h"

namespace penstock {

/// Values that the index has for one stored image.
struct Expected {
    Place place;
    std::uint32_t metadata_length = 0;
    std::uint32_t checksum = 0;
    PixelShape shape;
    bool has_pixels = false;
    bool palette_indices = false;
    Pieces pieces;
    std::array<std::uint8_t, 16> pixels{};
};

/// Problems found so far, by the number of the image. Safe from many threads.
class Findings {
  public:
    void add(std::size_t index, std::string problem) {
        const std::lock_guard lock(mutex_);
        problems_[index] = std::move(problem);
    }
    [[nodiscard]] std::map<std::size_t, std::string> get() const {
        const std::lock_guard lock(mutex_);
        return problems_;
    }

  private:
    mutable std::mutex mutex_;
    std::map<std::size_t, std::string> problems_;
};

struct Checking {
    std::shared_ptr<Job> job;
    std::shared_ptr<const Findings> findings;
};

/// Starts checking every image: its bytes, its metadata, and with `decode` its pixels. A Sluice image is also restored
/// to the JPEG that it was made from. A damaged image is a finding,
/// not an error; so is one of more than `max_pixels`, whatever the index says.
[[nodiscard]] Checking start_check(ThreadPool& pool, std::shared_ptr<const SourceFiles> files,
                                   std::vector<Expected> images, bool decode, std::uint64_t max_pixels);

}  // namespace penstock
