#include "synth/shade.h"

#include <algorithm>
#include <array>

namespace penstock::synth {

namespace {

constexpr std::uint32_t kChunk = 64;
constexpr float kShade = 0.08f;  // no face is darker: the sky lights it
constexpr Colour kLuminance{0.2126f, 0.7152f, 0.0722f};

float luminance(const Colour& colour) {
    return colour[0] * kLuminance[0] + colour[1] * kLuminance[1] + colour[2] * kLuminance[2];
}

// By value, which compilers turn into vectors where they do not with `std::max`.
float at_least(float limit, float value) { return value > limit ? value : limit; }

using Chunk = std::array<float, kChunk>;

// The pattern of the grain: a wave whose phase wanders with the soft field and whose strength comes and goes with it.
void add_grain(float contrast, const Grain& grain, float x, float y, const float* soft, std::int32_t count,
               Chunk& tone) {
    const float height = contrast * grain.strength;
    const float start = 4096 + grain.cycles_x * x + grain.cycles_y * y;
    for (std::int32_t i = 0; i < count; ++i) {
        const float phase = start + grain.cycles_x * static_cast<float>(i) + 0.45f * soft[i];
        const float u = 2 * (phase - static_cast<float>(static_cast<std::int32_t>(phase))) - 1;
        const float wave = 4 * u * (1 - (u < 0 ? -u : u));  // a sine to within 6 %
        tone[i] += height * wave * (1 + 0.4f * soft[i]);
    }
}

// How the texture scales the light: e^tone to second order, and never negative.
void apply_tone(const Chunk& tone, float exposure, std::int32_t count, Chunk& light) {
    for (std::int32_t i = 0; i < count; ++i) {
        const float half = at_least(0.1f, 1 + 0.5f * tone[i]);
        light[i] *= half * half * exposure;
    }
}

void write_grey(const Surface& surface, const Chunk& light, std::int32_t count, float* out) {
    const float albedo = luminance(surface.albedo);
    for (std::int32_t i = 0; i < count; ++i) out[i] = albedo * light[i];
}

void write_colours(const Surface& surface, const Chunk& light, const float* soft, std::int32_t count, float* red,
                   float* green, float* blue) {
    const Colour& albedo = surface.albedo;
    for (std::int32_t i = 0; i < count; ++i) {
        const float wander = surface.chroma * soft[i];
        red[i] = albedo[0] * light[i] * (1 + wander);
        green[i] = albedo[1] * light[i];
        blue[i] = albedo[2] * light[i] * (1 - wander);
    }
}

}  // namespace

void Shader::shade_row(std::uint32_t y, std::span<float* const> planes) const {
    const std::uint16_t* cells = map_.row(y);
    for (std::uint32_t begin = 0; begin < width_;) {
        std::uint32_t end = begin + 1;
        while (end < width_ && cells[end] == cells[begin]) ++end;
        shade_run(scene_.surfaces[cells[begin]], y, begin, end, planes);
        begin = end;
    }
}

void Shader::shade_run(const Surface& surface, std::uint32_t y, std::uint32_t begin, std::uint32_t end,
                       std::span<float* const> planes) const {
    const float dy = static_cast<float>(y) - surface.centre.y;
    const float row_light = surface.light + surface.slope_y * dy - surface.round * dy * dy;
    const std::uint32_t width = rough_.width();
    std::int32_t count = 0;  // signed, 32 bits: vectors turn such numbers into floats, and no others
    for (; begin < end; begin += static_cast<std::uint32_t>(count)) {
        const std::uint32_t from = (begin + surface.offset_x) & (width - 1);
        count = static_cast<std::int32_t>(std::min({kChunk, end - begin, width - from}));
        const float* rough = rough_.row(y + surface.offset_y) + from;
        const float* soft = soft_.row(y + surface.offset_y) + from;
        const float dx0 = static_cast<float>(begin) - surface.centre.x;
        Chunk light;
        Chunk tone;
        for (std::int32_t i = 0; i < count; ++i) {
            const float dx = dx0 + static_cast<float>(i);
            light[i] = at_least(kShade, row_light + dx * (surface.slope_x - surface.round * dx));
            tone[i] = surface.rough * rough[i] + surface.soft * soft[i];
        }
        if (surface.grain > 0) {
            add_grain(surface.grain, scene_.grain, static_cast<float>(begin), static_cast<float>(y), soft, count, tone);
        }
        apply_tone(tone, scene_.exposure, count, light);
        if (planes.size() == 1) {
            write_grey(surface, light, count, planes[0] + begin);
        } else {
            write_colours(surface, light, soft, count, planes[0] + begin, planes[1] + begin, planes[2] + begin);
        }
    }
}

}  // namespace penstock::synth
