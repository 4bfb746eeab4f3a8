// Changes of colour, written once for every instruction set: loops over a few pixels at a time, without branches, that
// the compiler turns into vectors of the set at hand. Included by `color_<path>.cpp` and by nothing else.
//
// The steps of precision are Pillow's, so that its pixels come out: what it keeps in a float is rounded to one here,
// what it computes in double is. Everything has internal linkage (see png_unfilter_kernels.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "pixels/color_kernels.h"

namespace penstock {

namespace {

constexpr std::size_t kChunk = 64;

/// The colours of up to `kChunk` pixels, channel by channel.
struct Colors {
    std::int32_t red[kChunk];
    std::int32_t green[kChunk];
    std::int32_t blue[kChunk];
};

template <std::size_t kChannels>
inline void load(const std::uint8_t* pixels, std::size_t count, Colors& colors) {
    for (std::size_t i = 0; i < count; ++i) {
        colors.red[i] = pixels[i * kChannels];
        colors.green[i] = pixels[i * kChannels + 1];
        colors.blue[i] = pixels[i * kChannels + 2];
    }
}

template <std::size_t kChannels>
inline void store(const Colors& colors, std::size_t count, std::uint8_t* pixels) {
    for (std::size_t i = 0; i < count; ++i) {
        pixels[i * kChannels] = static_cast<std::uint8_t>(colors.red[i]);
        pixels[i * kChannels + 1] = static_cast<std::uint8_t>(colors.green[i]);
        pixels[i * kChannels + 2] = static_cast<std::uint8_t>(colors.blue[i]);
    }
}

inline std::int32_t grey_of(std::int32_t red, std::int32_t green, std::int32_t blue) {
    return (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16;
}

/// Blends `from` and `to` by `factor`, and beyond `to` if it is above 1. Truncates instead of rounding.
inline std::int32_t blended(std::int32_t from, std::int32_t to, float factor) {
    const float mixed = static_cast<float>(from) + factor * static_cast<float>(to - from);
    const float above = mixed < 0.0f ? 0.0f : mixed;
    return static_cast<std::int32_t>(above > 255.0f ? 255.0f : above);
}

inline void saturate_colors(Colors& colors, float factor) {
    for (std::size_t i = 0; i < kChunk; ++i) {
        const std::int32_t grey = grey_of(colors.red[i], colors.green[i], colors.blue[i]);
        colors.red[i] = blended(grey, colors.red[i], factor);
        colors.green[i] = blended(grey, colors.green[i], factor);
        colors.blue[i] = blended(grey, colors.blue[i], factor);
    }
}

/// Hue and saturation as bytes; the value is the largest colour.
struct Hsv {
    std::int32_t hue[kChunk];
    std::int32_t saturation[kChunk];
    std::int32_t value[kChunk];
};

inline void to_hsv(const Colors& colors, Hsv& hsv) {
    for (std::size_t i = 0; i < kChunk; ++i) {
        const std::int32_t red = colors.red[i];
        const std::int32_t green = colors.green[i];
        const std::int32_t blue = colors.blue[i];
        const std::int32_t upper = red > green ? red : green;
        const std::int32_t lower = red < green ? red : green;
        const std::int32_t high = upper > blue ? upper : blue;
        const std::int32_t low = lower < blue ? lower : blue;
        const std::int32_t range = high - low;
        const float divisor = static_cast<float>(range == 0 ? 1 : range);
        const float from_red = static_cast<float>(high - red) / divisor;
        const float from_green = static_cast<float>(high - green) / divisor;
        const float from_blue = static_cast<float>(high - blue) / divisor;
        // One of the two distances is 1, so that the sum of three numbers needs no more than one rounding.
        const float near_red = from_blue - from_green;
        const float near_green = from_blue == 1.0f ? 1.0f + from_red : 3.0f - from_blue;
        const float near_blue = from_red == 1.0f ? 3.0f + from_green : 5.0f - from_red;
        const float sector = red == high ? near_red : green == high ? near_green : near_blue;
        const double turned = static_cast<double>(sector) / 6.0 + 1.0;
        const double whole = turned >= 1.0 ? 1.0 : 0.0;  // it is below 2
        const auto turn = static_cast<float>(turned - whole);
        const float saturation = static_cast<float>(range) / static_cast<float>(high == 0 ? 1 : high);
        const auto hue_byte = static_cast<std::int32_t>(static_cast<double>(turn) * 255.0);
        hsv.hue[i] = range == 0 ? 0 : hue_byte;
        hsv.saturation[i] = static_cast<std::int32_t>(static_cast<double>(saturation) * 255.0);
        hsv.value[i] = high;
    }
}

/// A share of `value`, rounded: to a float, then to the nearest integer.
inline std::int32_t level(double value, double share) {
    const auto exact = static_cast<float>(value * share);
    return static_cast<std::int32_t>(static_cast<double>(exact) + 0.5);
}

inline void from_hsv(const Hsv& hsv, Colors& colors) {
    for (std::size_t i = 0; i < kChunk; ++i) {
        const auto turn = static_cast<float>(static_cast<double>(hsv.hue[i]) * 6.0 / 255.0);
        const auto saturation = static_cast<double>(static_cast<float>(static_cast<double>(hsv.saturation[i]) / 255.0));
        const auto sector = static_cast<std::int32_t>(turn);
        const auto part = static_cast<double>(turn - static_cast<float>(sector));
        const std::int32_t v = hsv.value[i];
        const auto value = static_cast<double>(v);
        const std::int32_t p = level(value, 1.0 - saturation);
        const std::int32_t q = level(value, 1.0 - saturation * part);
        const std::int32_t t = level(value, 1.0 - saturation * (1.0 - part));
        // Sector 6 is sector 0 again. Without saturation p, q and t are v.
        colors.red[i] = sector == 1 ? q : sector == 2 || sector == 3 ? p : sector == 4 ? t : v;
        colors.green[i] = sector == 1 || sector == 2 ? v : sector == 3 ? q : sector == 4 || sector == 5 ? p : t;
        colors.blue[i] = sector == 2 ? t : sector == 3 || sector == 4 ? v : sector == 5 ? q : p;
    }
}

inline void turn_colors(Colors& colors, std::uint8_t shift) {
    Hsv hsv;
    to_hsv(colors, hsv);
    for (std::size_t i = 0; i < kChunk; ++i) hsv.hue[i] = (hsv.hue[i] + shift) & 255;
    from_hsv(hsv, colors);
}

/// Changes the pixels of a row, `kChunk` at a time.
template <std::size_t kChannels, typename Change>
inline void change_row(std::uint8_t* row, std::size_t pixels, Change change) {
    Colors colors = {};
    for (std::size_t x = 0; x < pixels; x += kChunk) {
        const std::size_t count = pixels - x < kChunk ? pixels - x : kChunk;
        load<kChannels>(row + x * kChannels, count, colors);
        change(colors);
        store<kChannels>(colors, count, row + x * kChannels);
    }
}

void saturate(std::uint8_t* row, std::size_t pixels, std::size_t channels, float factor) {
    const auto change = [factor](Colors& colors) { saturate_colors(colors, factor); };
    channels == 3 ? change_row<3>(row, pixels, change) : change_row<4>(row, pixels, change);
}

void turn_hue(std::uint8_t* row, std::size_t pixels, std::size_t channels, std::uint8_t shift) {
    const auto change = [shift](Colors& colors) { turn_colors(colors, shift); };
    channels == 3 ? change_row<3>(row, pixels, change) : change_row<4>(row, pixels, change);
}

template <std::size_t kChannels>
std::uint64_t sum_greys_of(const std::uint8_t* row, std::size_t pixels) {
    std::uint64_t total = 0;
    Colors colors = {};
    for (std::size_t x = 0; x < pixels; x += kChunk) {
        const std::size_t count = pixels - x < kChunk ? pixels - x : kChunk;
        load<kChannels>(row + x * kChannels, count, colors);
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += grey_of(colors.red[i], colors.green[i], colors.blue[i]);
        total += static_cast<std::uint64_t>(sum);
    }
    return total;
}

std::uint64_t sum_greys(const std::uint8_t* row, std::size_t pixels, std::size_t channels) {
    return channels == 3 ? sum_greys_of<3>(row, pixels) : sum_greys_of<4>(row, pixels);
}

void blend(std::uint8_t* row, std::size_t pixels, std::size_t channels, int from, float factor) {
    if (channels == 1 || channels == 3) {
        for (std::size_t i = 0; i < pixels * channels; ++i) {
            row[i] = static_cast<std::uint8_t>(blended(from, row[i], factor));
        }
        return;
    }
    for (std::size_t i = 0; i < pixels * channels; ++i) {
        const auto changed = static_cast<std::uint8_t>(blended(from, row[i], factor));
        row[i] = i % channels == channels - 1 ? row[i] : changed;  // alpha stays
    }
}

constexpr ColorKernels kKernels{blend, saturate, turn_hue, sum_greys};

}  // namespace

}  // namespace penstock
