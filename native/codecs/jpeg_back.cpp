#include "codecs/jpeg_back.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/cpu.h"
#include "codecs/jpeg_back_kernels.h"

namespace penstock::jpeg {

namespace {

constexpr unsigned kMaxMcuBlocks = 10;  // as the standard and libjpeg have it
constexpr unsigned kMaxSampling = 4;

// Pixels of a row that are upsampled and converted at a time: three such rows stay in the first-level cache.
constexpr std::uint32_t kChunkPixels = 1024;

std::uint32_t divide_up(std::uint64_t value, std::uint64_t by) {
    return static_cast<std::uint32_t>((value + by - 1) / by);
}

/// The largest sampling factors of an image, and what its smallest blocks give.
struct Most {
    unsigned across = 1;
    unsigned down = 1;
    unsigned least_size = 8;
};

// libjpeg lets the transform do what it can of the upsampling: chroma of half the resolution at scale 1/2 comes from
// whole blocks.
unsigned block_size_of(Sampling sampling, const Most& most) {
    unsigned size = most.least_size;
    while (size < 8 && most.across * most.least_size % (sampling.across * size * 2) == 0 &&
           most.down * most.least_size % (sampling.down * size * 2) == 0) {
        size *= 2;
    }
    return size;
}

// Narrow components and images of a pixel a block are replicated, as libjpeg does it.
Upsampling upsampling_of(const ComponentGeometry& component, const Most& most) {
    const unsigned across = component.expand_across;
    const unsigned down = component.expand_down;
    if (across == 1 && down == 1) return Upsampling::none;
    if (most.least_size == 1) return Upsampling::replicate;
    if (across == 1 && down == 2) return Upsampling::fancy_down;
    if (across == 2 && component.width > 2) {
        if (down == 1) return Upsampling::fancy_across;
        if (down == 2) return Upsampling::fancy_both;
    }
    return Upsampling::replicate;
}

std::optional<ComponentGeometry> component_of(const FrameLayout& frame, Sampling sampling, const Most& most) {
    ComponentGeometry component;
    const unsigned size = block_size_of(sampling, most);
    const unsigned across = sampling.across * size / most.least_size;
    const unsigned down = sampling.down * size / most.least_size;
    if (most.across % across != 0 || most.down % down != 0) return std::nullopt;
    component.sampling = sampling;
    component.block_size = static_cast<std::uint8_t>(size);
    component.expand_across = static_cast<std::uint8_t>(most.across / across);
    component.expand_down = static_cast<std::uint8_t>(most.down / down);
    component.width = divide_up(std::uint64_t{frame.width} * sampling.across * size, 8 * most.across);
    component.height = divide_up(std::uint64_t{frame.height} * sampling.down * size, 8 * most.down);
    component.blocks_across = divide_up(std::uint64_t{frame.width} * sampling.across, 8 * most.across);
    component.blocks_down = divide_up(std::uint64_t{frame.height} * sampling.down, 8 * most.down);
    component.upsampling = upsampling_of(component, most);
    return component;
}

/// One row of one component, up to `kChunkPixels` of it at a time.
class RowUpsampler {
  public:
    explicit RowUpsampler(const BackKernels& kernels) : kernels_(kernels) {}

    /// Pixels [x, x + count) of row `y`: in the plane itself, or in scratch. Both have slack behind them.
    const std::uint8_t* row(const ComponentGeometry& component, const PlaneView& plane, std::uint32_t y,
                            std::uint32_t x, std::uint32_t count) {
        switch (component.upsampling) {
            case Upsampling::none: return at(plane, x, y);
            case Upsampling::fancy_across: return across(component, plane, y, x, count);
            case Upsampling::fancy_down:
                kernels_.blend_down(at(plane, x, y / 2), at(plane, x, neighbour(component, y)), y % 2 == 0 ? 1 : 2,
                                    pixels_, count);
                return pixels_;
            case Upsampling::fancy_both: return both(component, plane, y, x, count);
            case Upsampling::replicate: return replicate(component, plane, y, x, count);
        }
        return pixels_;
    }

  private:
    static const std::uint8_t* at(const PlaneView& plane, std::uint32_t x, std::uint32_t y) {
        return plane.samples + (y - plane.y) * plane.stride + (x - plane.x);
    }

    /// The row that the triangle filter takes beside row y / 2; at the edge of the image that row itself.
    static std::uint32_t neighbour(const ComponentGeometry& component, std::uint32_t y) {
        const std::uint32_t here = y / 2;
        if (y % 2 == 0) return here == 0 ? 0 : here - 1;
        return std::min(here + 1, component.height - 1);
    }

