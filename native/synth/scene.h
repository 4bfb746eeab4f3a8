// Contents of an image before rendering: surfaces, and the outlines that they fill from back to front.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "synth/outline.h"
#include "synth/spec.h"
#include "synth/traits.h"

namespace penstock::synth {

/// Linear light, 0 to about 1; red, green, blue.
using Colour = std::array<float, 3>;

/// Material of a surface, and the light on it.
///
/// The light at (x, y) is light + slope_x * dx + slope_y * dy - round * (dx * dx + dy * dy), (dx, dy) from `centre`.
struct Surface {
    Colour albedo{};
    Kind kind = Kind::ground;
    float rough = 0;   ///< contrast of its 1/f texture
    float soft = 0;    ///< contrast of its clouds: a smoother 1/f texture
    float grain = 0;   ///< contrast of the fine pattern
    float chroma = 0;  ///< how far colours wander
    Point centre;
    float light = 1;
    float slope_x = 0;
    float slope_y = 0;
    float round = 0;
    std::uint32_t offset_x = 0;  ///< of the texture, so that no two surfaces share it
    std::uint32_t offset_y = 0;
};

/// Points [first, first + count) of the scene, filled with a surface.
struct Patch {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint16_t surface = 0;
};

/// A later patch hides an earlier one. Surface 0 fills what no patch covers.
struct Scene {
    std::vector<Surface> surfaces;
    std::vector<Point> points;
    std::vector<Patch> patches;
    Grain grain;
    float exposure = 1;
    float noise = 1;  ///< of the sensor; 1 is a good camera in daylight
};

[[nodiscard]] Scene compose(const Spec& spec, std::uint64_t index);

}  // namespace penstock::synth
