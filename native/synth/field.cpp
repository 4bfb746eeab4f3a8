#include "synth/field.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

namespace penstock::synth {

namespace {

constexpr std::uint32_t kCoarsestSide = 4;
constexpr std::uint32_t kLargestSide = 2048;

std::uint32_t side_for(std::uint32_t pixels) { return std::bit_ceil(std::clamp(pixels, kCoarsestSide, kLargestSide)); }

// Adds `amplitude` times uniform noise of deviation 1 to each value: a byte each, lowest of a word first.
void add_noise(std::vector<float>& values, float amplitude, const RandomKey& key) {
    static_assert(std::endian::native == std::endian::little, "the bytes of a word are taken as they lie in memory");
    constexpr std::size_t chunk = 256;
    std::array<std::uint32_t, chunk> words;
    std::array<std::uint8_t, 4 * chunk> bytes;
    const float scale = amplitude * (1.7320508f / 128);
    for (std::size_t begin = 0; begin < values.size(); begin += bytes.size()) {
        const std::size_t count = std::min(values.size() - begin, bytes.size());
        fill_random(key, static_cast<std::uint32_t>(begin / 16), std::span(words).first((count + 3) / 4));
        std::memcpy(bytes.data(), words.data(), bytes.size());
        float* out = values.data() + begin;
        for (std::size_t i = 0; i < count; ++i) out[i] += scale * (static_cast<float>(bytes[i]) - 127.5f);
    }
}

// Doubles the height: each new value is 3/4 of the nearer and 1/4 of the farther neighbour.
std::vector<float> double_rows(const std::vector<float>& source, std::uint32_t width, std::uint32_t height) {
    std::vector<float> out(source.size() * 2);
    for (std::uint32_t y = 0; y < height; ++y) {
        const float* above = source.data() + std::size_t{(y + height - 1) % height} * width;
        const float* here = source.data() + std::size_t{y} * width;
        const float* below = source.data() + std::size_t{(y + 1) % height} * width;
        float* upper = out.data() + std::size_t{2 * y} * width;
        float* lower = upper + width;
        for (std::uint32_t x = 0; x < width; ++x) {
            upper[x] = 0.75f * here[x] + 0.25f * above[x];
            lower[x] = 0.75f * here[x] + 0.25f * below[x];
        }
    }
    return out;
}

std::vector<float> double_columns(const std::vector<float>& source, std::uint32_t width, std::uint32_t height) {
    std::vector<float> out(source.size() * 2);
    for (std::uint32_t y = 0; y < height; ++y) {
        const float* here = source.data() + std::size_t{y} * width;
        float* row = out.data() + std::size_t{y} * 2 * width;
        row[0] = 0.75f * here[0] + 0.25f * here[width - 1];
        row[2 * width - 1] = 0.75f * here[width - 1] + 0.25f * here[0];
        for (std::uint32_t x = 0; x + 1 < width; ++x) {
            row[2 * x + 1] = 0.75f * here[x] + 0.25f * here[x + 1];
            row[2 * x + 2] = 0.25f * here[x] + 0.75f * here[x + 1];
        }
    }
    return out;
}

// To mean 0 and deviation 1. Summed in a fixed order, so that the result is the same everywhere.
void normalise(std::vector<float>& values) {
    double sum = 0;
    double squares = 0;
    for (const float value : values) {
        sum += static_cast<double>(value);
        squares += static_cast<double>(value * value);
    }
    const double count = static_cast<double>(values.size());
    const double mean = sum / count;
    const auto scale = static_cast<float>(1 / std::sqrt(squares / count - mean * mean));
    for (float& value : values) value = (value - static_cast<float>(mean)) * scale;
}

}  // namespace

Field::Field(std::uint32_t width, std::uint32_t height, float persistence, RandomKey key)
    : width_(side_for(width)), height_(side_for(height)) {
    std::uint32_t octaves = 0;
    while ((std::min(width_, height_) >> octaves) > kCoarsestSide) ++octaves;
    std::uint32_t columns = width_ >> octaves;
    std::uint32_t rows = height_ >> octaves;
    values_.assign(std::size_t{columns} * rows, 0.0f);
    float amplitude = 1;
    for (std::uint32_t octave = 0;; ++octave) {
        add_noise(values_, amplitude, key);
        if (octave == octaves) break;
        values_ = double_columns(double_rows(values_, columns, rows), columns, 2 * rows);
        columns *= 2;
        rows *= 2;
        amplitude *= persistence;
        ++key.stream;
    }
    normalise(values_);
}

}  // namespace penstock::synth