    /// Samples that some pixels need: those that cover them, and where the filter reads from, one more on each side.
    struct Taps {
        std::uint32_t begin;
        std::uint32_t end;
        std::uint32_t read_begin;
        std::uint32_t read_end;

        Taps(const ComponentGeometry& component, std::uint32_t x, std::uint32_t count)
            : begin(x / 2),
              end((x + count + 1) / 2),
              read_begin(begin == 0 ? 0 : begin - 1),
              read_end(std::min(end + 1, component.width)) {}
        [[nodiscard]] std::uint32_t size() const { return end - begin; }
    };

    /// Where the sums of what is read go, so that the first one that counts is `sums()[0]`.
    std::uint16_t* sums() { return words_ + kLead; }
    std::uint16_t* read_sums(const Taps& taps) { return sums() - (taps.begin - taps.read_begin); }

    // Past the edges of the image the last sum is repeated.
    void extend(const Taps& taps) {
        if (taps.read_begin == taps.begin) sums()[-1] = sums()[0];
        if (taps.read_end == taps.end) sums()[taps.size()] = sums()[taps.size() - 1];
    }

    const std::uint8_t* across(const ComponentGeometry& component, const PlaneView& plane, std::uint32_t y,
                               std::uint32_t x, std::uint32_t count) {
        const Taps taps(component, x, count);
        kernels_.widen(at(plane, taps.read_begin, y), read_sums(taps), taps.read_end - taps.read_begin);
        extend(taps);
        kernels_.spread_across(sums(), pixels_, taps.size());
        return pixels_ + x % 2;
    }

    const std::uint8_t* both(const ComponentGeometry& component, const PlaneView& plane, std::uint32_t y,
                             std::uint32_t x, std::uint32_t count) {
        const Taps taps(component, x, count);
        kernels_.blend_rows(at(plane, taps.read_begin, y / 2), at(plane, taps.read_begin, neighbour(component, y)),
                            read_sums(taps), taps.read_end - taps.read_begin);
        extend(taps);
        kernels_.spread_both(sums(), pixels_, taps.size());
        return pixels_ + x % 2;
    }

    const std::uint8_t* replicate(const ComponentGeometry& component, const PlaneView& plane, std::uint32_t y,
                                  std::uint32_t x, std::uint32_t count) {
        const std::uint32_t times = component.expand_across;
        const std::uint8_t* samples = at(plane, x / times, y / component.expand_down);
        std::uint32_t repeated = x % times;
        for (std::uint32_t i = 0; i < count; ++i) {
            pixels_[i] = *samples;
            if (++repeated == times) {
                repeated = 0;
                ++samples;
            }
        }
        return pixels_;
    }

    static constexpr std::size_t kLead = 32;  // keeps sums()[0] at a vector's boundary

