#include "pixels/blur.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "base/cpu.h"
#include "base/error.h"
#include "pixels/neighbor_kernels.h"

namespace penstock {

namespace {

const NeighborKernels& active_kernels() noexcept {
#if defined(__x86_64__)
    const SimdPath path = active_simd_path();
    if (path >= SimdPath::avx512) return kNeighborAvx512;
    if (path >= SimdPath::avx2) return kNeighborAvx2;
#endif
    return kNeighborPlain;
}

/// Pillow's radius of a box that, applied three times, has the deviation `sigma`. Floats where Pillow has them.
float box_radius(float sigma) {
    const float variance = sigma * sigma / 3.0f;
    const auto length = static_cast<float>(std::sqrt(12.0 * static_cast<double>(variance) + 1.0));
    const auto whole = static_cast<float>(std::floor((static_cast<double>(length) - 1.0) / 2.0));
    float part = (2.0f * whole + 1.0f) * (whole * (whole + 1.0f) - 3.0f * variance);
    part /= 6.0f * (variance - (whole + 1.0f) * (whole + 1.0f));
    return whole + part;
}

BoxWeights box_weights(float radius) {
    BoxWeights weights;
    weights.radius = static_cast<std::uint32_t>(radius);
    weights.whole = static_cast<std::uint32_t>(16777216.0f / (radius * 2.0f + 1.0f));
    weights.edge = ((1u << 24) - (weights.radius * 2 + 1) * weights.whole) / 2;
    return weights;
}

/// A row between `margin` copies of its first and its last pixel.
void pad_edges(const std::uint8_t* row, std::size_t pixels, std::size_t channels, std::size_t margin,
               std::uint8_t* out) {
    std::memcpy(out + margin * channels, row, pixels * channels);
    const std::uint8_t* last = row + (pixels - 1) * channels;
    std::uint8_t* behind = out + (margin + pixels) * channels;
    for (std::size_t i = 0; i < margin; ++i) {
        std::memcpy(out + i * channels, row, channels);
        std::memcpy(behind + i * channels, last, channels);
    }
}

void box_rows(ConstImageView image, const BoxWeights& weights, ImageView out, BlurScratch& scratch) {
    const NeighborKernels& kernels = active_kernels();
    const std::size_t channels = image.shape.channels;
    const std::size_t pixels = image.shape.width;
    const std::size_t margin = std::size_t{weights.radius} + 1;
    scratch.rows.resize((pixels + 2 * margin) * channels);
    for (std::uint32_t y = 0; y < image.shape.height; ++y) {
        const std::uint8_t* row = image.row(y);
        for (int pass = 0; pass < 3; ++pass) {
            pad_edges(row, pixels, channels, margin, scratch.rows.data());
            kernels.box_row(scratch.rows.data(), pixels * channels, channels, weights, out.row(y));
            row = out.row(y);
        }
    }
}

void box_columns(ConstImageView image, const BoxWeights& weights, ImageView out, BlurScratch& scratch) {
    const NeighborKernels& kernels = active_kernels();
    const std::size_t samples = image.shape.row_bytes();
    const auto radius = static_cast<std::int64_t>(weights.radius);
    const std::int64_t last = std::int64_t{image.shape.height} - 1;
    const auto row_at = [&](std::int64_t y) {
        return image.row(static_cast<std::size_t>(std::clamp<std::int64_t>(y, 0, last)));
    };
    scratch.sums.assign(samples, 0);
    for (std::int64_t y = -radius; y <= radius; ++y) {
        const std::uint8_t* row = row_at(y);
        for (std::size_t i = 0; i < samples; ++i) scratch.sums[i] += row[i];
    }
    for (std::int64_t y = 0; y <= last; ++y) {
        kernels.box_column(scratch.sums.data(), row_at(y - radius - 1), row_at(y + radius + 1), row_at(y - radius),
                           samples, weights, out.row(static_cast<std::size_t>(y)));
    }
}

/// The mirror of a place beside [0, length), without the border itself.
std::size_t reflected(std::int64_t at, std::int64_t length) {
    const std::int64_t inner = at < 0 ? -at : at;
    return static_cast<std::size_t>(inner >= length ? 2 * (length - 1) - inner : inner);
}

/// Weights of a Gaussian, in float as torch computes them: softmax of -(x / sigma)^2 / 2.
void set_weights(std::uint32_t taps, double sigma, std::vector<float>& weights) {
    weights.resize(taps);
    double sum = 0;
    std::vector<double> exact(taps);
    for (std::uint32_t i = 0; i < taps; ++i) {
        const double distance = (i - (taps - 1) / 2.0) / sigma;
        exact[i] = std::exp(-0.5 * distance * distance);
        sum += exact[i];
    }
    for (std::uint32_t i = 0; i < taps; ++i) weights[i] = static_cast<float>(exact[i] / sum);
}

void check_kernel(PixelShape shape, std::array<std::uint32_t, 2> kernel) {
    if (kernel[0] / 2 < shape.height && kernel[1] / 2 < shape.width) return;
    throw Error(ErrorCode::bad_argument,
                "GaussianBlur with a kernel of " + std::to_string(kernel[0]) + "x" + std::to_string(kernel[1]) +
                    " does not fit an image of " + std::to_string(shape.height) + "x" + std::to_string(shape.width),
                "transforms", "choose a smaller kernel_size, or resize first");
}

}  // namespace

void sharpen(ImageView image, float factor, BlurScratch& scratch) {
    const PixelShape shape = image.shape;
    if (shape.height < 3 || shape.width < 3 || factor == 1.0f) return;
    const NeighborKernels& kernels = active_kernels();
    const std::size_t samples = shape.row_bytes();
    const bool has_alpha = shape.channels == 2 || shape.channels == 4;
    // The rows above and here as they were, and the new row.
    scratch.rows.resize(2 * samples);
    std::uint8_t* above = scratch.rows.data();
    std::uint8_t* here = above + samples;
    std::memcpy(above, image.row(0), samples);
    for (std::uint32_t y = 1; y + 1 < shape.height; ++y) {
        std::memcpy(here, image.row(y), samples);
        const std::uint8_t* rows[3] = {above, here, image.row(y + 1)};
        kernels.sharpen(rows, samples, shape.channels, has_alpha, factor, image.row(y));
        std::swap(above, here);
    }
}

void pillow_blur(ImageView image, float sigma, BlurScratch& scratch) {
    const float radius = box_radius(sigma);
    if (!(radius > 0)) return;
    const BoxWeights weights = box_weights(radius);
    scratch.image.resize(image.shape.bytes());
    const ImageView other{scratch.image.data(), image.shape.row_bytes(), image.shape};
    box_rows(image, weights, other, scratch);
    box_columns(other, weights, image, scratch);
    box_columns(image, weights, other, scratch);
    box_columns(other, weights, image, scratch);
}

void gaussian_blur(ImageView image, double sigma, std::array<std::uint32_t, 2> kernel, BlurScratch& scratch) {
    check_kernel(image.shape, kernel);
    const NeighborKernels& kernels = active_kernels();
    const std::size_t channels = image.shape.channels;
    const std::size_t samples = image.shape.row_bytes();
    const auto width = static_cast<std::int64_t>(image.shape.width);
    const auto height = static_cast<std::int64_t>(image.shape.height);
    const std::uint32_t num_rows = kernel[0];  // names of their own: clang 14 captures no structured binding
    const std::uint32_t num_columns = kernel[1];
    const std::int64_t margin = num_columns / 2;
    const std::int64_t reach = num_rows / 2;
    std::vector<float> column_weights;
    set_weights(num_columns, sigma, scratch.weights);
    set_weights(num_rows, sigma, column_weights);
    scratch.rows.resize((image.shape.width + 2 * static_cast<std::size_t>(margin)) * channels);
    scratch.floats.resize(num_rows * samples);
    scratch.taps.resize(num_rows);
    const auto floats_of = [&](std::size_t y) { return scratch.floats.data() + y % num_rows * samples; };
    std::int64_t next = 0;
    for (std::int64_t y = 0; y < height; ++y) {
        for (; next <= std::min(y + reach, height - 1); ++next) {
            std::uint8_t* padded = scratch.rows.data();
            const std::uint8_t* row = image.row(static_cast<std::size_t>(next));
            for (std::int64_t x = -margin; x < width + margin; ++x, padded += channels) {
                std::memcpy(padded, row + reflected(x, width) * channels, channels);
            }
            kernels.weigh_row(scratch.rows.data(), samples, channels, scratch.weights.data(), num_columns,
                              floats_of(static_cast<std::size_t>(next)));
        }
        for (std::int64_t tap = 0; tap < num_rows; ++tap) {
            scratch.taps[static_cast<std::size_t>(tap)] = floats_of(reflected(y + tap - reach, height));
        }
        kernels.weigh_column(scratch.taps.data(), samples, column_weights.data(), num_rows,
                             image.row(static_cast<std::size_t>(y)));
    }
}

}  // namespace penstock
