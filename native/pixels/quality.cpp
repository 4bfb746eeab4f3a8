#include "pixels/quality.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/error.h"

namespace penstock {

namespace {

constexpr std::size_t kTaps = 11;
constexpr double kSigma = 1.5;
constexpr std::array<double, 5> kScaleWeights{0.0448, 0.2856, 0.3001, 0.2363, 0.1333};
constexpr float kC1 = 0.01f * 0.01f;
constexpr float kC2 = 0.03f * 0.03f;

void check_comparable(const ConstImageView& a, const ConstImageView& b, double max_value) {
    if (a.shape != b.shape) {
        throw Error(ErrorCode::bad_argument, "images of different shape or sample type cannot be compared", "pixels",
                    "pass two images of the same height, width, channels and depth");
    }
    if (!(max_value > 0) || std::isinf(max_value)) {
        throw Error(ErrorCode::bad_argument, "max_value must be a positive number", "max_value",
                    "pass the largest value a sample can have, such as 255");
    }
}

template <typename Sample>
std::uint64_t squared_difference(const Sample* a, const Sample* b, std::size_t count) {
    // 8-bit squares fit 32 bits for a while, and 32-bit lanes are twice as many.
    constexpr std::size_t chunk = sizeof(Sample) == 1 ? 16384 : 1;
    std::uint64_t total = 0;
    for (std::size_t begin = 0; begin < count; begin += chunk) {
        const std::size_t end = std::min(count, begin + chunk);
        std::uint32_t sum = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const std::int32_t difference = std::int32_t{a[i]} - std::int32_t{b[i]};
            sum += static_cast<std::uint32_t>(difference) * static_cast<std::uint32_t>(difference);
        }
        total += sum;
    }
    return total;
}

std::uint64_t squared_difference(const ConstImageView& a, const ConstImageView& b) {
    const std::size_t count = std::size_t{a.shape.width} * a.shape.channels;
    std::uint64_t total = 0;
    for (std::uint32_t y = 0; y < a.shape.height; ++y) {
        total += a.shape.sample_bytes == 1
                     ? squared_difference(a.row(y), b.row(y), count)
                     : squared_difference(reinterpret_cast<const std::uint16_t*>(a.row(y)),
                                          reinterpret_cast<const std::uint16_t*>(b.row(y)), count);
    }
    return total;
}

/// One channel of both images as half their sum, centred on 0, and half their difference: SSIM needs only the local
/// means and variances of these two, four filters instead of five, and centring keeps single precision exact enough.
struct Pair {
    std::size_t height = 0;
    std::size_t width = 0;
    std::vector<float> sum;
    std::vector<float> difference;

    Pair(std::size_t rows, std::size_t columns)
        : height(rows), width(columns), sum(rows * columns), difference(rows * columns) {}
};

template <typename Sample>
void load_rows(const ConstImageView& a, const ConstImageView& b, std::size_t channel, float scale, Pair& out) {
    const std::size_t step = a.shape.channels;
    for (std::size_t y = 0; y < out.height; ++y) {
        const auto* row_a = reinterpret_cast<const Sample*>(a.row(y)) + channel;
        const auto* row_b = reinterpret_cast<const Sample*>(b.row(y)) + channel;
        float* sum = out.sum.data() + y * out.width;
        float* difference = out.difference.data() + y * out.width;
        for (std::size_t x = 0; x < out.width; ++x) {
            const auto sample_a = static_cast<float>(row_a[x * step]);
            const auto sample_b = static_cast<float>(row_b[x * step]);
            sum[x] = (sample_a + sample_b) * scale - 0.5f;
            difference[x] = (sample_a - sample_b) * scale;
        }
    }
}

Pair load_channel(const ConstImageView& a, const ConstImageView& b, std::size_t channel, double max_value) {
    Pair pair(a.shape.height, a.shape.width);
    const auto scale = static_cast<float>(0.5 / max_value);
    if (a.shape.sample_bytes == 1) {
        load_rows<std::uint8_t>(a, b, channel, scale, pair);
    } else {
        load_rows<std::uint16_t>(a, b, channel, scale, pair);
    }
    return pair;
}

void halve_plane(const std::vector<float>& source, std::size_t height, std::size_t width, std::vector<float>& out) {
    const std::size_t out_width = (width + 1) / 2;
    for (std::size_t y = 0; y < (height + 1) / 2; ++y) {
        const float* upper = source.data() + 2 * y * width;
        const float* lower = source.data() + std::min(2 * y + 1, height - 1) * width;
        float* row = out.data() + y * out_width;
        for (std::size_t x = 0; x < width / 2; ++x) {
            row[x] = 0.25f * (upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1]);
        }
        if (width % 2 != 0) row[out_width - 1] = 0.5f * (upper[width - 1] + lower[width - 1]);
    }
}

Pair halve(const Pair& source) {
    Pair half((source.height + 1) / 2, (source.width + 1) / 2);
    halve_plane(source.sum, source.height, source.width, half.sum);
    halve_plane(source.difference, source.height, source.width, half.difference);
    return half;
}

using Window = std::array<float, kTaps>;

/// A Gaussian over `size` pixels; the taps beyond it are 0, so that small images run the same code.
Window gaussian_window(std::size_t size) {
    std::array<double, kTaps> taps{};
    double total = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const double distance = static_cast<double>(i) - static_cast<double>(size - 1) / 2;
        taps[i] = std::exp(-distance * distance / (2 * kSigma * kSigma));
        total += taps[i];
    }
    Window window{};
    for (std::size_t i = 0; i < size; ++i) window[i] = static_cast<float>(taps[i] / total);
    return window;
}

/// Local moments of one row: the mean of half sum and half difference, and of their squares.
struct Moments {
    std::vector<float> sum, difference, sum_squared, difference_squared;

