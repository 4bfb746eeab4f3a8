// Planes of the tile encoder, and what each of the eight modes leaves over of a row.
#pragma once

#include <utility>

#include "codecs/weir_lanes.h"
#include "codecs/weir_pixels.h"

namespace penstock::weir {
namespace {

/// Rows -1 to 63 of a plane; row -1 holds the base. A row can be loaded two lanes to the left and one to the right of
/// where it begins: the outermost samples are repeated there.
template <typename Sample>
class Plane {
  public:
    [[nodiscard]] Sample* row(std::int32_t y) noexcept { return samples_ + (y + 1) * kStride + kMargin; }
    [[nodiscard]] const Sample* row(std::int32_t y) const noexcept { return samples_ + (y + 1) * kStride + kMargin; }

    PENSTOCK_INLINE void repeat_edges(Sample* row) noexcept {
        row[-1] = row[0];
        row[-2] = row[0];
        row[kLanes] = row[kLanes - 1];
    }

    void fill_row(std::int32_t y, Sample value) noexcept {
        for (std::int32_t j = -2; j <= static_cast<std::int32_t>(kLanes); ++j) row(y)[j] = value;
    }

  private:
    static constexpr std::int32_t kMargin = 8;
    static constexpr std::int32_t kStride = kLanes + 2 * kMargin;
    alignas(64) Sample samples_[(kTileSide + 1) * kStride];
};

/// Inputs of the residuals of a part of a row, for every mode. `first`: the part begins at lane 0.
template <typename Ops, typename Sample, bool first>
struct RowContext {
    using V = Lanes<Ops, Sample>;

    V here;         // x
    V step;         // x[j] - x[j - 1]; x[0] - T[0]
    V above;        // T
    V above_left;   // T[j - 1]
    V smooth;       // A
    V smooth_left;  // A[j - 1]; lane 0 is not defined

    PENSTOCK_INLINE RowContext load(const Sample* above_row, const Sample* row) noexcept {
        RowContext c;
        c.here = load_as<V>(row);
        V left = load_as<V>(row - 1);
        if constexpr (first) left[0] = above_row[0];
        c.step = c.here - left;
        c.above = load_as<V>(above_row);
        c.above_left = load_as<V>(above_row - 1);
        c.smooth = smooth_of(c.above_left, c.above, load_as<V>(above_row + 1));
        c.smooth_left = smooth_of(load_as<V>(above_row - 2), c.above_left, c.above);
        return c;
    }

    /// The zigzagged residuals of a mode.
    template <std::uint32_t mode>
    [[gnu::always_inline]] inline V residuals() const noexcept {
        if constexpr (mode == 0) return Ops::zigzag(here - above);
        if constexpr (mode == 1) return Ops::zigzag(here - smooth);
        if constexpr (mode == 2) return Ops::zigzag(step);
        if constexpr (mode == 3) return Ops::zigzag(step - (above - above_left));
        if constexpr (mode == 4) return Ops::zigzag(step - ((above >> 1) - (above_left >> 1)));
        if constexpr (mode == 5) return Ops::zigzag(step - but_lane_0(smooth - smooth_left));
        if constexpr (mode == 6) return Ops::zigzag(step - but_lane_0((smooth >> 1) - (smooth_left >> 1)));
        if constexpr (mode == 7) {
            return Ops::zigzag(step - but_lane_0((smooth - (smooth >> 2)) - (smooth_left - (smooth_left >> 2))));
        }
    }

  private:
    PENSTOCK_INLINE V smooth_of(V left, V middle, V right) noexcept {
        const V sides = (left & right) + ((left ^ right) >> 1);
        return Ops::average_up(sides, middle);
    }

    PENSTOCK_INLINE V but_lane_0(V v) noexcept {
        if constexpr (!first) return v;
        V mask = ~V{};
        mask[0] = 0;
        return v & mask;
    }
};

/// Calls `visit` for each part of a row with the lane it begins at; its first argument tells whether that is lane 0.
template <typename Ops, typename Sample, typename Visit>
PENSTOCK_INLINE void for_each_part(Visit visit) noexcept {
    visit(std::true_type{}, 0U);
    for (std::uint32_t part = 1; part < kParts<Ops, Sample>; ++part) {
        visit(std::false_type{}, part * kLanesPerPart<Ops, Sample>);
    }
}

/// The residuals of a row.
template <typename Ops, typename Sample, std::uint32_t mode>
void make_residuals(const Sample* above, const Sample* row, Sample* residuals) noexcept {
    for_each_part<Ops, Sample>([=](auto first, std::uint32_t lane) {
        const auto context = RowContext<Ops, Sample, first>::load(above + lane, row + lane);
        store_as(residuals + lane, context.template residuals<mode>());
    });
}

template <typename Ops, typename Sample>
void make_residuals(std::uint32_t mode, const Sample* above, const Sample* row, Sample* residuals) noexcept {
    switch (mode) {
        case 0: return make_residuals<Ops, Sample, 0>(above, row, residuals);
        case 1: return make_residuals<Ops, Sample, 1>(above, row, residuals);
        case 2: return make_residuals<Ops, Sample, 2>(above, row, residuals);
        case 3: return make_residuals<Ops, Sample, 3>(above, row, residuals);
        case 4: return make_residuals<Ops, Sample, 4>(above, row, residuals);
        case 5: return make_residuals<Ops, Sample, 5>(above, row, residuals);
        case 6: return make_residuals<Ops, Sample, 6>(above, row, residuals);
        default: return make_residuals<Ops, Sample, 7>(above, row, residuals);
    }
}

/// Gives the lanes from `width` on the values that make their residuals 0 in this mode.
template <typename Sample>
void pad_row(std::uint32_t mode, const Sample* above, std::uint32_t width, Sample* row) noexcept {
    Sample f[kLanes];
    predict_row(mode, above, f);
    const auto offset = mode < 2 ? Sample{0} : static_cast<Sample>(row[width - 1] - f[width - 1]);
    for (std::uint32_t j = width; j < kLanes; ++j) row[j] = static_cast<Sample>(f[j] + offset);
    Plane<Sample>::repeat_edges(row);
}

template <typename Sample, typename V>
PENSTOCK_INLINE V half_signed_lanes(V v) noexcept {
    constexpr auto sign = static_cast<Sample>(1U << (kBits<Sample> - 2));
    return ((v >> 1) ^ sign) - sign;
}

/// Planes 0, 1, 2 of a part of a row.
template <int transform, typename Sample, typename V>
PENSTOCK_INLINE Pqs<V> from_rgb(V r, V g, V b) noexcept {
    constexpr Sample half = kHalf<Sample>;
    if constexpr (transform == 0) return {g, r, b};
    if constexpr (transform == 1) return {g, r - g + half, b - g + half};
    if constexpr (transform == 2) {
        const V orange = r - b;
        const V t = b + half_signed_lanes<Sample>(orange);
        const V green = g - t;
        return {t + half_signed_lanes<Sample>(green), orange + half, green + half};
    }
    if constexpr (transform == 3) {
        const V mean = (r & g) + ((r ^ g) >> 1);
        return {g, r - g + half, b - mean + half};
    }
}

}  // namespace
}  // namespace penstock::weir
