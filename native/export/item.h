// One file of an export: a text, or an image of the dataset given back as its source was, as far as its format can.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "codecs/codec.h"
#include "records/source_files.h"

namespace penstock {

/// File to write, and its name.
struct ExportItem {
    std::string name;            ///< relative path, or name of a tar's member
    std::string text;            ///< the content, if `place` is absent
    Place place;                 ///< of the stored bytes; metadata follows them directly
    std::uint32_t checksum = 0;  ///< CRC-32C of the stored bytes
    std::int64_t metadata_length = 0;
    enum class Way : std::uint8_t { as_stored = 0, encode = 1, as_jpeg = 2 };
    Way way =
        Way::as_stored;  ///< `encode`: pixels as the export's format; `as_jpeg`: a `pjpeg` as other programs read it
    Pieces pieces;       ///< if the image stands in a block
};

/// Items, and the format of those that are encoded.
struct ExportPlan {
    std::shared_ptr<const SourceFiles> files;  ///< the shards
    std::vector<ExportItem> items;
    const Codec* codec = nullptr;
    Parameters parameters;
    std::uint64_t max_pixels = DecodeOptions{}.max_pixels;  ///< of an image that is decoded
};

/// Counters of the progress. Any thread may read them.
class ExportCounters {
  public:
    void count_bytes(std::size_t bytes) noexcept { num_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
    void count_dropped(const std::vector<std::string>& tags);

    [[nodiscard]] std::uint64_t num_bytes() const noexcept { return num_bytes_.load(std::memory_order_relaxed); }
    /// Metadata that a file could not hold: how often, by tag.
    [[nodiscard]] std::map<std::string, std::uint64_t> dropped() const;

  private:
    std::atomic<std::uint64_t> num_bytes_{0};
    mutable std::mutex mutex_;
    std::map<std::string, std::uint64_t> dropped_;
};

/// The content of an item. Throws `checksum` if the stored bytes are not those that were written, with their place.
[[nodiscard]] ByteBuffer make_content(const ExportPlan& plan, const ExportItem& item, ExportCounters& counters);

}  // namespace penstock
