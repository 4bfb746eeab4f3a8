// Places of the samples of a dataset or folder: columns by id. The views belong to the maker of the table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codecs/codec.h"
#include "storage/data_files.h"

namespace penstock {

/// One image of every sample: the picture itself, or a mask of it.
struct FieldColumns {
    bool is_mask = false;
    std::span<const std::uint32_t> file;      ///< empty: sample i is file i
    std::span<const std::uint64_t> offset;    ///< empty: files are read whole
    std::span<const std::uint64_t> length;    ///< as `offset`
    std::span<const std::uint32_t> checksum;  ///< CRC-32C of the encoded bytes; empty if unknown
    std::span<const std::uint8_t> codec;      ///< index into `SampleTable::codecs`; empty: content decides

    [[nodiscard]] bool is_whole_file() const noexcept { return offset.empty(); }
    [[nodiscard]] std::uint32_t file_of(std::uint64_t id) const noexcept {
        return file.empty() ? static_cast<std::uint32_t>(id) : file[id];
    }
};

/// The pieces of pictures that stand in blocks (spec/dataset.md, "Blocks"), and the blocks. All empty without any.
struct BlockColumns {
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    std::span<const std::uint64_t>
        piece_begin;  ///< picture i has the pieces from piece_begin[i] up to piece_begin[i + 1]
    std::span<const std::uint64_t> piece_offset;
    std::span<const std::uint64_t> piece_length;
    std::span<const std::uint32_t> piece_checksum;
    std::span<const std::uint32_t> of_sample;   ///< number of a sample's block; `kNone` if its picture is whole
    std::span<const std::uint64_t> edge_begin;  ///< block b has the edges from edge_begin[b] up to edge_begin[b + 1]
    std::span<const std::uint64_t> edges;  ///< the first byte that a loader wants of it, then the end of each group
    std::vector<std::vector<std::uint32_t>> scans;  ///< by codec's number: scans that so many pieces have, ascending
};

/// Form of a sample in the cache.
enum class KeptAs : std::uint8_t { encoded = 0, pixels = 1, weir = 2 };

/// Forms of samples in the cache. If both are empty, samples stay encoded, as they were read.
struct KeptColumns {
    std::span<const std::uint8_t> form;   ///< a `KeptAs`
    std::span<const std::uint64_t> room;  ///< bytes that were planned for it, never exceeded; unused where encoded
};

struct SampleTable {
    std::uint64_t num_samples = 0;
    FileNames files;
    std::vector<const Codec*> codecs;
    std::vector<FieldColumns> fields;  ///< the picture first
    BlockColumns blocks;
    KeptColumns kept;
    /// The images of a sample lie in several files: each is read by itself, and they are joined as those of a block
    /// are.
    bool fields_apart = false;
    /// The store that bytes are read from; null for local files of the names in `files`.
    std::shared_ptr<ByteStore> store;

    [[nodiscard]] KeptAs kept_as(std::uint64_t id) const noexcept {
        return kept.form.empty() ? KeptAs::encoded : static_cast<KeptAs>(kept.form[id]);
    }
    [[nodiscard]] bool is_in_block(std::uint64_t id) const noexcept {
        return !blocks.of_sample.empty() && blocks.of_sample[id] != BlockColumns::kNone;
    }
};

}  // namespace penstock
