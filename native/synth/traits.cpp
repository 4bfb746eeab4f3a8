#include "synth/traits.h"

#include <array>

#include "base/random.h"
#include "synth/outline.h"

namespace penstock::synth {

namespace {

constexpr std::size_t kLayoutTraits = 6;
constexpr std::size_t kGrainTraits = 2;

// Multiples of these, modulo 1, fill the unit cube evenly for any number of points: powers of 1/g, where g is the
// root of g^(d+1) = g + 1 for d = 6 and d = 2.
constexpr std::array<double, kLayoutTraits> kLayoutSteps{0.898653712629, 0.807578495219, 0.725733213,
                                                         0.652182847,    0.585906532,    0.526517081};
constexpr std::array<double, kGrainTraits> kGrainSteps{0.754877666247, 0.569840290998};

constexpr float kLayoutScatter = 0.06f;
constexpr float kGrainScatter = 0.04f;

template <std::size_t kCount>
std::array<float, kCount> spread_point(std::uint32_t number, const std::array<double, kCount>& steps) {
    std::array<float, kCount> point;
    for (std::size_t i = 0; i < kCount; ++i) {
        const double position = 0.5 + number * steps[i];
        point[i] = static_cast<float>(position - static_cast<double>(static_cast<std::uint64_t>(position)));
    }
    return point;
}

float wrapped(float value) {
    if (value < 0) return value + 1;
    return value >= 1 ? value - 1 : value;
}

template <std::size_t kCount>
void scatter(std::array<float, kCount>& point, float width, Random& rng) {
    for (float& value : point) {
        const float first = rng.uniform();
        value = wrapped(value + width * (first + rng.uniform() - 1));
    }
}

template <std::size_t kCount>
std::array<float, kCount> random_point(Random& rng) {
    std::array<float, kCount> point;
    for (float& value : point) value = rng.uniform();
    return point;
}

// Any direction; 2.9 to 5.2 pixels a period, so that 1/8 scale cannot show it; weaker where it means nothing.
Grain grain_at(const std::array<float, kGrainTraits>& point, bool carries_label) {
    const float period = 2.9f + 2.3f * point[1];
    return {cosine(0.5f * point[0]) / period, sine(0.5f * point[0]) / period, carries_label ? 1.0f : 0.5f};
}

}  // namespace

Traits traits_of(const Spec& spec, std::uint64_t index) {
    Random rng({spec.seed, index, static_cast<std::uint32_t>(Stream::traits)});
    const std::uint32_t label = class_of(spec, index);
    const bool is_mixed = spec.variant == Variant::mixed;

    auto layout = random_point<kLayoutTraits>(rng);
    if (spec.variant != Variant::texture) {
        layout = spread_point(is_mixed ? label / 2 : label, kLayoutSteps);
        scatter(layout, kLayoutScatter, rng);
    }
    auto grain = random_point<kGrainTraits>(rng);
    if (spec.variant != Variant::coarse) {
        grain = spread_point(is_mixed ? label % 2 : label, kGrainSteps);
        scatter(grain, kGrainScatter, rng);
    }
    return {{layout[0], layout[1], layout[2], layout[3], layout[4], layout[5]},
            grain_at(grain, spec.variant != Variant::coarse)};
}

}  // namespace penstock::synth
