#include "pixels/color.h"

#include "base/cpu.h"
#include "base/error.h"
#include "pixels/color_kernels.h"

namespace penstock {

namespace {

const ColorKernels& active_kernels() noexcept {
#if defined(__x86_64__)
    const SimdPath path = active_simd_path();
    if (path >= SimdPath::avx512) return kColorAvx512;
    if (path >= SimdPath::avx2) return kColorAvx2;
#endif
    return kColorPlain;
}

bool has_colors(ImageView image) { return image.shape.channels >= 3; }

template <typename Change>
void visit_rows(ImageView image, Change change) {
    for (std::uint32_t y = 0; y < image.shape.height; ++y) change(image.row(y));
}

std::uint64_t sum_samples(const std::uint8_t* row, std::size_t pixels, std::size_t channels) {
    std::uint64_t total = 0;
    for (std::size_t x = 0; x < pixels; ++x) total += row[x * channels];
    return total;
}

int mean_grey(ImageView image, const ColorKernels& kernels) {
    const auto sum = has_colors(image) ? kernels.sum_greys : sum_samples;
    std::uint64_t total = 0;
    visit_rows(image, [&](const std::uint8_t* row) { total += sum(row, image.shape.width, image.shape.channels); });
    return static_cast<int>(static_cast<double>(total) / static_cast<double>(image.shape.pixels()) + 0.5);
}

void change(ImageView image, ColorChange change, float factor, const ColorKernels& kernels) {
    const std::size_t width = image.shape.width;
    const std::size_t channels = image.shape.channels;
    switch (change) {
        case ColorChange::brightness:
            return visit_rows(image, [&](std::uint8_t* row) { kernels.blend(row, width, channels, 0, factor); });
        case ColorChange::contrast: {
            const int mean = mean_grey(image, kernels);
            return visit_rows(image, [&](std::uint8_t* row) { kernels.blend(row, width, channels, mean, factor); });
        }
        case ColorChange::saturation:
            if (!has_colors(image)) return;
            return visit_rows(image, [&](std::uint8_t* row) { kernels.saturate(row, width, channels, factor); });
        case ColorChange::hue: {
            if (!has_colors(image)) return;
            const auto shift = static_cast<std::uint8_t>(static_cast<int>(static_cast<double>(factor) * 255.0));
            return visit_rows(image, [&](std::uint8_t* row) { kernels.turn_hue(row, width, channels, shift); });
        }
    }
}

}  // namespace

void recolor(ImageView image, const ColorDraw& color) {
    if (image.shape.sample_bytes != 1) {
        throw Error(ErrorCode::bad_argument, "ColorJitter works on 8-bit pixels, these have 16", "transforms",
                    "put ToDtype('uint8', scale=True) first");
    }
    const ColorKernels& kernels = active_kernels();
    for (std::size_t i = 0; i < color.count; ++i) change(image, color.order[i], color.factors[i], kernels);
}

}  // namespace penstock
