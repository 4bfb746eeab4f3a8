// Samples that stand in blocks: which pieces a fidelity takes, where they are, and one sample's bytes out of a block's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "engine/fetch.h"
#include "engine/sample_table.h"

namespace penstock {

/// The first and one behind the last of some pieces of a picture.
struct PieceRange {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

/// Returns the number of pieces of a sample's image that hold `fidelity` scans, rounded up to the next stored group; 0
/// means all.
[[nodiscard]] std::uint32_t pieces_for(const SampleTable& table, std::uint64_t id, std::uint32_t fidelity);

/// Returns the bytes to read of a block for these pieces of its images. If they start with the first piece, the
/// records' other fields are included.
[[nodiscard]] Extent block_extent(const SampleTable& table, std::uint64_t id, PieceRange pieces);

/// Bytes of these pieces of a sample's picture.
[[nodiscard]] std::size_t pieces_bytes(const SampleTable& table, std::uint64_t id, PieceRange pieces);

/// Bytes of a sample's other fields, which stand before its picture where both are joined.
[[nodiscard]] std::size_t other_bytes(const SampleTable& table, std::uint64_t id);

/// Copies pieces out of what was read of their block. Throws `read_failed` if they are not all there.
void copy_pieces(const SampleTable& table, std::uint64_t id, PieceRange pieces, const SampleBytes& block,
                 std::uint8_t* out);

/// Returns the places of the images of a sample whose fields are in several files, in the order of a joined sample.
[[nodiscard]] std::vector<Extent> field_parts(const SampleTable& table, std::uint64_t id);

/// A sample's other fields and first pieces, joined, out of what was read of its block; padded for `OwnSample`.
[[nodiscard]] ByteBuffer join_sample(const SampleTable& table, std::uint64_t id, std::uint32_t num_pieces,
                                     const SampleBytes& block);

/// A joined sample with the pieces that follow those it has, up to `num_pieces`.
[[nodiscard]] ByteBuffer extend_sample(const SampleTable& table, std::uint64_t id, const SampleBytes& joined,
                                       std::uint32_t num_pieces, const SampleBytes& block);

/// Returns the places of the parts of a joined sample, in its order: what to read for one sample without its block.
[[nodiscard]] std::vector<Extent> sample_parts(const SampleTable& table, std::uint64_t id, std::uint32_t num_pieces);

}  // namespace penstock
