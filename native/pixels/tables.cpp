#include "pixels/tables.h"

#include <algorithm>
#include <cmath>

#include "base/cpu.h"

namespace penstock {

const TableKernels& active_table_kernels() noexcept {
#if defined(__x86_64__)
    const SimdPath path = active_simd_path();
    if (path >= SimdPath::avx512) return kTableAvx512;
    if (path >= SimdPath::avx2) return kTableAvx2;
#endif
    return kTablePlain;
}

namespace {

template <typename Function>
Levels levels_of(Function function) {
    Levels levels;
    for (int i = 0; i < 256; ++i) levels[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(function(i));
    return levels;
}

}  // namespace

Levels identity_levels() noexcept {
    return levels_of([](int i) { return i; });
}

Levels inverted_levels() noexcept {
    return levels_of([](int i) { return 255 - i; });
}

Levels blended_levels(int from, float factor) noexcept {
    return levels_of([=](int i) {
        const float mixed = static_cast<float>(from) + factor * static_cast<float>(i - from);
        return static_cast<int>(std::clamp(mixed, 0.0f, 255.0f));
    });
}

Levels posterized_levels(int bits) noexcept {
    const int mask = bits >= 8 ? 0xff : 0xff & ~((1 << (8 - bits)) - 1);
    return levels_of([=](int i) { return i & mask; });
}

Levels solarized_levels(double threshold) noexcept {
    return levels_of([=](int i) { return i < threshold ? i : 255 - i; });
}

Levels solarize_added_levels(int add, double threshold) noexcept {
    return levels_of([=](int i) { return i < threshold ? std::clamp(i + add, 0, 255) : i; });
}

Levels stretched_levels(int low, int high) noexcept {
    if (high <= low) return identity_levels();
    const double scale = 255.0 / (high - low);
    const double offset = -low * scale;
    return levels_of([=](int i) { return std::clamp(static_cast<int>(i * scale + offset), 0, 255); });
}

Levels equalized_levels(const std::array<std::uint32_t, 256>& counts) noexcept {
    std::uint64_t total = 0;
    std::uint64_t highest = 0;
    for (const std::uint32_t count : counts) {
        total += count;
        if (count != 0) highest = count;
    }
    const std::uint64_t step = (total - highest) / 255;
    if (step == 0) return identity_levels();
    std::uint64_t sum = step / 2;
    return levels_of([&](int i) {
        const std::uint64_t level = std::min<std::uint64_t>(sum / step, 255);
        sum += counts[static_cast<std::size_t>(i)];
        return static_cast<int>(level);
    });
}

void TableStack::append(const Levels& levels, std::size_t channels) noexcept {
    append({levels, levels, levels}, channels);
}

void TableStack::append(const std::array<Levels, 3>& levels, std::size_t channels) noexcept {
    const std::size_t colors = num_colors(channels);
    if (!waiting_) {
        for (auto& table : tables_.levels) std::ranges::copy(identity_levels(), table);
        waiting_ = true;
    }
    for (std::size_t c = 0; c < colors; ++c) {
        for (std::uint8_t& level : tables_.levels[c]) level = levels[c][level];
    }
    tables_.same = true;
    for (std::size_t c = 1; c < channels; ++c) {
        tables_.same = tables_.same && std::ranges::equal(tables_.levels[c], tables_.levels[0]);
    }
}

void TableStack::apply(ImageView image) noexcept {
    if (!waiting_) return;
    const TableKernels& kernels = active_table_kernels();
    const std::size_t channels = image.shape.channels;
    for (std::uint32_t y = 0; y < image.shape.height; ++y) {
        kernels.look_up(image.row(y), image.shape.width, channels, tables_, image.row(y));
    }
    waiting_ = false;
}

}  // namespace penstock
