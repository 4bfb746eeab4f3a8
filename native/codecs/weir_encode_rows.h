// Planes and residuals of the tile encoder: what each of the eight modes leaves over, and about how many bits that
// costs.
#pragma once

#include <array>

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

/// What the residuals of a row are made of, whatever the mode.
template <typename Ops, typename Sample>
struct RowContext {
    using V = Lanes<Sample>;

    V here;         // x
    V step;         // x[j] - x[j - 1]; x[0] - T[0]
    V above;        // T
    V above_left;   // T[j - 1]
    V smooth;       // A
    V smooth_left;  // A[j - 1]; lane 0 is not defined
    V not_first;    // all ones but in lane 0

    PENSTOCK_INLINE RowContext load(const Sample* above_row, const Sample* row) noexcept {
        RowContext c;
        c.here = load_lanes(row);
        V left = load_lanes(row - 1);
        left[0] = above_row[0];
        c.step = c.here - left;
        c.above = load_lanes(above_row);
        c.above_left = load_lanes(above_row - 1);
        c.smooth = smooth_of(c.above_left, c.above, load_lanes(above_row + 1));
        c.smooth_left = smooth_of(load_lanes(above_row - 2), c.above_left, c.above);
        c.not_first = ~V{};
        c.not_first[0] = 0;
        return c;
    }

    PENSTOCK_INLINE V smooth_of(const V& left, const V& middle, const V& right) noexcept {
        const V sides = (left & right) + ((left ^ right) >> 1);
        return Ops::average_up(sides, middle);
    }

    /// The zigzagged residuals of a mode.
    template <std::uint32_t mode>
    [[gnu::always_inline]] inline V residuals() const noexcept {
        if constexpr (mode == 0) return Ops::zigzag(here - above);
        if constexpr (mode == 1) return Ops::zigzag(here - smooth);
        if constexpr (mode == 2) return Ops::zigzag(step);
        if constexpr (mode == 3) return Ops::zigzag(step - (above - above_left));
        if constexpr (mode == 4) return Ops::zigzag(step - ((above >> 1) - (above_left >> 1)));
        if constexpr (mode == 5) return Ops::zigzag(step - ((smooth - smooth_left) & not_first));
        if constexpr (mode == 6) {
            return Ops::zigzag(step - (((smooth >> 1) - (smooth_left >> 1)) & not_first));
        }
        if constexpr (mode == 7) {
            const V f = smooth - (smooth >> 2);
            const V f_left = smooth_left - (smooth_left >> 2);
            return Ops::zigzag(step - ((f - f_left) & not_first));
        }
    }

    [[gnu::always_inline]] inline V residuals(std::uint32_t mode) const noexcept {
        switch (mode) {
            case 0: return residuals<0>();
            case 1: return residuals<1>();
            case 2: return residuals<2>();
            case 3: return residuals<3>();
            case 4: return residuals<4>();
            case 5: return residuals<5>();
            case 6: return residuals<6>();
            default: return residuals<7>();
        }
    }
};

/// Gives the lanes from `width` on the values that make their residuals 0 in this mode.
template <typename Sample>
void pad_row(std::uint32_t mode, const Sample* above, std::uint32_t width, Sample* row) noexcept {
    Sample f[kLanes];
    predict_row(mode, above, f);
    const auto offset = mode < 2 ? Sample{0} : static_cast<Sample>(row[width - 1] - f[width - 1]);
    for (std::uint32_t j = width; j < kLanes; ++j) row[j] = static_cast<Sample>(f[j] + offset);
    Plane<Sample>::repeat_edges(row);
}

/// Rows of planes 0, 1, 2 of a transform, from rows of R, G, B.
template <typename Sample>
struct PlaneRows {
    using V = Lanes<Sample>;
    V p, q, s;

    template <int transform>
    PENSTOCK_INLINE PlaneRows from_rgb(const V& r, const V& g, const V& b) noexcept {
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
};

// Costs ----------------------------------------------------------------------------------------------------------

/// About the number of bits that dense takes for a block of 32 residuals with this sum, if they are distributed
/// geometrically; the best Rice parameter is assumed.
class RiceCost {
  public:
    constexpr RiceCost() noexcept {
        for (std::uint32_t sum = 1; sum < kSize; ++sum) {
            std::uint32_t best = ~0U;
            for (std::uint32_t k = 0; k < 12; ++k) {
                const std::uint32_t quotients = sum >> k;
                const std::uint32_t saved = k == 0 ? 0 : kCount / 2 - (kCount >> (k + 1));
                const std::uint32_t bits = kCount * (k + 1) + quotients - (saved < quotients ? saved : quotients);
                best = bits < best ? bits : best;
            }
            table_[sum] = static_cast<std::uint16_t>(best);
        }
    }

    // A doubled sum costs one bit more for each residual.
    PENSTOCK_INLINE std::uint32_t bits(const RiceCost& cost, std::uint64_t sum) noexcept {
        const auto scale = sum < kSize ? 0U : static_cast<std::uint32_t>(std::bit_width(sum)) - kSizeBits;
        return cost.table_[sum >> scale] + kCount * scale;
    }

  private:
    static constexpr std::uint32_t kSizeBits = 11;
    static constexpr std::uint32_t kSize = 1U << kSizeBits;
    static constexpr std::uint32_t kCount = kGroupRows * kBlockLanes;
    std::array<std::uint16_t, kSize> table_{};
};

constexpr RiceCost kRiceCost;

/// What a group costs in each mode; only numbers of the same profile and number of rows compare.
using ModeCosts = std::array<std::uint32_t, kNumModes>;

template <typename Ops, typename Sample, Profile profile>
struct ModeEstimator {
    using V = Lanes<Sample>;

    Blocks totals[kNumModes] = {};
    V valid;  // lanes of the tile

    template <std::uint32_t... modes>
    [[gnu::always_inline]] inline void add_row(const RowContext<Ops, Sample>& row,
                                               std::integer_sequence<std::uint32_t, modes...>) noexcept {
        (add(totals[modes], row.template residuals<modes>() & valid), ...);
    }

    PENSTOCK_INLINE void add(Blocks& total, const V& residuals) noexcept {
        if constexpr (profile == Profile::fast) {
            total += Ops::block_widths(residuals);
        } else {
            total += Ops::block_sums(residuals);
        }
    }

    [[gnu::always_inline]] inline std::uint32_t cost(std::uint32_t mode, std::uint32_t num_rows) const noexcept {
        if constexpr (profile == Profile::fast) {
            return static_cast<std::uint32_t>(BlockNumbers(totals[mode]).sum());
        } else {
            std::uint32_t bits = 0;
            constexpr std::uint32_t scale[kGroupRows + 1] = {0, 4 * 256, 2 * 256, 4 * 256 / 3, 256};  // to four rows
            for (const std::uint64_t sum : BlockNumbers(totals[mode]).of) {
                bits += RiceCost::bits(kRiceCost, sum * scale[num_rows] / 256);
            }
            return bits;
        }
    }
};

}  // namespace
}  // namespace penstock::weir
