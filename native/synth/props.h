// Things that stand in a scene. Each adds its surfaces and patches, farthest part first.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "synth/scene.h"

namespace penstock::synth {

/// Place of a thing: the middle of its foot, the size of a tall thing there, and the haze in front of it.
struct Place {
    Point foot;
    float scale = 1;
    float haze = 0;
};

/// Fills a scene: first what lies flat, then what stands on it, from back to front. Shadows lie flat, whenever they
/// are cast, so that none falls on a thing.
class Builder {
  public:
    Builder(Scene& scene, Random& rng) : scene_(scene), rng_(rng) {}
    /// Makes all things that are added later, except shadows, stand upright.
    void begin_standing() noexcept { patches_ = &standing_; }
    void finish() { scene_.patches.insert(scene_.patches.end(), standing_.begin(), standing_.end()); }

    Colour haze_colour{};
    float sun_x = 0;  ///< where light comes from, -1 left to 1 right
    std::uint16_t ground = 0;

    std::uint16_t add_surface(Surface surface);
    void add_quad(Point a, Point b, Point c, Point d, std::uint16_t surface);
    void add_blob(const Blob& blob, float roughness, std::uint16_t surface);

    void block(const Place& place, const Colour& colour);
    void tree(const Place& place, const Colour& colour);
    void stone(const Place& place, const Colour& colour);
    void object(const Place& place, const Colour& colour, float lobes);

    /// A dark spot on the ground, wider than high.
    void shadow(Point centre, float radius);

    [[nodiscard]] Random& rng() noexcept { return rng_; }

  private:
    void windows(Point top_left, float width, float height, const Surface& wall);
    [[nodiscard]] Surface hazed(Surface surface, float haze) const;
    [[nodiscard]] Patch blob_patch(const Blob& blob, float roughness, std::uint16_t surface);

    Scene& scene_;
    Random& rng_;
    std::vector<Patch> standing_;
    std::vector<Patch>* patches_ = &scene_.patches;
};

}  // namespace penstock::synth
