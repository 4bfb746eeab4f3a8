// From outlines to pixels: which surface is seen where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "synth/scene.h"

namespace penstock::synth {

/// The number of the surface seen at each pixel, row by row.
class SurfaceMap {
  public:
    SurfaceMap(const Scene& scene, std::uint32_t width, std::uint32_t height);

    [[nodiscard]] const std::uint16_t* row(std::size_t y) const noexcept { return cells_.data() + y * width_; }

  private:
    void fill(const Point* points, std::size_t count, std::uint16_t surface);

    std::size_t width_;
    std::size_t height_;
    std::vector<std::uint16_t> cells_;
    std::vector<float> crossings_;  // a fixed number of places per row
    std::vector<std::uint8_t> num_crossings_;
};

}  // namespace penstock::synth
