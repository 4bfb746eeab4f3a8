#include "pixels/color.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace penstock {

namespace {

using Table = std::array<std::uint8_t, 256>;

std::uint8_t grey_of(const std::uint8_t* rgb) noexcept {
    return static_cast<std::uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

/// From `from` to `to` by `factor`, and beyond if it is above 1; cut off, not rounded.
std::uint8_t blend(int from, int to, float factor) noexcept {
    const float mixed = static_cast<float>(from) + factor * static_cast<float>(to - from);
    return static_cast<std::uint8_t>(std::clamp(mixed, 0.0f, 255.0f));
}

Table blend_table(int from, float factor) noexcept {
    Table table;
    for (int value = 0; value < 256; ++value) table[static_cast<std::size_t>(value)] = blend(from, value, factor);
    return table;
}

/// Visits pixels, of which `colors` samples are colours.
template <typename Visit>
void visit_pixels(ImageView image, Visit visit) {
    for (std::uint32_t y = 0; y < image.shape.height; ++y) {
        std::uint8_t* pixel = image.row(y);
        for (std::uint32_t x = 0; x < image.shape.width; ++x, pixel += image.shape.channels) visit(pixel);
    }
}

bool has_colors(ImageView image) { return image.shape.channels >= 3; }

void look_up(ImageView image, const Table& table) {
    if (image.shape.channels == 1 || image.shape.channels == 3) {
        for (std::uint32_t y = 0; y < image.shape.height; ++y) {
            std::uint8_t* row = image.row(y);
            for (std::size_t i = 0; i < image.shape.row_bytes(); ++i) row[i] = table[row[i]];
        }
        return;
    }
    const std::size_t colors = has_colors(image) ? 3 : 1;
    visit_pixels(image, [&](std::uint8_t* pixel) {
        for (std::size_t c = 0; c < colors; ++c) pixel[c] = table[pixel[c]];
    });
}

int mean_grey(ImageView image) {
    std::uint64_t total = 0;
    if (has_colors(image)) {
        visit_pixels(image, [&total](const std::uint8_t* pixel) { total += grey_of(pixel); });
    } else {
        visit_pixels(image, [&total](const std::uint8_t* pixel) { total += *pixel; });
    }
    return static_cast<int>(static_cast<double>(total) / static_cast<double>(image.shape.pixels()) + 0.5);
}

void saturate(ImageView image, float factor) {
    if (!has_colors(image)) return;
    visit_pixels(image, [factor](std::uint8_t* pixel) {
        const int grey = grey_of(pixel);
        for (std::size_t c = 0; c < 3; ++c) pixel[c] = blend(grey, pixel[c], factor);
    });
}

/// Hue and saturation as bytes; the value is the largest channel.
struct Hsv {
    std::uint8_t hue = 0;
    std::uint8_t saturation = 0;
    std::uint8_t value = 0;
};

Hsv to_hsv(const std::uint8_t* rgb) noexcept {
    const std::uint8_t high = std::max({rgb[0], rgb[1], rgb[2]});
    const std::uint8_t low = std::min({rgb[0], rgb[1], rgb[2]});
    if (high == low) return {0, 0, high};
    const auto range = static_cast<float>(high - low);
    const float red = static_cast<float>(high - rgb[0]) / range;
    const float green = static_cast<float>(high - rgb[1]) / range;
    const float blue = static_cast<float>(high - rgb[2]) / range;
    float sector = 0;
    if (rgb[0] == high) {
        sector = blue - green;
    } else if (rgb[1] == high) {
        sector = static_cast<float>(2.0 + static_cast<double>(red) - static_cast<double>(blue));
    } else {
        sector = static_cast<float>(4.0 + static_cast<double>(green) - static_cast<double>(red));
    }
    const auto turn = static_cast<float>(std::fmod(static_cast<double>(sector) / 6.0 + 1.0, 1.0));
    const float saturation = range / static_cast<float>(high);
    return {static_cast<std::uint8_t>(static_cast<double>(turn) * 255.0),
            static_cast<std::uint8_t>(static_cast<double>(saturation) * 255.0), high};
}

void from_hsv(const Hsv& hsv, std::uint8_t* rgb) noexcept {
    if (hsv.saturation == 0) {
        rgb[0] = rgb[1] = rgb[2] = hsv.value;
        return;
    }
    const auto turn = static_cast<float>(hsv.hue * 6.0 / 255.0);
    const auto saturation = static_cast<float>(hsv.saturation / 255.0);
    const auto sector = static_cast<int>(turn);
    const float part = turn - static_cast<float>(sector);
    const double value = hsv.value;
    // Single precision before it is rounded, as Pillow's variables have it.
    const auto level = [value](double share) {
        return static_cast<std::uint8_t>(std::round(static_cast<float>(value * share)));
    };
    const auto s = static_cast<double>(saturation);
    const std::uint8_t p = level(1.0 - s);
    const std::uint8_t q = level(1.0 - s * static_cast<double>(part));
    const std::uint8_t t = level(1.0 - s * (1.0 - static_cast<double>(part)));
    const std::uint8_t v = hsv.value;
    const std::array<std::array<std::uint8_t, 3>, 6> sectors{
        {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}}};
    std::copy_n(sectors[static_cast<std::size_t>(sector % 6)].begin(), 3, rgb);
}

void turn_hue(ImageView image, float factor) {
    if (!has_colors(image)) return;
    const auto shift = static_cast<std::uint8_t>(static_cast<int>(static_cast<double>(factor) * 255.0));
    visit_pixels(image, [shift](std::uint8_t* pixel) {
        Hsv hsv = to_hsv(pixel);
        hsv.hue = static_cast<std::uint8_t>(hsv.hue + shift);
        from_hsv(hsv, pixel);
    });
}

}  // namespace

void recolor(ImageView image, const ColorDraw& color) {
    if (image.shape.sample_bytes != 1) {
        throw Error(ErrorCode::bad_argument, "ColorJitter works on 8-bit pixels, these have 16", "transforms",
                    "put ToDtype('uint8', scale=True) first");
    }
    for (std::size_t i = 0; i < color.count; ++i) {
        const float factor = color.factors[i];
        switch (color.order[i]) {
            case ColorChange::brightness: look_up(image, blend_table(0, factor)); break;
            case ColorChange::contrast: look_up(image, blend_table(mean_grey(image), factor)); break;
            case ColorChange::saturation: saturate(image, factor); break;
            case ColorChange::hue: turn_hue(image, factor); break;
        }
    }
}

}  // namespace penstock
