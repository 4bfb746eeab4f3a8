// The native part of a build: the samples of one format, read, converted and checked on the pool's threads, written in
// order into shards. The same bytes whatever the number of threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/thread_pool.h"
#include "records/source_files.h"
#include "records/store.h"

namespace penstock {

/// One image field of all samples, and what becomes of it.
struct FieldBuild {
    std::vector<Place> places;  ///< in the order of `ShardBuild::ids`
    Target target;
};

/// Names and size of shards.
struct ShardNames {
    std::string shards_folder;
    std::string work_folder;
    std::string stem;                ///< "weir-fast" gives weir-fast-00000.shard
    std::uint32_t first_number = 0;  ///< of the first shard to write
    std::uint64_t shard_bytes = 0;   ///< a shard ends before it would exceed this, unless it holds one record only
    std::size_t block_records = 0;   ///< records that are interleaved piece by piece; 0: each is written whole
    std::array<std::uint8_t, 16> identity{};
    Durability durability = Durability::power_cut;
};

struct ShardBuild {
    std::shared_ptr<const SourceFiles> files;
    std::vector<std::int64_t> ids;   ///< of the samples, in the order in which they are written
    std::vector<FieldBuild> fields;  ///< `image` first: a record's order
    ShardNames names;
    bool skip_errors = false;
    bool keep_source = false;  ///< stores the source's bytes of field 0 too, as a field behind the others
    std::uint64_t max_pixels = std::uint64_t{1} << 28;
};

struct BuildCounters {
    std::atomic<std::uint64_t> source_bytes{0};
    std::atomic<std::uint64_t> stored_bytes{0};
    std::atomic<std::uint64_t> num_shards{0};
};

/// A build under way: a task per sample.
struct Building {
    std::shared_ptr<Job> job;
    std::shared_ptr<const BuildCounters> counters;
};

/// Starts writing shards. A shard appears when it is complete and on disk, then its rows (`rows.h`) in the work folder.
/// At most one shard is being written and one is being made durable. A source that cannot be read or decoded ends the
/// job with an error that names it; with `skip_errors` it is recorded and left out.
[[nodiscard]] Building start_build(ThreadPool& pool, ShardBuild build);

}  // namespace penstock
