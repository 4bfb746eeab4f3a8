#include "codecs/jpeg_strips.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "base/cpu.h"
#include "codecs/jpeg_back.h"
#include "codecs/jpeg_back_kernels.h"
#include "codecs/jpeg_mcus.h"
#include "codecs/jpeg_transform.h"

namespace penstock::jpeg {

namespace {

constexpr std::size_t kMaxRows = 10;  // rows of blocks of all components in an MCU, at most one a block

// Rows of samples above the newest MCU row that pixels below it still need: the triangle filter looks one row back, and
// waits for one row ahead.
constexpr std::uint32_t kContextRows = 2;

constexpr std::size_t kHalfBytes = kHalfBlocks / kQuadBlocks * kQuadWords * sizeof(std::int16_t);

bool is_path_fast() {
    const SimdPath path = active_simd_path();
    return path >= SimdPath::avx2;  // NEON counts as more
}

std::optional<Color> color_of(const jpeg_decompress_struct& info) {
    switch (info.jpeg_color_space) {
        case JCS_GRAYSCALE: return Color::grey;
        case JCS_YCbCr: return Color::ycc;
        case JCS_RGB: return Color::rgb;
        default: return std::nullopt;
    }
}

std::optional<ImageGeometry> geometry_of(const jpeg_decompress_struct& info, std::uint32_t scale) {
    const std::optional<Color> color = color_of(info);
    if (!color || info.num_components > 3 || info.comps_in_scan != info.num_components) return std::nullopt;
    std::array<Sampling, 3> sampling;
    const auto num_components = static_cast<std::size_t>(info.num_components);
    for (std::size_t i = 0; i < num_components; ++i) {
        sampling[i] = {static_cast<std::uint8_t>(info.comp_info[i].h_samp_factor),
                       static_cast<std::uint8_t>(info.comp_info[i].v_samp_factor)};
    }
    return jpeg::geometry_of({info.image_width, info.image_height, *color, std::span(sampling).first(num_components)},
                             scale);
}

QuantTable quant_of(const JQUANT_TBL& table) {
    QuantTable quant{};
    for (std::size_t place = 0; place < quant.size(); ++place) quant[kZigzagOf[place]] = table.quantval[place];
    return quant;
}

/// MCUs whose samples a region needs, half-open.
struct McuWindow {
    std::uint32_t left = ~std::uint32_t{0};
    std::uint32_t right = 0;
    std::uint32_t top = ~std::uint32_t{0};
    std::uint32_t bottom = 0;

    McuWindow(const ImageGeometry& geometry, const Region& region) {
        for (std::size_t i = 0; i < geometry.num_components; ++i) {
            const ComponentGeometry& component = geometry.components[i];
            const SampleWindow samples = samples_for(component, region);
            const std::uint32_t across = std::uint32_t{component.sampling.across} * component.block_size;
            const std::uint32_t down = std::uint32_t{component.sampling.down} * component.block_size;
            left = std::min(left, samples.x_begin / across);
            right = std::max(right, (samples.x_end + across - 1) / across);
            top = std::min(top, samples.y_begin / down);
            bottom = std::max(bottom, (samples.y_end + down - 1) / down);
        }
    }
};

/// The samples of a component that are there at the moment: some rows, of a strip or of the window's width.
struct Plane {
    std::uint8_t* samples = nullptr;
    std::size_t stride = 0;
    std::uint32_t x = 0;  ///< the component's sample in the first column
    std::uint32_t y = 0;  ///< and row
    std::uint32_t num_rows = 0;

    [[nodiscard]] PlaneView view() const { return {samples, stride, x, y}; }
    /// Drops rows above `first`.
    void drop_above(std::uint32_t first) {
        if (first <= y) return;
        const std::uint32_t dropped = std::min(first - y, num_rows);
        num_rows -= dropped;
        y += dropped;
        std::memmove(samples, samples + dropped * stride, num_rows * stride);
    }
};

/// A row of blocks of a strip, up to 64 of them.
struct StripRow {
    std::size_t component;
    std::uint32_t row;  ///< in the MCU
    std::int16_t* quads;
    unsigned num_positions;  ///< that its blocks need
};

class StripDecoder {
  public:
    StripDecoder(const jpeg_decompress_struct& info, ByteView data, const ImageGeometry& geometry, const Region& region,
                 BufferPool& pool);

