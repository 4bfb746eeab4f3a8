// `weir`: lossless, in independent tiles of 64x64 that decode data-parallel. Format: spec/weir.md.
//
// weir.h                   the layout as types, and the seam to the tile code
// weir_file.cpp            header, tables, metadata, head of a tile: all lengths checked
// weir_decode_plain.cpp    one tile, the one to read
// weir_paths.cpp           which tile code this processor runs
#include "codecs/weir.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/builtin.h"
#include "codecs/exif.h"

namespace penstock {

namespace {

std::string_view fault_text(weir::TileFault fault) {
    switch (fault) {
        case weir::TileFault::none: break;
        case weir::TileFault::head: return "has flags that do not exist";
        case weir::TileFault::lengths: return "has parts that do not fill it";
        case weir::TileFault::mode: return "has a prediction mode that does not exist";
        case weir::TileFault::code: return "has a block code that does not exist";
        case weir::TileFault::control: return "has a control part of the wrong length";
        case weir::TileFault::payload: return "has a payload of the wrong length";
        case weir::TileFault::unary: return "has a unary stream of the wrong length";
    }
    return "is damaged";
}

[[noreturn]] void refuse_tile(std::uint64_t index, std::string_view what, ErrorCode code) {
    throw Error(code, "tile " + std::to_string(index) + " " + std::string(what),
                "tile " + std::to_string(index) + " of the weir data",
                "the file is damaged: restore it from its source");
}

/// Decodes the tiles of one image that a region touches.
class TileReader {
  public:
    TileReader(ByteView data, const weir::Header& header, bool verify)
        : data_(data), header_(header), index_(data, header, verify), verify_(verify) {}

    /// Decodes tile (tile_y, tile_x) and puts the part of it that lies in `region` where it belongs in `out`.
    void decode(std::uint64_t tile_y, std::uint64_t tile_x, const Region& region, ImageView out) {
        const auto top = static_cast<std::uint32_t>(tile_y * weir::kTileSide);
        const auto left = static_cast<std::uint32_t>(tile_x * weir::kTileSide);
        weir::TileShape shape{header_.profile, header_.shape.channels, header_.shape.sample_bytes, 0, 0};
        shape.width = static_cast<std::uint8_t>(std::min(weir::kTileSide, header_.shape.width - left));
        shape.height = static_cast<std::uint8_t>(std::min(weir::kTileSide, header_.shape.height - top));
        const std::uint64_t index = tile_y * header_.across() + tile_x;
        const std::uint32_t y_begin = std::max(top, region.y);
        const std::uint32_t y_end = std::min(top + shape.height, region.y + region.height);
        const std::uint32_t x_begin = std::max(left, region.x);
        const std::uint32_t x_end = std::min(left + shape.width, region.x + region.width);
        shape.width = static_cast<std::uint8_t>(x_end - left);  // what lies beyond is not written
        std::uint8_t* target = out.row(y_begin - region.y) + (x_begin - region.x) * shape.pixel_bytes();
        if (y_begin == top && x_begin == left) {
            decode_into(index, shape, y_end - top, target, out.row_stride);
            return;
        }
        alignas(64) std::array<std::uint8_t, kMaxTilePixels> scratch;
        const std::size_t stride = shape.width * shape.pixel_bytes();
        decode_into(index, shape, y_end - top, scratch.data(), stride);
        const std::uint8_t* source = scratch.data() + (y_begin - top) * stride + (x_begin - left) * shape.pixel_bytes();
        for (std::uint32_t y = y_begin; y < y_end; ++y, source += stride, target += out.row_stride) {
            std::memcpy(target, source, (x_end - x_begin) * shape.pixel_bytes());
        }
    }

  private:
    static constexpr std::size_t kMaxTilePixels =
        std::size_t{weir::kTileSide} * weir::kTileSide * weir::kMaxPlanes * sizeof(std::uint16_t);

