// How fast a disk serves a pattern of reads: what `penstock profile` measures with. Bytes are read and thrown away.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "storage/data_files.h"
#include "storage/read_limit.h"

namespace penstock {

struct ProbedReads {
    double wall_seconds = 0;
    double cpu_seconds = 0;  ///< of the calling thread, system calls included
    std::uint64_t num_bytes = 0;
    bool is_direct = false;  ///< whether the page cache was passed by
    bool used_ring = false;  ///< false: one read after the other, whatever `depth` asked for
};

/// Reads `request_bytes` at each of `offsets` of a file, `depth` requests under way, each as soon as there is room.
///
/// Offsets and `request_bytes` are multiples of 4096 and lie inside the file. With a `limit`, reads keep to
/// it, one after the other. Throws `open_failed`, `read_failed`.
[[nodiscard]] ProbedReads probe_reads(const std::string& path, std::span<const std::uint64_t> offsets,
                                      std::uint64_t request_bytes, unsigned depth, Caching caching,
                                      std::shared_ptr<ReadLimit> limit = nullptr);

}  // namespace penstock