    /// False at damage.
    [[nodiscard]] bool run(ImageView out);
    [[noreturn]] void give_up(jpeg_decompress_struct& info) const { reader_.give_up(info); }
    [[nodiscard]] DecodeCounters counters() const {
        return {std::uint64_t{geometry_.mcus_across} * geometry_.mcus_down,
                std::uint64_t{window_.right - window_.left} * (window_.bottom - window_.top)};
    }

  private:
    static std::uint32_t strip_mcus(const ImageGeometry& geometry);
    [[nodiscard]] std::size_t halves_of(std::size_t component) const {
        return (std::size_t{strip_mcus_} * geometry_.components[component].sampling.across + kHalfBlocks - 1) /
               kHalfBlocks;
    }
    [[nodiscard]] std::size_t quad_bytes() const;
    [[nodiscard]] std::uint32_t plane_mcus() const;
    [[nodiscard]] std::size_t plane_stride(std::size_t component) const;
    [[nodiscard]] std::size_t plane_rows(std::size_t component) const;
    [[nodiscard]] std::size_t memory_bytes() const;
    void place_rows(std::uint8_t* memory);
    void place_planes(std::uint8_t* memory);
    void place_blocks(const jpeg_decompress_struct& info);

    [[nodiscard]] bool decode_row(std::uint32_t mcu_row, ImageView out);
    [[nodiscard]] bool decode_strip(std::uint32_t count);
    void transform_strip(std::uint32_t first, std::uint32_t count);
    void transform_half(const StripRow& row, unsigned half, std::uint8_t* target, std::size_t num_runs);
    void write_strip(std::uint32_t mcu_row, std::uint32_t first, std::uint32_t count, ImageView out);
    void write_rows(std::uint32_t mcu_row, ImageView out);

    const ImageGeometry& geometry_;
    Region region_;
    McuWindow window_;
    McuReader reader_;
    DecodeStrip store_;
    const BackKernels& kernels_;
    bool by_strips_;  ///< pixels are written strip by strip: nothing is upsampled
    std::uint32_t strip_mcus_;
    PoolBlock memory_;

