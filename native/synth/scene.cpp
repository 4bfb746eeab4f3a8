#include "synth/scene.h"

#include <algorithm>
#include <cmath>

#include "synth/props.h"

namespace penstock::synth {

namespace {

Colour mix(const Colour& a, const Colour& b, float share) {
    Colour mixed;
    for (std::size_t c = 0; c < 3; ++c) mixed[c] = a[c] + share * (b[c] - a[c]);
    return mixed;
}

// A colour from a closed ring of them; `position` in [0, 1).
template <std::size_t kCount>
Colour on_ring(const std::array<Colour, kCount>& ring, float position) {
    const float scaled = position * kCount;
    const auto index = std::min(static_cast<std::size_t>(scaled), kCount - 1);
    return mix(ring[index], ring[(index + 1) % kCount], scaled - static_cast<float>(index));
}

constexpr std::array<Colour, 4> kSkies{{
    {0.34f, 0.48f, 0.72f},  // clear
    {0.62f, 0.66f, 0.70f},  // overcast
    {0.74f, 0.55f, 0.42f},  // dusk
    {0.16f, 0.21f, 0.33f},  // before rain
}};
constexpr std::array<Colour, 4> kGrounds{{
    {0.10f, 0.10f, 0.105f},  // asphalt
    {0.24f, 0.16f, 0.10f},   // soil
    {0.42f, 0.34f, 0.23f},   // sand
    {0.11f, 0.17f, 0.05f},   // grass
}};
constexpr std::array<Colour, 5> kWalls{{
    {0.45f, 0.42f, 0.38f},
    {0.35f, 0.20f, 0.15f},
    {0.55f, 0.50f, 0.40f},
    {0.20f, 0.21f, 0.23f},
    {0.62f, 0.61f, 0.58f},
}};
constexpr std::array<Colour, 6> kTints{{
    {0.48f, 0.12f, 0.09f},
    {0.48f, 0.36f, 0.11f},
    {0.12f, 0.32f, 0.13f},
    {0.09f, 0.27f, 0.35f},
    {0.12f, 0.14f, 0.36f},
    {0.36f, 0.12f, 0.29f},
}};
constexpr std::array<float, 5> kLobes{0, 3, 4, 5, 7};

/// How many blocks, trees and stones there are among all things; they go round a ring with the trait.
std::array<float, 3> prop_shares(float trait) {
    std::array<float, 3> shares;
    for (std::size_t i = 0; i < 3; ++i) {
        const float away = std::fabs(trait - static_cast<float>(i) / 3);
        shares[i] = std::max(0.04f, 1 - 3 * std::min(away, 1 - away));
    }
    const float total = shares[0] + shares[1] + shares[2];
    for (float& share : shares) share /= total;
    return shares;
}

class Composer {
  public:
    Composer(const Spec& spec, std::uint64_t index, Scene& scene)
        : width_(static_cast<float>(spec.width)),
          height_(static_cast<float>(spec.height)),
          side_(std::sqrt(width_ * height_)),
          traits_(traits_of(spec, index)),
          rng_({spec.seed, index, static_cast<std::uint32_t>(Stream::layout)}),
          build_(scene, rng_),
          scene_(scene) {}

    void compose() {
        scene_.grain = traits_.grain;
        scene_.exposure = rng_.uniform(0.6f, 1.1f);
        scene_.noise = rng_.uniform(0.7f, 1.4f);
        horizon_ = height_ * (0.68f - 0.42f * traits_.layout.horizon);
        build_.sun_x = rng_.uniform(-1, 1);
        sky();
        hills();
        ground();
        litter();
        build_.begin_standing();
        props();
        build_.finish();
    }

  private:
    void sky() {
        const Colour colour = on_ring(kSkies, traits_.layout.sky);
        build_.haze_colour = mix(colour, {0.75f, 0.75f, 0.75f}, 0.45f);
        Surface sky;
        sky.albedo = colour;
        sky.kind = Kind::sky;
        sky.soft = rng_.uniform(0.05f, 0.25f);
        sky.chroma = 0.02f;
        sky.centre = {width_ * (0.5f + 0.5f * build_.sun_x), horizon_};
        sky.light = 1.15f;
        sky.slope_y = 0.4f / height_;
        sky.slope_x = 0.25f * build_.sun_x / width_;
        build_.add_surface(sky);
    }

    // One or two ridges behind everything.
    void hills() {
        const std::uint32_t ridges = 1 + rng_.below(2);
        for (std::uint32_t i = 0; i < ridges; ++i) {
            Surface hill;
            hill.albedo = mix(mix({0.08f, 0.11f, 0.07f}, build_.haze_colour, 0.65f - 0.3f * static_cast<float>(i)),
                              on_ring(kGrounds, rng_.uniform()), 0.2f);
            hill.kind = Kind::ground;
            hill.rough = 0.12f;
            hill.chroma = 0.03f;
            const float rise = height_ * rng_.uniform(0.04f, 0.16f);
            const Point centre{width_ * rng_.uniform(), horizon_ + 0.3f * rise};
            const Blob blob{centre, width_ * rng_.uniform(0.4f, 0.9f), rise, 9, 0.08f, rng_.uniform()};
            build_.add_blob(blob, 0.02f, build_.add_surface(hill));
        }
    }

