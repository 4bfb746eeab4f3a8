// Traits of a class: a point in the space of scenes, and a point in the space of textures.
#pragma once

#include "synth/spec.h"

namespace penstock::synth {

/// Layout of a scene; each value is in [0, 1).
struct Layout {
    float horizon = 0;  ///< how high it lies
    float sky = 0;      ///< blue, overcast, dusk
    float ground = 0;   ///< asphalt, soil, grass, sand
    float props = 0;    ///< blocks, trees, stones: of which there are most
    float lobes = 0;    ///< the object's silhouette
    float tint = 0;     ///< the object's colour
};

/// The fine pattern on surfaces.
struct Grain {
    float cycles_x = 0;  ///< per pixel
    float cycles_y = 0;
    float strength = 1;
};

struct Traits {
    Layout layout;
    Grain grain;
};

/// The traits of an image: those of its class where the label sits, with a little scatter; drawn at random elsewhere.
///
/// A class looks the same under every seed and every number of classes, so that two seeds give a training and a
/// validation set.
[[nodiscard]] Traits traits_of(const Spec& spec, std::uint64_t index);

}  // namespace penstock::synth
