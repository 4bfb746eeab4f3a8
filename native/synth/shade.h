// Light on surfaces: from the surface map to rows of linear colour.
#pragma once

#include <cstdint>
#include <span>

#include "synth/field.h"
#include "synth/paint.h"
#include "synth/scene.h"

namespace penstock::synth {

/// Colours rows of a scene. Reads only; rows may be shaded in any order.
class Shader {
  public:
    Shader(const Scene& scene, const SurfaceMap& map, const Field& rough, const Field& soft, std::uint32_t width)
        : scene_(scene), map_(map), rough_(rough), soft_(soft), width_(width) {}

    /// Writes row `y` in linear light: one plane of `width` values for each of `planes`, three colours or one grey.
    void shade_row(std::uint32_t y, std::span<float* const> planes) const;

  private:
    void shade_run(const Surface& surface, std::uint32_t y, std::uint32_t begin, std::uint32_t end,
                   std::span<float* const> planes) const;

    const Scene& scene_;
    const SurfaceMap& map_;
    const Field& rough_;
    const Field& soft_;
    std::uint32_t width_;
};

}  // namespace penstock::synth