    void ground() {
        const Colour colour = on_ring(kGrounds, traits_.layout.ground);
        Surface ground;
        ground.albedo = colour;
        ground.rough = rng_.uniform(0.06f, 0.24f);
        ground.grain = 0.22f;
        ground.chroma = 0.04f;
        ground.centre = {width_ / 2, horizon_};
        ground.light = 1.1f;
        ground.slope_y = -0.25f / height_;
        ground.slope_x = 0.3f * build_.sun_x / width_;
        build_.ground = build_.add_surface(ground);
        const float slant = rng_.uniform(-0.03f, 0.03f) * height_;
        build_.add_quad({-1, horizon_ - slant}, {width_ + 1, horizon_ + slant}, {width_ + 1, height_ + 1},
                        {-1, height_ + 1}, build_.ground);
    }

    // Pebbles and tufts: many small things, smaller and denser in the distance.
    void litter() {
        std::array<std::uint16_t, 4> surfaces;
        for (std::size_t i = 0; i < surfaces.size(); ++i) {
            Surface bit = scene_.surfaces[build_.ground];
            const float brightness = i % 2 == 0 ? rng_.uniform(0.3f, 0.6f) : rng_.uniform(1.4f, 2.0f);
            for (float& value : bit.albedo) value *= brightness;
            bit.rough = 0.4f;
            surfaces[i] = build_.add_surface(bit);
        }
        const std::uint32_t count = 80 + rng_.below(160);
        for (std::uint32_t i = 0; i < count; ++i) {
            const float nearest = rng_.uniform();
            const float nearness = nearest * rng_.uniform();
            const float size = side_ * (0.002f + 0.012f * nearness * rng_.uniform());
            const Point centre{width_ * rng_.uniform(), horizon_ + (height_ - horizon_) * nearness};
            const Blob bit{centre, size, size * rng_.uniform(0.4f, 1.0f)};
            build_.add_blob(bit, 0.4f, surfaces[rng_.below(4)]);
        }
    }

    // Far things first; the class's own object among the nearest.
    void props() {
        const auto count = static_cast<std::uint32_t>(14 + 8 * std::min(4.0f, width_ / height_) + rng_.below(8));
        const std::array<float, 3> shares = prop_shares(traits_.layout.props);
        const std::uint32_t object_rank = count - 2 - rng_.below(4);
        for (std::uint32_t i = 0; i < count; ++i) {
            const float rank = (static_cast<float>(i) + rng_.uniform()) / static_cast<float>(count);
            const float nearness = rank * rank;
            if (i == object_rank) object();
            const Place place = place_at(nearness);
            const float choice = rng_.uniform();
            if (choice < shares[0]) {
                build_.block(place, kWalls[rng_.below(kWalls.size())]);
            } else if (choice < shares[0] + shares[1]) {
                build_.tree(place, mix({0.07f, 0.14f, 0.03f}, {0.22f, 0.20f, 0.05f}, rng_.uniform()));
            } else {
                build_.stone(place, mix(on_ring(kGrounds, rng_.uniform()), {0.4f, 0.4f, 0.4f}, 0.4f));
            }
        }
    }

    Place place_at(float nearness) {
        Place place;
        place.foot.x = width_ * rng_.uniform(-0.05f, 1.05f);
        place.foot.y = horizon_ + (height_ - horizon_) * (0.02f + 0.9f * nearness);
        place.scale = side_ * (0.14f + 0.6f * nearness);
        place.haze = 0.5f * (1 - nearness) * (1 - nearness);
        return place;
    }

    void object() {
        const auto which = std::min(static_cast<std::size_t>(traits_.layout.lobes * kLobes.size()), kLobes.size() - 1);
        Place place;
        place.foot = {width_ * rng_.uniform(0.25f, 0.75f), height_ * rng_.uniform(0.82f, 0.96f)};
        place.scale = side_ * rng_.uniform(0.4f, 0.55f);
        build_.object(place, on_ring(kTints, traits_.layout.tint), kLobes[which]);
    }

    float width_;
    float height_;
    float side_;
    Traits traits_;
    Random rng_;
    Builder build_;
    Scene& scene_;
    float horizon_ = 0;
};

}  // namespace

Scene compose(const Spec& spec, std::uint64_t index) {
    Scene scene;
    Composer(spec, index, scene).compose();
    return scene;
}

}  // namespace penstock::synth
