#include "synth/sensor.h"

#include <algorithm>
#include <cmath>

namespace penstock::synth {

namespace {

constexpr std::uint32_t kRows = 3;

// A lens: this share of the light of each pixel goes to each neighbour in a row, and in a column.
constexpr float kSpill = 0.09f;

// Poisson noise of light v has variance kShot * v, the electronics add kRead; both of full scale 1.
constexpr float kShot = 0.00003f;
constexpr float kRead = 0.000001f;

constexpr float kDeepBlack = 64;   // a sensor's zero is not 0, so that noise around it is kept
constexpr float kDeepGain = 3200;  // highlights clip
constexpr float kDeepMax = 4095;

// About normal, deviation 1: the sum of four bytes.
float normal(std::uint32_t word) {
    const auto sum =
        static_cast<std::int32_t>((word & 0xff) + ((word >> 8) & 0xff) + ((word >> 16) & 0xff) + (word >> 24));
    return static_cast<float>(sum - 510) * (1 / 147.8f);
}

// By value, which compilers turn into vectors where they do not with `std::clamp`.
float clamped(float value, float low, float high) {
    const float raised = value > low ? value : low;
    return raised < high ? raised : high;
}

float noisy(float light, float noise, std::uint32_t word) {
    return light + noise * std::sqrt(kShot * light + kRead) * normal(word);
}

}  // namespace

Sensor::Sensor(PixelShape shape, float noise, RandomKey key)
    : shape_(shape),
      noise_(noise),
      key_(key),
      light_(std::size_t{shape.width} * shape.channels * kRows),
      column_(std::size_t{shape.width} + 2),
      blurred_(std::size_t{shape.width} * shape.channels),
      words_(std::size_t{shape.width} * shape.channels),
      next_(shape.channels) {}

float* Sensor::light(std::size_t row, std::size_t channel) noexcept {
    return light_.data() + ((row % kRows) * shape_.channels + channel) * shape_.width;
}

std::span<float* const> Sensor::next_row() {
    for (std::size_t c = 0; c < shape_.channels; ++c) next_[c] = light(rows_given_, c);
    ++rows_given_;
    return next_;
}

void Sensor::blur(std::size_t channel, std::uint32_t y) {
    const float* above = light(y > 0 ? y - 1 : y, channel);
    const float* here = light(y, channel);
    const float* below = light(std::min(y + 1, shape_.height - 1), channel);
    const std::size_t width = shape_.width;
    float* column = column_.data() + 1;
    for (std::size_t x = 0; x < width; ++x) {
        column[x] = (1 - 2 * kSpill) * here[x] + kSpill * (above[x] + below[x]);
    }
    column_.front() = column[0];
    column_.back() = column[width - 1];
    float* out = blurred_.data() + channel * width;
    for (std::size_t x = 0; x < width; ++x) {
        out[x] = (1 - 2 * kSpill) * column_[x + 1] + kSpill * (column_[x] + column_[x + 2]);
    }
}

void Sensor::expose(std::uint32_t y, std::uint8_t* out) {
    for (std::size_t c = 0; c < shape_.channels; ++c) blur(c, y);
    const auto blocks_per_row = static_cast<std::uint32_t>((words_.size() + 3) / 4);
    fill_random(key_, y * blocks_per_row, words_);
    if (shape_.sample_bytes == 2) {
        expose_deep(reinterpret_cast<std::uint16_t*>(out));
    } else {
        expose_rgb(out);
    }
}

// Eight bits hold the square root of light, as cameras store it, nearly: even steps for the eye.
void Sensor::expose_rgb(std::uint8_t* out) {
    const std::uint32_t* words = words_.data();
    float* values = blurred_.data();
    for (std::size_t i = 0; i < blurred_.size(); ++i) {
        values[i] = 255 * std::sqrt(clamped(noisy(values[i], noise_, words[i]), 0.0f, 1.0f)) + 0.5f;
    }
    const std::size_t width = shape_.width;
    for (std::size_t x = 0; x < width; ++x, out += 3) {
        out[0] = static_cast<std::uint8_t>(values[x]);
        out[1] = static_cast<std::uint8_t>(values[width + x]);
        out[2] = static_cast<std::uint8_t>(values[2 * width + x]);
    }
}

void Sensor::expose_deep(std::uint16_t* out) {
    for (std::size_t x = 0; x < shape_.width; ++x) {
        const float value = kDeepBlack + kDeepGain * noisy(blurred_[x], noise_, words_[x]);
        out[x] = static_cast<std::uint16_t>(clamped(value + 0.5f, 0.0f, kDeepMax));
    }
}

}  // namespace penstock::synth
