#include "pixels/erase.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "base/error.h"
#include "pixels/finish_kernels.h"

namespace penstock {

namespace {

std::int32_t rounded(double value) { return static_cast<std::int32_t>(std::nearbyint(value)); }

double uniform(Random& random, double low, double high) {
    return low + (high - low) * static_cast<double>(random.uniform());
}

/// Normal numbers of mean 0 and deviation 1, four of every block from `first_block` on (Box and Muller).
void fill_normal(const RandomKey& key, std::uint32_t first_block, std::vector<float>& out) {
    for (std::size_t i = 0; i < out.size(); i += 4) {
        const RandomBlock words = key.block(first_block++);
        std::array<float, 4> four{};
        for (std::size_t pair = 0; pair < 4; pair += 2) {
            const float above_zero = static_cast<float>((words[pair] >> 8) + 1) * 0x1p-24f;
            const float angle = static_cast<float>(words[pair + 1] >> 8) * (0x1p-23f * std::numbers::pi_v<float>);
            const float radius = std::sqrt(-2.0f * std::log(above_zero));
            four[pair] = radius * std::cos(angle);
            four[pair + 1] = radius * std::sin(angle);
        }
        for (std::size_t k = 0; k < 4 && i + k < out.size(); ++k) out[i + k] = four[k];
    }
}

template <typename Sample>
Sample sample_of(float value, SampleType type) {
    if (type == SampleType::float16) return static_cast<Sample>(to_half(value));
    if (type == SampleType::float32) return static_cast<Sample>(value);
    const float top = type == SampleType::uint8 ? 255.0f : 65535.0f;
    return static_cast<Sample>(std::clamp(value, 0.0f, top));
}

/// Writes a row of values to one channel.
template <typename Sample>
void write_row(const Slot& out, std::size_t channel, std::size_t y, std::size_t x, const std::vector<float>& values) {
    const bool planes = out.layout == Layout::nchw;
    const std::size_t width = out.size.width;
    const std::size_t step = planes ? 1 : out.channels;
    const std::size_t begin =
        planes ? (channel * out.size.height + y) * width + x : (y * width + x) * out.channels + channel;
    auto* to = static_cast<Sample*>(out.data) + begin;
    for (std::size_t i = 0; i < values.size(); ++i) to[i * step] = sample_of<Sample>(values[i], out.type);
}

void write_row(const Slot& out, std::size_t channel, std::size_t y, std::size_t x, const std::vector<float>& values) {
    switch (out.type) {
        case SampleType::uint8: return write_row<std::uint8_t>(out, channel, y, x, values);
        case SampleType::float32: return write_row<float>(out, channel, y, x, values);
        case SampleType::uint16:
        case SampleType::float16: return write_row<std::uint16_t>(out, channel, y, x, values);
    }
}

}  // namespace

void play(const RandomErasingOperation& operation, Random& random, Draw& draw, std::uint8_t place) {
    if (static_cast<double>(random.uniform()) >= operation.p) return;
    const std::uint32_t count = operation.min_count + random.below(operation.max_count - operation.min_count + 1);
    const auto height = static_cast<std::int32_t>(draw.output.height);
    const auto width = static_cast<std::int32_t>(draw.output.width);
    const double area = static_cast<double>(height) * width;
    const double log_min = std::log(operation.min_ratio);
    const double log_max = std::log(operation.max_ratio);
    for (std::uint32_t number = 0; number < count; ++number) {
        for (int attempt = 0; attempt < 10; ++attempt) {
            const double target = area * uniform(random, operation.min_scale, operation.max_scale) / count;
            const double ratio = std::exp(uniform(random, log_min, log_max));
            const std::int32_t h = rounded(std::sqrt(target * ratio));
            const std::int32_t w = rounded(std::sqrt(target / ratio));
            if (h >= height || w >= width) continue;
            const auto y = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(height - h + 1)));
            const auto x = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(width - w + 1)));
            draw.erase({y, x, h, w}, place);
            break;
        }
    }
}

void erase(const RandomErasingOperation& operation, const Rect& area, const RandomKey& key, std::uint32_t number,
           const Slot& out) {
    const std::vector<float>& given = operation.value;
    if (operation.mode == EraseMode::constant && given.size() != 1 && given.size() != out.channels) {
        throw Error(ErrorCode::bad_argument,
                    "RandomErasing has " + std::to_string(given.size()) + " values, the image " +
                        std::to_string(out.channels) + " channels",
                    "transforms", "give one value, or one per channel");
    }
    // The draws of the place use the first blocks; every area has its own beyond them.
    const std::uint32_t first_block = (number + 1) << 24;
    const auto width = static_cast<std::size_t>(area.width);
    const auto height = static_cast<std::uint32_t>(area.height);
    std::vector<float> values(width);
    std::vector<float> colors(out.channels);
    if (operation.mode == EraseMode::color) fill_normal(key, first_block, colors);
    const auto blocks_a_row = static_cast<std::uint32_t>((width + 3) / 4);
    for (std::uint32_t c = 0; c < out.channels; ++c) {
        if (operation.mode == EraseMode::constant) values.assign(width, given[given.size() == 1 ? 0 : c]);
        if (operation.mode == EraseMode::color) values.assign(width, colors[c]);
        for (std::uint32_t y = 0; y < height; ++y) {
            if (operation.mode == EraseMode::pixel) {
                fill_normal(key, first_block + (c * height + y) * blocks_a_row, values);
            }
            write_row(out, c, static_cast<std::size_t>(area.y) + y, static_cast<std::size_t>(area.x), values);
        }
    }
}

}  // namespace penstock
