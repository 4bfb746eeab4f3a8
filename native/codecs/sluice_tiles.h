// The tiles of a Sluice file one by one: checksum, parse, decode. What pixels and restoration have in common.
#pragma once

#include <array>
#include <span>

#include "base/buffer.h"
#include "codecs/sluice.h"
#include "codecs/sluice_layers.h"

namespace penstock::sluice {

/// Decodes tiles of one file into coefficients. Keeps references to its arguments.
class TileReader {
  public:
    struct Options {
        bool verify = true;
        bool plain = false;
        BufferPool* pool = nullptr;
    };

    TileReader(ByteView data, const Header& header, const Index& index, const Options& options);

    /// Decodes tile (x, y), with all layers that are in the data. Throws `checksum` or `corrupt`.
    void decode(std::uint32_t tile_x, std::uint32_t tile_y);

    /// Groups of the tile that was decoded last, and their coefficients.
    [[nodiscard]] std::span<const TileGroup> groups() const noexcept { return {groups_.data(), num_groups_}; }
    [[nodiscard]] const jpeg::CoefficientGroup& coefficients(std::size_t group) const noexcept {
        return coefficients_[group];
    }

    /// Bytes of working memory for tiles of so many groups.
    static constexpr std::size_t working_bytes(std::size_t num_groups) noexcept {
        return num_groups * (sizeof(jpeg::CoefficientGroup) + sizeof(GroupScratch));
    }

  private:
    void decode_segment(std::uint32_t tile, unsigned layer);
    ByteView with_slack(ByteView segment);

    ByteView data_;
    const Header& header_;
    const Index& index_;
    bool verify_;
    DecodeTile decode_tile_;
    LayerDecoders layers_;
    std::array<TileGroup, kMaxGroups> groups_{};
    std::size_t num_groups_ = 0;
    PoolBlock memory_;
    jpeg::CoefficientGroup* coefficients_;
    GroupScratch* scratch_;
    ByteBuffer tail_;
};

}  // namespace penstock::sluice
