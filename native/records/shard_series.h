// Records in, shards out: cuts, aligns, checksums, and makes shards durable while the next one is being filled.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/thread_pool.h"
#include "records/build.h"
#include "records/rows.h"
#include "storage/append_file.h"

namespace penstock {

inline constexpr std::size_t kShardAlignment = 64;  ///< of an image field
inline constexpr std::size_t kShardPadding = 4096;  ///< of a shard's end: what O_DIRECT reads at least

/// A sample on its way into a shard; without fields it is one that was left out.
struct Record {
    std::int64_t id = 0;
    std::vector<StoredImage> fields;  ///< in their order; one without a codec is absent
    std::string problem;
    bool is_passed_on = false;  ///< left out here, because shards of `jpeg` will hold it
};

/// The shards of one format. One thread at a time.
class ShardSeries {
  public:
    ShardSeries(ShardNames names, std::shared_ptr<BuildCounters> counters);

    /// Records of a block wait until it is whole.
    void add(Record record);
    /// Call it once, after the last record: when it returns everything is on disk.
    void finish();

  private:
    struct Open {
        explicit Open(const std::string& path) : file(path) {}
        AppendFile file;
        ShardNotes notes;
    };

    [[nodiscard]] std::string name(std::uint32_t number, const char* extension) const;
    void begin();
    void end();
    void write_waiting();
    void append(const Record& record);
    void append_block(const std::vector<Record>& records);
    void append_whole(const StoredImage& image, std::int64_t id, std::size_t field);
    void note(const StoredImage& image);
    void wait_for_publishing();

    ShardNames names_;
    std::shared_ptr<BuildCounters> counters_;
    std::uint32_t number_;
    std::vector<Record> waiting_;  // of the next block, those left out included
    std::size_t num_waiting_ = 0;  // those left out not counted
    std::shared_ptr<Open> open_;   // null between shards
    ThreadPool publisher_{1};      // waits for the disk, so that no converting thread does
    std::shared_ptr<Job> publishing_;
};

}  // namespace penstock