    void decode_into(std::uint64_t index, const weir::TileShape& shape, std::uint32_t wanted_rows, std::uint8_t* out,
                     std::size_t row_stride) {
        const ByteView tile = index_.tile(index);
        prefetch(tile);
        if (verify_ && crc32c(tile) != index_.checksum(index)) {
            refuse_tile(index, "does not match its checksum", ErrorCode::checksum);
        }
        weir::TileJob job{shape, {}, out, row_stride, wanted_rows};
        weir::TileFault fault = weir::parse_tile(tile, shape, job.parts);
        if (fault != weir::TileFault::none) refuse_tile(index, fault_text(fault), ErrorCode::corrupt);
        if (job.parts.all_constant(shape.channels)) {
            weir::fill_tile(job);
            return;
        }
        const std::size_t behind = data_.size() - static_cast<std::size_t>(tile.data() + tile.size() - data_.data());
        if (behind < weir::kTileSlack) {
            copy_with_slack(tile);
            job.parts = {};
            fault = weir::parse_tile(tail_.view().first(tile.size()), shape, job.parts);  // others may write to `tile`
            if (job.parts.all_constant(shape.channels)) fault = weir::TileFault::head;
            if (fault != weir::TileFault::none) refuse_tile(index, fault_text(fault), ErrorCode::corrupt);
        }
        fault = decode_tile_(job);
        if (fault != weir::TileFault::none) refuse_tile(index, fault_text(fault), ErrorCode::corrupt);
    }

    // A dense tile is read in five places at once, too few bytes each for the processor to see them coming. (A fast
    // tile is read from front to back, and a checksum has just been through all of it.)
    void prefetch(ByteView tile) const noexcept {
        if (verify_ || header_.profile == weir::Profile::fast) return;
        for (std::size_t at = 0; at < tile.size(); at += 64) __builtin_prefetch(tile.data() + at);
    }

    // The last tiles have too few bytes behind them for code that loads whole vectors. `parse_tile` has accepted the
    // tile, so its size is bounded.
    void copy_with_slack(ByteView tile) {
        tail_.resize(tile.size() + weir::kTileSlack);
        std::memcpy(tail_.data(), tile.data(), tile.size());
        std::memset(tail_.data() + tile.size(), 0, weir::kTileSlack);
    }

    ByteView data_;
    weir::Header header_;
    weir::Index index_;
    bool verify_;
    weir::DecodeTile decode_tile_ = weir::active_decode_tile();
    ByteBuffer tail_;
};

class WeirCodec final : public Codec {
  public:
    std::string_view name() const noexcept override { return "weir"; }

    bool sniff(ByteView data) const noexcept override {
        return data.size() >= 4 && std::memcmp(data.data(), "WEIR", 4) == 0;
    }

    ImageInfo inspect(ByteView data) const override {
        static constexpr std::array<std::string_view, 5> colors{"", "grey", "grey+alpha", "rgb", "rgb+alpha"};
        const weir::Header header = weir::read_header(data);
        ImageInfo info;
        info.shape = header.shape;
        info.depth = static_cast<std::uint8_t>(8 * header.shape.sample_bytes);
        info.color = colors[header.shape.channels];
        info.variant = header.profile == weir::Profile::dense ? "dense" : "fast";
        if (header.metadata_bytes != 0) {
            info.orientation = exif_orientation(weir::find_metadata(data, header, "EXIF"));
        }
        return info;
    }

    void decode(ByteView data, const ImageInfo& info, const DecodeOptions& options, ImageView out) const override {
        const weir::Header header = weir::read_header(data);
        check_same_image(name(), ImageInfo{.shape = header.shape}, info);
        const Region region = options.region.value_or(Region{0, 0, info.shape.height, info.shape.width});
        const std::uint32_t y_begin = region.y / weir::kTileSide;
        const std::uint32_t x_begin = region.x / weir::kTileSide;
        const std::uint32_t y_end = (region.y + region.height - 1) / weir::kTileSide + 1;
        const std::uint32_t x_end = (region.x + region.width - 1) / weir::kTileSide + 1;
        TileReader reader(data, header, options.verify);
        for (std::uint32_t y = y_begin; y < y_end; ++y) {
            for (std::uint32_t x = x_begin; x < x_end; ++x) reader.decode(y, x, region, out);
        }
        if (options.counters != nullptr) {
            *options.counters = {header.tiles(), std::uint64_t{y_end - y_begin} * (x_end - x_begin)};
        }
    }

    ByteBuffer encode(ConstImageView pixels, const Parameters& parameters) const override {
        const std::string_view variant = parameters.text("variant", "dense");
        const auto effort = static_cast<int>(parameters.integer("effort", weir::kDefaultEffort));
        return weir::encode_image(pixels, variant == "fast" ? weir::Profile::fast : weir::Profile::dense, effort);
    }
};

}  // namespace

const Codec& weir_codec() noexcept {
    static const WeirCodec codec;
    return codec;
}

}  // namespace penstock
