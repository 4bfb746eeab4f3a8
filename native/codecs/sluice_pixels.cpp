#include "codecs/sluice_pixels.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/error.h"

namespace penstock::sluice {

namespace {

constexpr std::uint32_t kGroupSide = 8;   // in blocks
constexpr std::size_t kDirectGroups = 2;  // whose samples, of three components, fit the first-level cache

std::uint32_t divide_up(std::uint32_t value, std::uint32_t by) { return (value + by - 1) / by; }

// Asks for the lines of a rectangle that will be written: its rows are too short for the processor to see them coming.
void prefetch(const std::uint8_t* rows, std::size_t stride, std::uint32_t num_rows, std::size_t row_bytes) {
    for (std::uint32_t y = 0; y < num_rows; ++y, rows += stride) {
        for (std::size_t x = 0; x < row_bytes + 63; x += 64) __builtin_prefetch(rows + std::min(x, row_bytes - 1), 1);
    }
}

}  // namespace

jpeg::ImageGeometry geometry_of(const Header& header, std::uint32_t scale) {
    const Layout& layout = header.layout;
    const jpeg::FrameLayout frame{layout.width, layout.height, header.color,
                                  std::span(header.sampling).first(layout.num_components)};
    const auto geometry = jpeg::geometry_of(frame, scale);
    if (!geometry) {
        throw Error(ErrorCode::corrupt, "sluice image has a sampling that does not exist", "byte 16 of the sluice data",
                    "the file is damaged: restore it from its source");
    }
    return *geometry;
}

std::size_t pixel_working_bytes(std::uint32_t width, std::uint32_t height, unsigned channels) noexcept {
    // Planes end at whole groups: 64 samples, of components that may have a quarter of the samples each way.
    const auto padded = [](std::size_t side) { return (side + 255) / 256 * 256; };
    const std::size_t planes = channels * (padded(width) * padded(height) + jpeg::kPlaneSlack);
    return planes + TileReader::working_bytes(kMaxGroups);
}

PixelReader::PixelReader(ByteView data, const Header& header, const Index& index, const DecodeOptions& options)
    : header_(header),
      index_(index),
      pool_(options.working_pool()),
      tiles_(data, header, index, {options.verify, options.plain, &pool_}),
      geometry_(geometry_of(header, options.scale)) {}

std::uint64_t PixelReader::read(const Region& region, ImageView out) {
    choose_planes(region);
    const auto in_full = [&](const jpeg::ComponentGeometry& component) {
        return component.upsampling == jpeg::Upsampling::none &&
               component.block_size == geometry_.components[0].block_size;
    };
    const auto components = std::span(geometry_.components).first(geometry_.num_components);
    if (std::ranges::all_of(components, in_full)) {
        decode_direct(region, out);
    } else {
        decode_planes(region, out);
    }
    const GroupRange range = tiles();
    return std::uint64_t{range.x_end - range.x_begin} * (range.y_end - range.y_begin);
}

void PixelReader::choose_planes(const Region& region) {
    for (std::size_t c = 0; c < geometry_.num_components; ++c) {
        const jpeg::ComponentGeometry& component = geometry_.components[c];
        const std::uint32_t side = kGroupSide * component.block_size;
        Plane& plane = planes_[c];
        plane.window = jpeg::samples_for(component, region);
        plane.groups = {plane.window.x_begin / side, divide_up(plane.window.x_end, side), plane.window.y_begin / side,
                        divide_up(plane.window.y_end, side)};
    }
}

// Tiles that have a group of a plane.
PixelReader::GroupRange PixelReader::tiles() const noexcept {
    GroupRange range{UINT32_MAX, 0, UINT32_MAX, 0};
    for (std::size_t c = 0; c < geometry_.num_components; ++c) {
        const Layout::Component& component = header_.layout.components[c];
        const std::uint32_t across = std::uint32_t{component.across} * header_.layout.units_across;
        const std::uint32_t down = std::uint32_t{component.down} * header_.layout.units_down;
        const GroupRange& groups = planes_[c].groups;
        range.x_begin = std::min(range.x_begin, groups.x_begin / across);
        range.x_end = std::max(range.x_end, divide_up(groups.x_end, across));
        range.y_begin = std::min(range.y_begin, groups.y_begin / down);
        range.y_end = std::max(range.y_end, divide_up(groups.y_end, down));
    }
    return range;
}

// Components of one resolution: groups side by side make pixels while their samples are in the cache.
void PixelReader::decode_direct(const Region& region, ImageView out) {
    const GroupRange range = tiles();
    for (std::uint32_t tile_y = range.y_begin; tile_y < range.y_end; ++tile_y) {
        for (std::uint32_t tile_x = range.x_begin; tile_x < range.x_end; ++tile_x) {
            tiles_.decode(tile_x, tile_y);
            const std::size_t each = tiles_.groups().size() / geometry_.num_components;
            for (std::size_t begin = 0; begin < each;) {
                const std::uint32_t y = tiles_.groups()[begin].block_y;
                std::size_t end = begin + 1;
                while (end < each && end - begin < kDirectGroups && tiles_.groups()[end].block_y == y) ++end;
                write_groups(begin, end, region, out);
                begin = end;
            }
        }
    }
}

// Groups [begin, end) of each component, which are neighbours in a row.
void PixelReader::write_groups(std::size_t begin, std::size_t end, const Region& region, ImageView out) {
    constexpr std::size_t stride = 64 * kDirectGroups;
    constexpr std::size_t plane_bytes = stride * 64 + jpeg::kPlaneSlack;
    alignas(64) std::array<std::uint8_t, 3 * plane_bytes> local;
    const unsigned block_size = geometry_.components[0].block_size;
    const std::uint32_t side = kGroupSide * block_size;
    const std::size_t each = tiles_.groups().size() / geometry_.num_components;
    const std::uint32_t x = tiles_.groups()[begin].block_x * block_size;
    const std::uint32_t y = tiles_.groups()[begin].block_y * block_size;
    const auto width = static_cast<std::uint32_t>(end - begin) * side;
    const std::uint32_t x_begin = std::max(x, region.x);
    const std::uint32_t x_end = std::min(x + width, region.x + region.width);
    const std::uint32_t y_begin = std::max(y, region.y);
    const std::uint32_t y_end = std::min(y + side, region.y + region.height);
    if (x_begin >= x_end || y_begin >= y_end) return;
    const std::size_t pixel_bytes = geometry_.num_components;
    std::uint8_t* const target = out.row(y_begin - region.y) + (x_begin - region.x) * pixel_bytes;
    prefetch(target, out.row_stride, y_end - y_begin, (x_end - x_begin) * pixel_bytes);
    std::array<jpeg::PlaneView, 3> views{};
    for (std::size_t c = 0; c < geometry_.num_components; ++c) {
        std::uint8_t* const samples = local.data() + c * plane_bytes;
        views[c] = {samples, stride, x, y};
        for (std::size_t g = begin; g < end; ++g) {
            const auto left = static_cast<std::uint32_t>(g - begin) * side;
            if (x + left >= x_end || x + left + side <= x_begin) continue;
            jpeg::inverse_dct(tiles_.coefficients(c * each + g), index_.quantization(c), block_size,
                              jpeg::tile_targets(samples + left, stride, block_size, (y_begin - y) / block_size,
                                                 divide_up(y_end - y, block_size)));
        }
    }
    jpeg::write_pixels(geometry_, std::span(views).first(geometry_.num_components),
                       {y_begin, x_begin, y_end - y_begin, x_end - x_begin}, target, out.row_stride);
}

// Components of several resolutions: samples of all tiles meet in planes, because upsampling looks across tiles.
void PixelReader::decode_planes(const Region& region, ImageView out) {
    std::size_t bytes = 0;
    std::array<std::size_t, 3> offsets{};
    for (std::size_t c = 0; c < geometry_.num_components; ++c) {
        Plane& plane = planes_[c];
        const std::size_t side = std::size_t{kGroupSide} * geometry_.components[c].block_size;
        plane.stride = (plane.groups.x_end - plane.groups.x_begin) * side;
        offsets[c] = bytes;
        bytes += plane.stride * (plane.groups.y_end - plane.groups.y_begin) * side + jpeg::kPlaneSlack;
    }
    PoolBlock memory(bytes, pool_);
    for (std::size_t c = 0; c < geometry_.num_components; ++c) planes_[c].samples = memory.data() + offsets[c];
    const GroupRange range = tiles();
    const std::uint32_t tile_height = header_.layout.tile_height() / geometry_.scale;
    const std::uint32_t end = region.y + region.height;
    std::uint32_t written = region.y;
    for (std::uint32_t tile_y = range.y_begin; tile_y < range.y_end; ++tile_y) {
        for (std::uint32_t tile_x = range.x_begin; tile_x < range.x_end; ++tile_x) {
            tiles_.decode(tile_x, tile_y);
            transform_tile();
        }
        // The last rows of a tile wait for the samples below them, which the filter of the upsampling reads.
        const std::uint32_t complete = (tile_y + 1) * tile_height;
        const std::uint32_t ready = tile_y + 1 == range.y_end ? end : std::clamp(complete - 4, written, end);
        write_rows(region, written, ready, out);
        written = ready;
    }
}

void PixelReader::transform_tile() {
    for (std::size_t g = 0; g < tiles_.groups().size(); ++g) {
        const TileGroup& group = tiles_.groups()[g];
        const Plane& plane = planes_[group.component];
        const unsigned block_size = geometry_.components[group.component].block_size;
        const std::uint32_t x = group.block_x / kGroupSide;
        const std::uint32_t y = group.block_y / kGroupSide;
        if (x < plane.groups.x_begin || x >= plane.groups.x_end || y < plane.groups.y_begin ||
            y >= plane.groups.y_end) {
            continue;
        }
        const std::size_t side = std::size_t{kGroupSide} * block_size;
        std::uint8_t* const out =
            plane.samples + (y - plane.groups.y_begin) * side * plane.stride + (x - plane.groups.x_begin) * side;
        const std::uint32_t top = group.block_y;
        const std::uint32_t begin = std::max(top, plane.window.y_begin / block_size) - top;
        const std::uint32_t end = std::min(top + kGroupSide, divide_up(plane.window.y_end, block_size)) - top;
        jpeg::inverse_dct(tiles_.coefficients(g), index_.quantization(group.component), block_size,
                          jpeg::tile_targets(out, plane.stride, block_size, begin, end));
    }
}

void PixelReader::write_rows(const Region& region, std::uint32_t y_begin, std::uint32_t y_end, ImageView out) const {
    if (y_begin >= y_end) return;
    std::array<jpeg::PlaneView, 3> views{};
    for (std::size_t c = 0; c < geometry_.num_components; ++c) {
        const std::uint32_t side = kGroupSide * geometry_.components[c].block_size;
        views[c] = {planes_[c].samples, planes_[c].stride, planes_[c].groups.x_begin * side,
                    planes_[c].groups.y_begin * side};
    }
    jpeg::write_pixels(geometry_, std::span(views).first(geometry_.num_components),
                       {y_begin, region.x, y_end - y_begin, region.width}, out.row(y_begin - region.y), out.row_stride);
}

}  // namespace penstock::sluice
