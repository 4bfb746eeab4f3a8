#include "pixels/color.h"

#include "base/cpu.h"
#include "base/error.h"
#include "pixels/color_kernels.h"
#include "pixels/tally.h"

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

template <typename Function>
void visit_rows(ImageView image, Function function) {
    for (std::uint32_t y = 0; y < image.shape.height; ++y) {
        function(image.row(y), image.shape.width, image.shape.channels);
    }
}

std::uint64_t sum_samples(const std::uint8_t* row, std::size_t pixels, std::size_t channels) {
    std::uint64_t total = 0;
    for (std::size_t x = 0; x < pixels; ++x) total += row[x * channels];
    return total;
}

int mean_grey(ImageView image) {
    const auto sum = has_colors(image) ? active_kernels().sum_greys : sum_samples;
    std::uint64_t total = 0;
    visit_rows(image, [&](auto... row) { total += sum(row...); });
    return static_cast<int>(static_cast<double>(total) / static_cast<double>(image.shape.pixels()) + 0.5);
}

/// Blends colours with their grey: 0 gives grey, 1 changes nothing.
void saturate(ImageView image, float factor) {
    if (!has_colors(image)) return;
    visit_rows(image, [factor, &kernels = active_kernels()](auto... row) { kernels.saturate(row..., factor); });
}

void turn_hue(ImageView image, double factor) {
    if (!has_colors(image)) return;
    const auto shift = static_cast<std::uint8_t>(static_cast<int>(factor * 255.0));
    visit_rows(image, [shift, &kernels = active_kernels()](auto... row) { kernels.turn_hue(row..., shift); });
}

}  // namespace

/// Returns whether the change is a table, which waits from now on.
bool Recoloring::append_table(ImageView image, const Change& change) {
    const std::size_t channels = image.shape.channels;
    const auto factor = static_cast<float>(change.value);
    const auto number = static_cast<int>(change.value);
    TableStack& tables = scratch_.tables;
    switch (change.kind) {
        case ChangeKind::brightness: tables.append(blended_levels(0, factor), channels); return true;
        case ChangeKind::invert: tables.append(inverted_levels(), channels); return true;
        case ChangeKind::posterize: tables.append(posterized_levels(number), channels); return true;
        case ChangeKind::solarize: tables.append(solarized_levels(change.value), channels); return true;
        case ChangeKind::solarize_add:
            tables.append(solarize_added_levels(number, change.threshold), channels);
            return true;
        // The others look at pixels, so that what waits comes first.
        case ChangeKind::contrast:
            settle(image);
            tables.append(blended_levels(mean_grey(image), factor), channels);
            return true;
        case ChangeKind::autocontrast:
            settle(image);
            tables.append(autocontrast_levels(image), channels);
            return true;
        case ChangeKind::equalize:
            settle(image);
            tables.append(equalize_levels(image), channels);
            return true;
        default: return false;
    }
}

void Recoloring::change(ImageView image, const Change& change) {
    if (image.shape.sample_bytes != 1) {
        throw Error(ErrorCode::bad_argument, "changes of colour work on 8-bit pixels, these have 16", "transforms",
                    "put ToDtype('uint8', scale=True) first");
    }
    if (append_table(image, change)) return;
    settle(image);
    const auto factor = static_cast<float>(change.value);
    switch (change.kind) {
        case ChangeKind::saturation: return saturate(image, factor);
        case ChangeKind::grey: return saturate(image, 0);
        case ChangeKind::hue: return turn_hue(image, change.value);
        case ChangeKind::sharpness: return sharpen(image, factor, scratch_.blur);
        case ChangeKind::pillow_blur: return pillow_blur(image, factor, scratch_.blur);
        case ChangeKind::gaussian_blur: return gaussian_blur(image, change.value, change.kernel, scratch_.blur);
        default: return;
    }
}

}  // namespace penstock
