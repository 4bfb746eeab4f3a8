#include "codecs/sluice_tiles.h"

#include <bit>
#include <cstring>
#include <string>
#include <string_view>

#include "base/crc32c.h"
#include "base/error.h"

namespace penstock::sluice {

namespace {

std::string_view fault_text(TileFault fault) {
    switch (fault) {
        case TileFault::none: break;
        case TileFault::lengths: return "has parts that do not fill it";
        case TileFault::state: return "has a state that is too small";
        case TileFault::words: return "has too few or too many words";
        case TileFault::raw: return "has too few or too many raw bits";
        case TileFault::escape: return "has a magnitude that is too large";
        case TileFault::counts: return "has a block with another number of coefficients than it says";
        case TileFault::end: return "does not end where an encoder begins";
    }
    return "is damaged";
}

[[noreturn]] void refuse_tile(std::uint32_t tile, unsigned layer, std::string_view what, ErrorCode code) {
    const std::string place = (layer == 0 ? "tile " : "layer 2 of tile ") + std::to_string(tile);
    throw Error(code, place + " " + std::string(what), place + " of the sluice data",
                "the file is damaged: restore it from its source");
}

}  // namespace

TileReader::TileReader(ByteView data, const Header& header, const Index& index, const Options& options)
    : data_(data),
      header_(header),
      index_(index),
      verify_(options.verify),
      decode_tile_(options.plain ? decode_tile_plain : active_decode_tile()),
      layers_(options.plain ? LayerDecoders{} : active_layer_decoders()),
      memory_(working_bytes(header.layout.max_groups()),
              options.pool != nullptr ? *options.pool : BufferPool::shared()),
      coefficients_(reinterpret_cast<jpeg::CoefficientGroup*>(memory_.data())),
      scratch_(reinterpret_cast<GroupScratch*>(coefficients_ + header.layout.max_groups())) {}

void TileReader::decode(std::uint32_t tile_x, std::uint32_t tile_y) {
    const std::uint32_t tile = tile_y * header_.layout.tiles_across() + tile_x;
    num_groups_ = header_.layout.groups_of(tile_x, tile_y, groups_.data());
    decode_segment(tile, 0);
    if (header_.num_layers == 1) return;
    if (index_.num_layers() == 1) {
        layers_.widen(coefficients_, num_groups_, header_.layer_bits);
    } else {
        decode_segment(tile, 1);
    }
}

void TileReader::decode_segment(std::uint32_t tile, unsigned layer) {
    const std::uint32_t number = layer * header_.layout.tiles() + tile;
    const ByteView segment = with_slack(index_.segment(number));
    if (verify_ && crc32c(segment) != index_.checksum(number)) {
        refuse_tile(tile, layer, "does not match its checksum", ErrorCode::checksum);
    }
    std::size_t num_lanes = 0;
    for (const TileGroup& group : groups()) num_lanes += static_cast<std::size_t>(std::popcount(group.active));
    const TableSet& tables = index_.tables();
    TileJob job;
    TileFault fault = parse_segment(segment, num_lanes, job.parts);
    if (fault == TileFault::none) {
        job.tables = layer == 0 ? &tables.decode() : &tables.refinement().decode();
        job.groups = groups_.data();
        job.num_groups = num_groups_;
        job.out = coefficients_;
        job.scratch = scratch_;
        fault = layer == 0 ? decode_tile_(job) : layers_.refine(job, header_.layer_bits);
    }
    if (fault != TileFault::none) refuse_tile(tile, layer, fault_text(fault), ErrorCode::corrupt);
}

// Segments near the end of the file have too few bytes behind them for code that reads ahead.
ByteView TileReader::with_slack(ByteView segment) {
    const auto behind = static_cast<std::size_t>(data_.data() + data_.size() - (segment.data() + segment.size()));
    if (behind >= kSegmentSlack) return segment;
    tail_.resize(segment.size() + kSegmentSlack);
    std::memcpy(tail_.data(), segment.data(), segment.size());
    std::memset(tail_.data() + segment.size(), 0, kSegmentSlack);
    return tail_.view().first(segment.size());
}

}  // namespace penstock::sluice
