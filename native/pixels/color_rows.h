// Changes of colour, written once for every instruction set: loops over a few pixels at a time, without branches, that
// the compiler turns into vectors of the set at hand. Included by `color_<path>.cpp` and by nothing else.
//
// The pixels are Pillow's. Everything has internal linkage (see png_unfilter_kernels.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "pixels/color_kernels.h"

namespace penstock {

namespace {

constexpr std::size_t kChunk = 64;

/// The colours of up to `kChunk` pixels, channel by channel. Those behind the last pixel are any.
struct Planes {
    alignas(64) std::uint8_t red[kChunk];
    alignas(64) std::uint8_t green[kChunk];
    alignas(64) std::uint8_t blue[kChunk];
};

/// Takes pixels apart and puts them together; alpha stays. Paths have faster ones for whole chunks of three channels.
struct PlainMover {
    template <std::size_t kChannels>
    static inline void load(const std::uint8_t* pixels, std::size_t count, Planes& planes) {
        for (std::size_t i = 0; i < count; ++i) {
            planes.red[i] = pixels[i * kChannels];
            planes.green[i] = pixels[i * kChannels + 1];
            planes.blue[i] = pixels[i * kChannels + 2];
        }
    }
    template <std::size_t kChannels>
    static inline void store(const Planes& planes, std::size_t count, std::uint8_t* pixels) {
        for (std::size_t i = 0; i < count; ++i) {
            pixels[i * kChannels] = planes.red[i];
            pixels[i * kChannels + 1] = planes.green[i];
            pixels[i * kChannels + 2] = planes.blue[i];
        }
    }
};

/// The colours of a chunk as integers of 32 bits.
struct Colors {
    std::int32_t red[kChunk];
    std::int32_t green[kChunk];
    std::int32_t blue[kChunk];
};

inline void widen(const Planes& planes, Colors& colors) {
    for (std::size_t i = 0; i < kChunk; ++i) colors.red[i] = planes.red[i];
    for (std::size_t i = 0; i < kChunk; ++i) colors.green[i] = planes.green[i];
    for (std::size_t i = 0; i < kChunk; ++i) colors.blue[i] = planes.blue[i];
}

inline void narrow(const Colors& colors, Planes& planes) {
    for (std::size_t i = 0; i < kChunk; ++i) planes.red[i] = static_cast<std::uint8_t>(colors.red[i]);
    for (std::size_t i = 0; i < kChunk; ++i) planes.green[i] = static_cast<std::uint8_t>(colors.green[i]);
    for (std::size_t i = 0; i < kChunk; ++i) planes.blue[i] = static_cast<std::uint8_t>(colors.blue[i]);
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

inline void grey_colors(Colors& colors) {
    for (std::size_t i = 0; i < kChunk; ++i) {
        const std::int32_t grey = grey_of(colors.red[i], colors.green[i], colors.blue[i]);
        colors.red[i] = colors.green[i] = colors.blue[i] = grey;
    }
}

/// Hue and saturation as bytes; the value is the largest colour.
struct Hsv {
    std::int32_t hue[kChunk];
    std::int32_t saturation[kChunk];
    std::int32_t value[kChunk];
};

// Pillow computes in double what it keeps in floats and bytes. Floats alone give the same byte for every colour; other
// orders of the same operations do not. `tests/parity/test_colors_pillow.py` compares all 2^24.
inline void to_hsv(const Colors& colors, Hsv& hsv) {
    for (std::size_t i = 0; i < kChunk; ++i) {
        const std::int32_t red = colors.red[i];
        const std::int32_t green = colors.green[i];
        const std::int32_t blue = colors.blue[i];
        const std::int32_t upper = red > green ? red : green;
        const std::int32_t high = upper > blue ? upper : blue;
        // The two colours behind the highest one, going round from red to green to blue. Masks, because choices by the
        // same conditions become branches, and the loop no vector.
        const std::int32_t first = -static_cast<std::int32_t>(red == high);
        const std::int32_t second = -static_cast<std::int32_t>(green == high) & ~first;
        const std::int32_t third = ~(first | second);
        const std::int32_t next = (green & first) | (blue & second) | (red & third);
        const std::int32_t last = (blue & first) | (red & second) | (green & third);
        const std::int32_t middle = next > last ? next : last;
        const std::int32_t low = next < last ? next : last;
        const std::int32_t range = high - low;
        // How far the middle colour is from the highest, of the whole range. The other two distances are 0 and 1.
        const float part = static_cast<float>(high - middle) / static_cast<float>(range == 0 ? 1 : range);
        const auto center = static_cast<float>((second & 2) | (third & 4));
        const float side = static_cast<float>(1 - 2 * static_cast<std::int32_t>(next < last));
        const float sector = (center + side) - side * part;
        const float turned = sector / 6.0f;
        const float turn = sector < 0.0f ? 1.0f + turned : turned;
        const auto hue = static_cast<std::int32_t>(turn * 255.0f);
        hsv.hue[i] = range == 0 ? 0 : hue;
        hsv.saturation[i] =
            static_cast<std::int32_t>(static_cast<float>(range * 255) / static_cast<float>(high == 0 ? 1 : high));
        hsv.value[i] = high;
    }
}

inline void from_hsv(const Hsv& hsv, Colors& colors) {
    // 6 / 255 in two parts, the product of the first with a byte being exact.
    constexpr float upper_part = 0x1.8180000000000p-6f;
    constexpr float lower_part = 0x1.8181820000000p-22f;
    for (std::size_t i = 0; i < kChunk; ++i) {
        const auto hue = static_cast<float>(hsv.hue[i]);
        const float turn = hue * upper_part + hue * lower_part;
        const auto sector = static_cast<std::int32_t>(turn);
        const float part = turn - static_cast<float>(sector);
        const std::int32_t v = hsv.value[i];
        const float above = static_cast<float>(v) + 0.5f;
        const float depth = static_cast<float>(v * hsv.saturation[i]) * (1.0f / 255.0f);
        const auto p = static_cast<std::int32_t>(above - depth);
        const auto q = static_cast<std::int32_t>(above - depth * part);
        const auto t = static_cast<std::int32_t>(above - depth * (1.0f - part));
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
template <typename Mover, std::size_t kChannels, typename Change>
inline void change_row(std::uint8_t* row, std::size_t pixels, Change change) {
    Planes planes = {};
    Colors colors;
    for (std::size_t x = 0; x < pixels; x += kChunk) {
        const std::size_t count = pixels - x < kChunk ? pixels - x : kChunk;
        Mover::template load<kChannels>(row + x * kChannels, count, planes);
        widen(planes, colors);
        change(colors);
        narrow(colors, planes);
        Mover::template store<kChannels>(planes, count, row + x * kChannels);
    }
}

template <typename Mover, typename Change>
inline void change_pixels(std::uint8_t* row, std::size_t pixels, std::size_t channels, Change change) {
    channels == 3 ? change_row<Mover, 3>(row, pixels, change) : change_row<Mover, 4>(row, pixels, change);
}

template <typename Mover>
void saturate(std::uint8_t* row, std::size_t pixels, std::size_t channels, float factor) {
    if (factor == 0.0f) {
        return change_pixels<Mover>(row, pixels, channels, [](Colors& colors) { grey_colors(colors); });
    }
    change_pixels<Mover>(row, pixels, channels, [factor](Colors& colors) { saturate_colors(colors, factor); });
}

template <typename Mover>
void turn_hue(std::uint8_t* row, std::size_t pixels, std::size_t channels, std::uint8_t shift) {
    change_pixels<Mover>(row, pixels, channels, [shift](Colors& colors) { turn_colors(colors, shift); });
}

template <typename Mover, std::size_t kChannels>
std::uint64_t sum_greys_of(const std::uint8_t* row, std::size_t pixels) {
    std::uint64_t total = 0;
    Planes planes = {};
    Colors colors;
    for (std::size_t x = 0; x < pixels; x += kChunk) {
        const std::size_t count = pixels - x < kChunk ? pixels - x : kChunk;
        if (count < kChunk) planes = {};  // what is behind the last pixel counts as black
        Mover::template load<kChannels>(row + x * kChannels, count, planes);
        widen(planes, colors);
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < kChunk; ++i) sum += grey_of(colors.red[i], colors.green[i], colors.blue[i]);
        total += static_cast<std::uint64_t>(sum);
    }
    return total;
}

template <typename Mover>
std::uint64_t sum_greys(const std::uint8_t* row, std::size_t pixels, std::size_t channels) {
    return channels == 3 ? sum_greys_of<Mover, 3>(row, pixels) : sum_greys_of<Mover, 4>(row, pixels);
}

template <typename Mover>
constexpr ColorKernels kKernels{saturate<Mover>, turn_hue<Mover>, sum_greys<Mover>};

}  // namespace

}  // namespace penstock
