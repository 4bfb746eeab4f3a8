// What a build notes of a finished shard: a row per stored image, in a work file beside the shard. The index is made
// of these rows, and a build that was killed goes on behind the last of them. Not a part of a finished dataset.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "records/store.h"

namespace penstock {

/// An image field of a sample, as it lies in the shard. `penstock.build.rows` reads the same bytes.
struct Row {
    std::int64_t id = 0;
    std::int64_t offset = 0;
    std::int64_t length = 0;
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::uint32_t checksum = 0;
    std::uint32_t metadata_length = 0;
    std::array<std::uint8_t, 16> pixels{};
    std::array<char, 8> codec{};  ///< of the stored bytes; zero bytes at the end
    std::uint16_t field = 0;
    std::uint8_t origin = 0;
    std::uint8_t channels = 0;
    std::uint8_t bits = 0;
    std::uint8_t orientation = 1;
    std::uint8_t has_pixels = 0;
    std::uint8_t num_pieces = 0;  ///< 0: whole
};
static_assert(sizeof(Row) == 72);

/// A piece of an image that stands in a block.
struct Piece {
    std::int64_t offset = 0;
    std::int64_t length = 0;
    std::uint32_t checksum = 0;
    std::uint32_t unused = 0;
};
static_assert(sizeof(Piece) == 24);

/// A sample that was left out, and why.
struct Skip {
    std::int64_t id = 0;
    std::string reason;
};

/// Facts about one shard.
struct ShardNotes {
    std::uint64_t num_samples = 0;  ///< of the order, those left out included
    std::uint64_t num_records = 0;
    std::uint64_t shard_bytes = 0;
    std::uint32_t shard_checksum = 0;
    std::vector<Row> rows;
    std::vector<Piece> pieces;  ///< of the rows that have any, in their order
    std::vector<Skip> skips;
    std::vector<Skip> fallbacks;  ///< JPEGs that shards of `jpeg` hold, because `sluice` cannot restore them
    std::map<std::string, std::uint64_t> metadata_kept;
    std::map<std::string, std::uint64_t> metadata_dropped;
};

/// The content of a work file:
///
///    0  8  "PENROWS2"            32  4  CRC-32C of the shard
///    8  8  samples consumed      36  4  bytes of the notes
///   16  8  bytes of the shard    40  …  rows, 72 bytes each
///   24  4  rows                       …  notes: lines "kept TAG COUNT", "dropped TAG COUNT", "skipped ID REASON",
///                                     "fallback ID REASON"
///   28  4  records                    4  CRC-32C of everything before
///
/// and between rows and notes the pieces, 24 bytes each.
[[nodiscard]] ByteBuffer serialise(const ShardNotes& notes);

}  // namespace penstock
