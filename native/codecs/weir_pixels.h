// Arithmetic of Weir that the plain decoder and the encoder share: zigzag, colour, and the rows that predict.
// Everything is modulo 2^N, N being the bits of `Sample`. In an anonymous namespace, because files that are compiled
// for different instruction sets include it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "codecs/weir.h"

namespace penstock::weir {
namespace {

template <typename Sample>
constexpr std::uint32_t kBits = 8 * sizeof(Sample);

template <typename Sample>
constexpr Sample unzigzag(Sample z) noexcept {
    return static_cast<Sample>((z >> 1) ^ (0 - (z & 1)));
}

/// Half of a sample taken as a signed number, towards minus infinity.
template <typename Sample>
constexpr Sample half_signed(Sample value) noexcept {
    return static_cast<Sample>(static_cast<std::make_signed_t<Sample>>(value) >> 1);
}

template <typename Sample>
struct Rgb {
    Sample r, g, b;
};

/// Planes 0, 1, 2 of a pixel.
template <typename Sample>
struct Pqs {
    Sample p, q, s;
};

template <typename Sample>
constexpr Sample kHalf = static_cast<Sample>(1U << (kBits<Sample> - 1));

template <int transform, typename Sample>
constexpr Rgb<Sample> to_rgb(Pqs<Sample> in) noexcept {
    static_assert(transform >= 0 && transform <= 3);
    constexpr Sample half = kHalf<Sample>;
    const auto wrap = [](auto value) { return static_cast<Sample>(value); };
    if constexpr (transform == 0) {
        return {in.q, in.p, in.s};
    } else if constexpr (transform == 2) {
        const Sample orange = wrap(in.q - half);
        const Sample green = wrap(in.s - half);
        const Sample t = wrap(in.p - half_signed(green));
        const Sample b = wrap(t - half_signed(orange));
        return {wrap(b + orange), wrap(green + t), b};
    } else {
        const Sample r = wrap(in.q + in.p - half);
        const Sample from = transform == 1 ? in.p : wrap((r + in.p) >> 1);
        return {r, in.p, wrap(in.s + from - half)};
    }
}

/// A of the specification: `above` smoothed.
template <typename Sample>
void smooth_row(const Sample* above, Sample* out) noexcept {
    Sample wide[kLanes + 2];
    wide[0] = above[0];
    for (std::uint32_t j = 0; j < kLanes; ++j) wide[j + 1] = above[j];
    wide[kLanes + 1] = above[kLanes - 1];
    for (std::uint32_t j = 0; j < kLanes; ++j) {
        const std::uint32_t sides = (std::uint32_t{wide[j]} + wide[j + 2]) >> 1;
        out[j] = static_cast<Sample>((sides + above[j] + 1) >> 1);
    }
}

/// f of the specification; in modes 0 and 1 what is added to the residual itself.
template <typename Sample>
void predict_row(std::uint32_t mode, const Sample* above, Sample* f) noexcept {
    // A loop for each mode, instead of a choice for each lane: compilers make vectors of them, on any architecture.
    const auto map = [f](const Sample* row, auto function) {
        for (std::uint32_t j = 0; j < kLanes; ++j) f[j] = static_cast<Sample>(function(row[j]));
    };
    const auto itself = [](Sample a) { return a; };
    const auto half = [](Sample a) { return a >> 1; };
    Sample smooth[kLanes];
    if (mode == 1 || mode >= 5) smooth_row(above, smooth);
    switch (mode) {
        case 0:
        case 3: return map(above, itself);
        case 2: return map(above, [](Sample) { return 0; });
        case 4: return map(above, half);
        case 6: return map(smooth, half);
        case 7: return map(smooth, [](Sample a) { return a - (a >> 2); });
        default: return map(smooth, itself);
    }
}

}  // namespace
}  // namespace penstock::weir