    const BackKernels& kernels_;
    alignas(64) std::uint16_t words_[kLead + kChunkPixels / 2 + 2 + kScratchSlack];
    alignas(64) std::uint8_t pixels_[kChunkPixels + 2 + 2 * kScratchSlack];
};

}  // namespace

std::optional<ImageGeometry> geometry_of(const FrameLayout& frame, std::uint32_t scale) noexcept {
    const std::size_t num_components = frame.sampling.size();
    const bool is_grey = num_components == 1 && frame.color == Color::grey;
    const bool is_color = num_components == 3 && (frame.color == Color::ycc || frame.color == Color::rgb);
    if (!is_grey && !is_color) return std::nullopt;
    if (scale == 0 || scale > 8 || !std::has_single_bit(scale)) return std::nullopt;

    Most most;
    unsigned mcu_blocks = 0;
    most.least_size = 8 / scale;
    for (const Sampling& sampling : frame.sampling) {
        if (sampling.across - 1U >= kMaxSampling || sampling.down - 1U >= kMaxSampling) return std::nullopt;
        if (is_grey) break;  // the MCU of a lone component is a block, whatever its factors are
        most.across = std::max<unsigned>(most.across, sampling.across);
        most.down = std::max<unsigned>(most.down, sampling.down);
        mcu_blocks += sampling.across * sampling.down;
    }
    if (mcu_blocks > kMaxMcuBlocks) return std::nullopt;

    ImageGeometry geometry;
    geometry.width = divide_up(frame.width, scale);
    geometry.height = divide_up(frame.height, scale);
    geometry.scale = scale;
    geometry.color = frame.color;
    geometry.num_components = static_cast<std::uint8_t>(num_components);
    geometry.mcu_width = most.across * most.least_size;
    geometry.mcu_height = most.down * most.least_size;
    geometry.mcus_across = divide_up(frame.width, 8 * most.across);
    geometry.mcus_down = divide_up(frame.height, 8 * most.down);
    for (std::size_t i = 0; i < num_components; ++i) {
        const std::optional<ComponentGeometry> component =
            component_of(frame, is_grey ? Sampling{} : frame.sampling[i], most);
        if (!component) return std::nullopt;
        geometry.components[i] = *component;
    }
    return geometry;
}

SampleWindow samples_for(const ComponentGeometry& component, const Region& region) noexcept {
    const bool filters_across =
        component.upsampling == Upsampling::fancy_across || component.upsampling == Upsampling::fancy_both;
    const bool filters_down =
        component.upsampling == Upsampling::fancy_down || component.upsampling == Upsampling::fancy_both;
    const auto begin_of = [](std::uint32_t first, std::uint32_t expand, bool filters) {
        const std::uint32_t sample = first / expand;
        return filters && sample > 0 ? sample - 1 : sample;
    };
    const auto end_of = [](std::uint32_t end, std::uint32_t expand, bool filters, std::uint32_t limit) {
        return std::min(divide_up(end, expand) + (filters ? 1 : 0), limit);
    };
    return {begin_of(region.x, component.expand_across, filters_across),
            end_of(region.x + region.width, component.expand_across, filters_across, component.width),
            begin_of(region.y, component.expand_down, filters_down),
            end_of(region.y + region.height, component.expand_down, filters_down, component.height)};
}

void write_pixels(const ImageGeometry& geometry, std::span<const PlaneView> planes, const Region& region,
                  std::uint8_t* out, std::size_t row_stride) noexcept {
    const BackKernels& kernels = active_back_kernels();
    if (geometry.num_components == 1) {
        for (std::uint32_t y = 0; y < region.height; ++y) {
            const PlaneView& plane = planes[0];
            std::memcpy(out + y * row_stride,
                        plane.samples + (region.y + y - plane.y) * plane.stride + (region.x - plane.x), region.width);
        }
        return;
    }
    const auto convert = geometry.color == Color::ycc ? kernels.ycc_to_rgb : kernels.interleave;
    const bool is_plain = std::all_of(geometry.components.begin(), geometry.components.end(),
                                      [](const auto& component) { return component.upsampling == Upsampling::none; });
    const std::uint32_t chunk = is_plain ? region.width : kChunkPixels;
    RowUpsampler rows[3] = {RowUpsampler(kernels), RowUpsampler(kernels), RowUpsampler(kernels)};
    for (std::uint32_t y = region.y; y < region.y + region.height; ++y) {
        std::uint8_t* target = out + (y - region.y) * row_stride;
        for (std::uint32_t done = 0; done < region.width; done += chunk) {
            const std::uint32_t count = std::min(region.width - done, chunk);
            const std::uint8_t* samples[3];
            for (std::size_t i = 0; i < 3; ++i) {
                samples[i] = rows[i].row(geometry.components[i], planes[i], y, region.x + done, count);
            }
            convert(samples[0], samples[1], samples[2], target + std::size_t{3} * done, count);
        }
    }
}

void inverse_dct(const CoefficientGroup& group, const QuantTable& quant, unsigned block_size,
                 const RunTargets& out) noexcept {
    const InverseDct transform = active_back_kernels().inverse_dct[std::countr_zero(block_size)];
    for (unsigned half = 0; half < kGroupBlocks / kHalfBlocks; ++half) {
        std::uint8_t* const* runs = out.runs.data() + kHalfRuns * half;
        const bool is_wanted =
            std::any_of(runs, runs + kHalfRuns, [](const std::uint8_t* run) { return run != nullptr; });
        if (is_wanted) transform(group, half, quant.data(), runs, out.stride);
    }
}

const BackKernels& active_back_kernels() noexcept {
#if defined(__x86_64__)
    switch (active_simd_path()) {
        case SimdPath::avx512: return kBackAvx512;
        case SimdPath::avx2: return kBackAvx2;
        case SimdPath::baseline: return kBackBaseline;
        default: return kBackPlain;
    }
#elif defined(__aarch64__)
    if (active_simd_path() == SimdPath::neon) return kBackNeon;
#endif
    return kBackPlain;
}

}  // namespace penstock::jpeg