    CoefficientGroup* group_ = nullptr;  ///< half of it: blocks on their way from quads to samples
    std::array<QuantTable, 3> quant_{};
    std::array<Plane, 3> planes_{};
    std::array<StripRow, kMaxRows> rows_{};
    std::size_t num_rows_ = 0;
    std::array<StripBlock, D_MAX_BLOCKS_IN_MCU> blocks_{};
    std::uint32_t next_y_;  ///< the first row of pixels that is not written yet
};

bool needs_no_upsampling(const ImageGeometry& geometry) {
    return std::all_of(geometry.components.begin(), geometry.components.begin() + geometry.num_components,
                       [](const ComponentGeometry& component) { return component.upsampling == Upsampling::none; });
}

StripDecoder::StripDecoder(const jpeg_decompress_struct& info, ByteView data, const ImageGeometry& geometry,
                           const Region& region, BufferPool& pool)
    : geometry_(geometry),
      region_(region),
      window_(geometry, region),
      reader_(info, data),
      store_(active_block_kernels().store_strip),
      kernels_(active_back_kernels()),
      by_strips_(needs_no_upsampling(geometry)),
      strip_mcus_(strip_mcus(geometry)),
      memory_(memory_bytes(), pool),
      next_y_(region.y) {
    for (int i = 0; i < info.num_components; ++i) {
        quant_[static_cast<std::size_t>(i)] = quant_of(*info.quant_tbl_ptrs[info.comp_info[i].quant_tbl_no]);
    }
    group_ = reinterpret_cast<CoefficientGroup*>(memory_.data());
    group_->wide_positions = ~std::uint64_t{0};
    place_rows(memory_.data() + sizeof(CoefficientGroup));
    place_planes(memory_.data() + sizeof(CoefficientGroup) + quad_bytes());
    place_blocks(info);
}

// As many MCUs as give 64 blocks a row at most; more than 32 would leave the first-level cache.
std::uint32_t StripDecoder::strip_mcus(const ImageGeometry& geometry) {
    unsigned across = 1;
    for (const ComponentGeometry& component : geometry.components) {
        across = std::max<unsigned>(across, component.sampling.across);
    }
    return across <= 2 ? 32 : 16;
}

std::size_t StripDecoder::quad_bytes() const {
    std::size_t num_halves = 0;
    for (std::size_t i = 0; i < geometry_.num_components; ++i) {
        num_halves += halves_of(i) * geometry_.components[i].sampling.down;
    }
    return num_halves * kHalfBytes;
}

std::uint32_t StripDecoder::plane_mcus() const {
    const std::uint32_t num_columns = window_.right - window_.left;
    return by_strips_ ? std::min(strip_mcus_, num_columns) : num_columns;
}

std::size_t StripDecoder::plane_stride(std::size_t component) const {
    const ComponentGeometry& shape = geometry_.components[component];
    const std::size_t num_blocks = std::size_t{plane_mcus()} * shape.sampling.across;
    const std::size_t num_runs = (num_blocks + kRunBlocks - 1) / kRunBlocks;
    return (num_runs * kRunBlocks * shape.block_size + kPlaneSlack + 63) / 64 * 64;
}

std::size_t StripDecoder::plane_rows(std::size_t component) const {
    const ComponentGeometry& shape = geometry_.components[component];
    return std::size_t{shape.sampling.down} * shape.block_size + (by_strips_ ? 0 : kContextRows);
}

std::size_t StripDecoder::memory_bytes() const {
    std::size_t bytes = sizeof(CoefficientGroup) + quad_bytes();
    for (std::size_t i = 0; i < geometry_.num_components; ++i) bytes += plane_stride(i) * plane_rows(i);
    return bytes;
}

void StripDecoder::place_rows(std::uint8_t* memory) {
    std::memset(memory, 0, quad_bytes());
    for (std::size_t i = 0; i < geometry_.num_components; ++i) {
        for (std::uint32_t row = 0; row < geometry_.components[i].sampling.down; ++row) {
            rows_[num_rows_++] = {i, row, reinterpret_cast<std::int16_t*>(memory), 0};
            memory += halves_of(i) * kHalfBytes;
        }
    }
}

void StripDecoder::place_planes(std::uint8_t* memory) {
    for (std::size_t i = 0; i < geometry_.num_components; ++i) {
        const ComponentGeometry& component = geometry_.components[i];
        const std::uint32_t down = std::uint32_t{component.sampling.down} * component.block_size;
        planes_[i] = {memory, plane_stride(i), window_.left * component.sampling.across * component.block_size,
                      window_.top * down, 0};
        memory += plane_stride(i) * plane_rows(i);
    }
}

void StripDecoder::place_blocks(const jpeg_decompress_struct& info) {
    std::size_t next = 0;
    for (int i = 0; i < info.comps_in_scan; ++i) {
        const auto index = static_cast<std::size_t>(info.cur_comp_info[i]->component_index);
        const Sampling sampling = geometry_.components[index].sampling;
        for (std::size_t r = 0; r < num_rows_; ++r) {
            StripRow& row = rows_[r];
            if (row.component != index) continue;
            for (std::size_t x = 0; x < sampling.across; ++x, ++next) {
                blocks_[next] = {reader_.block(next), row.quads, x, sampling.across, &row.num_positions};
            }
        }
    }
}

bool StripDecoder::run(ImageView out) {
    for (std::uint32_t row = 0; row < window_.bottom; ++row) {
        if (row < window_.top) {
            if (!reader_.step_over(reader_.num_columns(), reader_.rows_restart())) return false;
        } else if (!decode_row(row, out)) {
            return false;
        }
    }
    return true;
}

bool StripDecoder::decode_row(std::uint32_t mcu_row, ImageView out) {
    if (!reader_.step_over(window_.left, false)) return false;
    for (std::uint32_t first = window_.left; first < window_.right; first += strip_mcus_) {
        const std::uint32_t count = std::min(strip_mcus_, window_.right - first);
        if (!decode_strip(count)) return false;
        transform_strip(first, count);
        if (by_strips_) write_strip(mcu_row, first, count, out);
    }
    if (!by_strips_) write_rows(mcu_row, out);
    if (mcu_row + 1 == window_.bottom) return true;
    return reader_.step_over(reader_.num_columns() - window_.right, reader_.rows_restart());
}

bool StripDecoder::decode_strip(std::uint32_t count) {
    return reader_.read(count, [this](BitReader& bits, std::uint32_t first, std::uint32_t num_mcus) {
        return store_(bits, blocks_.data(), reader_.num_blocks(), first, num_mcus);
    });
}

void StripDecoder::transform_strip(std::uint32_t first, std::uint32_t count) {
    for (std::size_t r = 0; r < num_rows_; ++r) {
        StripRow& row = rows_[r];
        const ComponentGeometry& component = geometry_.components[row.component];
        Plane& plane = planes_[row.component];
        const std::size_t column = by_strips_ ? 0 : std::size_t{first - window_.left} * component.sampling.across;
        std::uint8_t* target = plane.samples + (plane.num_rows + row.row * component.block_size) * plane.stride +
                               column * component.block_size;
        const std::size_t num_lanes = std::size_t{count} * component.sampling.across;
        for (unsigned half = 0; half * kHalfBlocks < num_lanes; ++half) {
            const std::size_t lanes = std::min(num_lanes - half * kHalfBlocks, kHalfBlocks);
            transform_half(row, half, target + half * kHalfBlocks * component.block_size,
                           (lanes + kRunBlocks - 1) / kRunBlocks);
        }
        row.num_positions = 0;
    }
}

void StripDecoder::transform_half(const StripRow& row, unsigned half, std::uint8_t* target, std::size_t num_runs) {
    const unsigned size = geometry_.components[row.component].block_size;
    std::array<std::uint8_t*, kHalfRuns> runs{};
    for (std::size_t run = 0; run < num_runs; ++run) runs[run] = target + run * kRunBlocks * size;
    group_->num_positions = static_cast<int>(row.num_positions);
    kernels_.take_quads(row.quads + half * kHalfBytes / sizeof *row.quads, *group_, row.num_positions);
    kernels_.inverse_dct[std::countr_zero(size)](*group_, 0, quant_[row.component].data(), runs.data(),
                                                 planes_[row.component].stride);
}

// Nothing is upsampled: the samples of a strip are its pixels.
void StripDecoder::write_strip(std::uint32_t mcu_row, std::uint32_t first, std::uint32_t count, ImageView out) {
    const std::uint32_t left = std::max(first * geometry_.mcu_width, region_.x);
    const std::uint32_t right = std::min((first + count) * geometry_.mcu_width, region_.x + region_.width);
    const std::uint32_t top = std::max(mcu_row * geometry_.mcu_height, region_.y);
    const std::uint32_t bottom = std::min((mcu_row + 1) * geometry_.mcu_height, region_.y + region_.height);
    if (left >= right || top >= bottom) return;
    std::array<PlaneView, 3> views;
    for (std::size_t i = 0; i < geometry_.num_components; ++i) {
        views[i] = {planes_[i].samples, planes_[i].stride, first * geometry_.mcu_width, mcu_row * geometry_.mcu_height};
    }
    write_pixels(geometry_, std::span(views).first(geometry_.num_components), {top, left, bottom - top, right - left},
                 out.row(top - region_.y) + std::size_t{left - region_.x} * geometry_.num_components, out.row_stride);
}

void StripDecoder::write_rows(std::uint32_t mcu_row, ImageView out) {
    std::uint32_t end = region_.y + region_.height;
    for (std::size_t i = 0; i < geometry_.num_components; ++i) {
        const ComponentGeometry& component = geometry_.components[i];
        planes_[i].num_rows += std::uint32_t{component.sampling.down} * component.block_size;
        const std::uint32_t there = (mcu_row + 1) * component.sampling.down * component.block_size;
        if (there >= component.height) continue;
        const bool waits =
            component.upsampling == Upsampling::fancy_down || component.upsampling == Upsampling::fancy_both;
        end = std::min(end, there * component.expand_down - (waits ? 1 : 0));
    }
    if (end > next_y_) {
        std::array<PlaneView, 3> views;
        for (std::size_t i = 0; i < geometry_.num_components; ++i) views[i] = planes_[i].view();
        write_pixels(geometry_, std::span(views).first(geometry_.num_components),
                     {next_y_, region_.x, end - next_y_, region_.width}, out.row(next_y_ - region_.y), out.row_stride);
        next_y_ = end;
    }
    for (std::size_t i = 0; i < geometry_.num_components; ++i) {
        planes_[i].drop_above(samples_for(geometry_.components[i], {next_y_, region_.x, 1, region_.width}).y_begin);
    }
}

}  // namespace

bool decode_strips(Decompressor& decompressor, ByteView data, const DecodeOptions& options, ImageView out) {
    jpeg_decompress_struct& info = decompressor.info();
    if (options.plain || options.fast || !is_path_fast()) return false;
    if (!McuReader::suits(info) || !McuReader::has_valid_tables(info)) return false;
    const std::optional<ImageGeometry> geometry = geometry_of(info, options.scale);
    if (!geometry) return false;
    const Region region = options.region.value_or(Region{0, 0, geometry->height, geometry->width});
    StripDecoder decoder(info, data, *geometry, region, options.working_pool());
    if (!decoder.run(out)) decompressor.run([&] { decoder.give_up(info); });
    if (options.counters != nullptr) *options.counters = decoder.counters();
    return true;
}

}  // namespace penstock::jpeg
