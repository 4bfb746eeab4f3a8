#include "pixels/tally.h"

#include <algorithm>
#include <cstring>

namespace penstock {

namespace {

using Counts = std::array<std::uint32_t, 256>;

/// Two counters a level, so that equal neighbours do not wait for each other.
template <std::size_t kChannels>
void count_row(const std::uint8_t* row, std::size_t pixels, std::array<Counts, 6>& counts) {
    constexpr std::size_t colors = num_colors(kChannels);
    std::size_t x = 0;
    for (; x + 2 <= pixels; x += 2) {
        const std::uint8_t* pixel = row + x * kChannels;
        for (std::size_t c = 0; c < colors; ++c) {
            ++counts[c][pixel[c]];
            ++counts[3 + c][pixel[kChannels + c]];
        }
    }
    if (x == pixels) return;
    for (std::size_t c = 0; c < colors; ++c) ++counts[c][row[x * kChannels + c]];
}

void count(const std::uint8_t* row, std::size_t pixels, std::size_t channels, std::array<Counts, 6>& counts) {
    switch (channels) {
        case 1: return count_row<1>(row, pixels, counts);
        case 2: return count_row<2>(row, pixels, counts);
        case 3: return count_row<3>(row, pixels, counts);
        default: return count_row<4>(row, pixels, counts);
    }
}

}  // namespace

std::array<Levels, 3> autocontrast_levels(ConstImageView image) noexcept {
    LevelLimits limits;
    std::memset(limits.lows, 255, sizeof limits.lows);
    std::memset(limits.highs, 0, sizeof limits.highs);
    const TableKernels& kernels = active_table_kernels();
    for (std::uint32_t y = 0; y < image.shape.height; ++y) kernels.widen(image.row(y), image.shape.row_bytes(), limits);
    std::array<Levels, 3> levels;
    const std::size_t channels = image.shape.channels;
    for (std::size_t c = 0; c < num_colors(channels); ++c) {
        int low = 255;
        int high = 0;
        for (std::size_t i = c; i < LevelLimits::kLanes; i += channels) {
            low = std::min<int>(low, limits.lows[i]);
            high = std::max<int>(high, limits.highs[i]);
        }
        levels[c] = stretched_levels(low, high);
    }
    return levels;
}

std::array<Levels, 3> equalize_levels(ConstImageView image) noexcept {
    std::array<Counts, 6> counts{};
    for (std::uint32_t y = 0; y < image.shape.height; ++y) {
        count(image.row(y), image.shape.width, image.shape.channels, counts);
    }
    for (std::size_t c = 0; c < 3; ++c) {
        for (std::size_t i = 0; i < 256; ++i) counts[c][i] += counts[3 + c][i];
    }
    return {equalized_levels(counts[0]), equalized_levels(counts[1]), equalized_levels(counts[2])};
}

}  // namespace penstock
