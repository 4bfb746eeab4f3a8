// Closed outlines of things, as points, and the trigonometry they need: our own, because the C library's differs in
// the last bit between versions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace penstock::synth {

struct Point {
    float x = 0;
    float y = 0;
};

/// Returns the sine of an angle of any size, where 1 is a full circle; within 1e-6.
[[nodiscard]] float sine(float turns) noexcept;
[[nodiscard]] inline float cosine(float turns) noexcept { return sine(turns + 0.25f); }

/// An ellipse of that centre and these half axes, bent by `lobes` bumps of relative height `depth`, turned by `turn`.
struct Blob {
    Point centre;
    float radius_x = 1;
    float radius_y = 1;
    float lobes = 0;
    float depth = 0;
    float turn = 0;
};

/// Appends the outline of a blob; `roughness` moves each point by up to that share of the radius.
void append_blob(const Blob& blob, float roughness, Random& rng, std::vector<Point>& points);

}  // namespace penstock::synth
