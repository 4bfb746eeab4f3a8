// Model of a camera: a lens that blurs a little, photon noise, and quantization.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/image.h"
#include "base/random.h"

namespace penstock::synth {

/// Turns rows of linear light into pixels. Rows come from top to bottom, each once.
class Sensor {
  public:
    /// `noise` 1 is a good camera in daylight; `key` gives the noise.
    Sensor(PixelShape shape, float noise, RandomKey key);

    /// Returns the memory for the next row of light: `channels` planes of `width` values.
    [[nodiscard]] std::span<float* const> next_row();

    /// Exposes row `y` from the rows given so far (y and its neighbours) into `out`.
    void expose(std::uint32_t y, std::uint8_t* out);

  private:
    void blur(std::size_t channel, std::uint32_t y);
    void expose_rgb(std::uint8_t* out);
    void expose_deep(std::uint16_t* out);
    [[nodiscard]] float* light(std::size_t row, std::size_t channel) noexcept;

    PixelShape shape_;
    float noise_;
    RandomKey key_;
    std::uint32_t rows_given_ = 0;
    std::vector<float> light_;          // the last three rows, each channel's plane after the other
    std::vector<float> column_;         // a row blurred from above and below, its ends repeated
    std::vector<float> blurred_;        // one row, channels one after the other
    std::vector<std::uint32_t> words_;  // a random word for each sample of a row
    std::vector<float*> next_;
};

}  // namespace penstock::synth