    explicit Moments(std::size_t width)
        : sum(width), difference(width), sum_squared(width), difference_squared(width) {}
};

void filter_columns(const Pair& pair, std::size_t y, const Window& window, Moments& out) {
    std::array<const float*, kTaps> sums;
    std::array<const float*, kTaps> differences;
    for (std::size_t i = 0; i < kTaps; ++i) {
        const std::size_t offset = std::min(y + i, pair.height - 1) * pair.width;
        sums[i] = pair.sum.data() + offset;
        differences[i] = pair.difference.data() + offset;
    }
    float* __restrict sum = out.sum.data();
    float* __restrict difference = out.difference.data();
    float* __restrict sum_squared = out.sum_squared.data();
    float* __restrict difference_squared = out.difference_squared.data();
    for (std::size_t x = 0; x < pair.width; ++x) {
        float s = 0, d = 0, ss = 0, dd = 0;
        for (std::size_t i = 0; i < kTaps; ++i) {
            const float weighted_sum = window[i] * sums[i][x];
            const float weighted_difference = window[i] * differences[i][x];
            s += weighted_sum;
            d += weighted_difference;
            ss += weighted_sum * sums[i][x];
            dd += weighted_difference * differences[i][x];
        }
        sum[x] = s;
        difference[x] = d;
        sum_squared[x] = ss;
        difference_squared[x] = dd;
    }
}

void filter_row(const std::vector<float>& source, const Window& window, std::size_t count, std::vector<float>& out) {
    const float* __restrict from = source.data();
    float* __restrict to = out.data();
    for (std::size_t x = 0; x < count; ++x) {
        float total = 0;
        for (std::size_t i = 0; i < kTaps; ++i) total += window[i] * from[x + i];
        to[x] = total;
    }
}

/// Sums of a scale's maps: contrast and structure alone, and times luminance.
struct Similarity {
    double contrast = 0;
    double full = 0;
};

Similarity compare_row(const Moments& row, std::size_t count) {
    Similarity total;
    for (std::size_t x = 0; x < count; ++x) {
        const float mean_sum = row.sum[x] + 0.5f;
        const float mean_difference = row.difference[x];
        const float squares = mean_sum * mean_sum;
        const float squared_difference = mean_difference * mean_difference;
        const float variance_sum = row.sum_squared[x] - row.sum[x] * row.sum[x];
        const float variance_difference = row.difference_squared[x] - squared_difference;
        const float luminance = (2 * (squares - squared_difference) + kC1) / (2 * (squares + squared_difference) + kC1);
        const float contrast =
            (2 * (variance_sum - variance_difference) + kC2) / (2 * (variance_sum + variance_difference) + kC2);
        total.contrast += static_cast<double>(contrast);
        total.full += static_cast<double>(luminance * contrast);
    }
    return total;
}

/// Means over all windows inside the image.
Similarity compare_scale(const Pair& pair) {
    const std::size_t rows = std::min(kTaps, pair.height);
    const std::size_t columns = std::min(kTaps, pair.width);
    const Window vertical = gaussian_window(rows);
    const Window horizontal = gaussian_window(columns);
    const std::size_t count_y = pair.height - rows + 1;
    const std::size_t count_x = pair.width - columns + 1;
    Moments filtered(pair.width + kTaps);  // the horizontal taps of narrow images reach into the zeros behind
    Moments row(count_x);
    Similarity total;
    for (std::size_t y = 0; y < count_y; ++y) {
        filter_columns(pair, y, vertical, filtered);
        filter_row(filtered.sum, horizontal, count_x, row.sum);
        filter_row(filtered.difference, horizontal, count_x, row.difference);
        filter_row(filtered.sum_squared, horizontal, count_x, row.sum_squared);
        filter_row(filtered.difference_squared, horizontal, count_x, row.difference_squared);
        const Similarity here = compare_row(row, count_x);
        total.contrast += here.contrast;
        total.full += here.full;
    }
    const auto windows = static_cast<double>(count_y * count_x);
    return {total.contrast / windows, total.full / windows};
}

std::size_t num_scales(const PixelShape& shape) {
    const std::size_t side = std::min(shape.width, shape.height);
    std::size_t scales = 1;
    while (scales < kScaleWeights.size() && (side >> scales) >= kTaps) ++scales;
    return scales;
}

double ms_ssim_of_channel(Pair pair, std::size_t scales) {
    double total_weight = 0;
    for (std::size_t i = 0; i < scales; ++i) total_weight += kScaleWeights[i];
    double product = 1;
    for (std::size_t scale = 0; scale < scales; ++scale) {
        const Similarity similarity = compare_scale(pair);
        const bool is_last = scale + 1 == scales;
        const double value = std::max(0.0, is_last ? similarity.full : similarity.contrast);
        product *= std::pow(value, kScaleWeights[scale] / total_weight);
        if (!is_last) pair = halve(pair);
    }
    return product;
}

}  // namespace

double psnr(ConstImageView a, ConstImageView b, double max_value) {
    check_comparable(a, b, max_value);
    const std::uint64_t total = squared_difference(a, b);
    if (total == 0) return std::numeric_limits<double>::infinity();
    const double samples = static_cast<double>(a.shape.pixels()) * a.shape.channels;
    return 10 * std::log10(max_value * max_value * samples / static_cast<double>(total));
}

double ms_ssim(ConstImageView a, ConstImageView b, double max_value) {
    check_comparable(a, b, max_value);
    const std::size_t scales = num_scales(a.shape);
    double total = 0;
    for (std::size_t channel = 0; channel < a.shape.channels; ++channel) {
        total += ms_ssim_of_channel(load_channel(a, b, channel, max_value), scales);
    }
    return total / a.shape.channels;
}

}  // namespace penstock
