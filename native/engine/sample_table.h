// Where the samples of a dataset or folder are: columns by id. Views; whoever made the table keeps them alive.
#pragma once

#include <cstdint>
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
    std::span<const std::uint32_t> checksum;  ///< CRC-32C of the encoded bytes; empty: there is none
    std::span<const std::uint8_t> codec;      ///< index into `SampleTable::codecs`; empty: content decides

    [[nodiscard]] bool is_whole_file() const noexcept { return offset.empty(); }
    [[nodiscard]] std::uint32_t file_of(std::uint64_t id) const noexcept {
        return file.empty() ? static_cast<std::uint32_t>(id) : file[id];
    }
};

struct SampleTable {
    std::uint64_t num_samples = 0;
    FileNames files;
    std::vector<const Codec*> codecs;
    std::vector<FieldColumns> fields;  ///< the picture first
};

}  // namespace penstock
