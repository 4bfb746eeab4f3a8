#include "synth/outline.h"

#include <algorithm>
#include <cstddef>

namespace penstock::synth {

float sine(float turns) noexcept {
    double t = static_cast<double>(turns);
    t -= static_cast<double>(static_cast<std::int64_t>(t));
    if (t > 0.5) t -= 1;
    if (t < -0.5) t += 1;
    if (t > 0.25) t = 0.5 - t;
    if (t < -0.25) t = -0.5 - t;
    const double a = t * 6.283185307179586;
    const double s = a * a;
    return static_cast<float>(
        a * (1 + s * (-1.0 / 6 + s * (1.0 / 120 + s * (-1.0 / 5040 + s * (1.0 / 362880 - s / 39916800))))));
}

void append_blob(const Blob& blob, float roughness, Random& rng, std::vector<Point>& points) {
    const float radius = std::max(blob.radius_x, blob.radius_y);
    const auto count = std::clamp<std::size_t>(static_cast<std::size_t>(radius), 10, 64);
    for (std::size_t i = 0; i < count; ++i) {
        const float turns = static_cast<float>(i) / static_cast<float>(count);
        const float bump = 1 + blob.depth * sine(turns * blob.lobes + blob.turn) + roughness * rng.uniform(-1, 1);
        points.push_back(
            {blob.centre.x + blob.radius_x * bump * cosine(turns), blob.centre.y + blob.radius_y * bump * sine(turns)});
    }
}

}  // namespace penstock::synth
