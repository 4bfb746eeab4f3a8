// What passes between the stages of the pipeline: reads to be done, and samples whose bytes have come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/batch.h"
#include "engine/memory_account.h"
#include "engine/sample_table.h"
#include "storage/extents.h"
#include "storage/read_block.h"

namespace penstock {

class PieceJoin;

/// One read, and the samples that it serves: samples of a batch, or samples that are read ahead of their batch. An
/// extent of length 0 is the whole file.
struct Fetch {
    std::shared_ptr<Batch> batch = nullptr;  ///< that it was asked for with
    Extent extent = {};
    std::vector<std::uint32_t> positions = {};  ///< in the batch
    std::vector<std::uint64_t> ahead = {};      ///< ids, in no batch's name
    std::uint32_t first_piece = 0;              ///< of a block: those before are in memory
    std::uint32_t num_pieces = 0;               ///< of a block: the end of those that are read; 0: no block
    std::shared_ptr<PieceJoin> join = nullptr;  ///< of one part of a sample of a block that is read alone
    std::size_t join_at = 0;                    ///< where in the joined sample the part goes
    /// Parts that are read one after the other and joined, if not empty; `extent` then names the file of the image.
    std::vector<Extent> parts = {};
};

/// One field of a sample that was decoded for the cache: its pixels row by row, or the same encoded again.
struct KeptField {
    ByteView data;
    const Codec* codec = nullptr;  ///< null for pixels
    PixelShape shape;
};

/// Encoded bytes of one or several samples, and where in their file they stand.
struct SampleBytes {
    Extent extent;
    ByteView data;  ///< shorter than the extent if the file ended before it
    /// Number of first pieces of the image that are joined in `data` with the sample's other fields; 1 if its fields
    /// lie in several files, and 0 if `data` is not a joined sample.
    std::uint32_t num_joined = 0;
    /// Fields of `data`, if it is one sample that is no longer as it was read; empty otherwise.
    std::span<const KeptField> kept = {};

    /// Returns the available part of the file's bytes [offset, offset + length).
    [[nodiscard]] ByteView part(std::uint64_t offset, std::uint64_t length) const noexcept {
        const std::uint64_t begin = std::min<std::uint64_t>(offset - extent.offset, data.size());
        return data.subspan(begin, std::min<std::uint64_t>(length, data.size() - begin));
    }
};

/// Bytes that have come; samples of one read share them, and the memory goes back with the last of them.
struct Fetched {
    Fetched(MemoryLease memory, const Extent& extent, std::uint64_t alignment, BufferPool& pool)
        : lease(std::move(memory)), block(extent, alignment, pool) {}

    MemoryLease lease;
    ReadBlock block;
    SampleBytes bytes;  ///< of the block, once it is read
};

/// A sample that can be decoded.
struct ReadySample {
    std::shared_ptr<Batch> batch;
    std::uint32_t position = 0;
    std::shared_ptr<const SampleBytes> bytes;
};

/// Returns the place of the record of a sample: all its fields, side by side. Length 0 means a whole file.
[[nodiscard]] Extent record_extent(const SampleTable& table, std::uint64_t id);

/// Limits for merging reads; see `plan_reads`.
struct ReadGrid {
    std::uint64_t alignment = 1;
    std::uint64_t max_bytes = 0;
};

/// The reads that a batch (or some places of it) takes.
[[nodiscard]] std::vector<Fetch> plan_fetches(const std::shared_ptr<Batch>& batch, const SampleTable& table,
                                              const std::vector<std::uint32_t>& positions, const ReadGrid& grid);

/// The reads that bring samples into memory ahead of their batches.
[[nodiscard]] std::vector<Fetch> plan_ahead(const std::shared_ptr<Batch>& batch, const SampleTable& table,
                                            const std::vector<std::uint64_t>& ids, const ReadGrid& grid);

/// A sample of a block that is read ahead: the pieces of its picture before `first_piece` are in memory.
struct BlockWish {
    std::uint64_t id = 0;
    std::uint32_t first_piece = 0;
};

/// One read for each block, or each part of it that is missing.
[[nodiscard]] std::vector<Fetch> plan_blocks_ahead(const std::shared_ptr<Batch>& batch, const SampleTable& table,
                                                   std::vector<BlockWish> wishes);

/// The reads of one sample of a block without its block: its pieces, and its other fields.
[[nodiscard]] std::vector<Fetch> plan_alone(const std::shared_ptr<Batch>& batch, const SampleTable& table,
                                            std::uint32_t position);

}  // namespace penstock
