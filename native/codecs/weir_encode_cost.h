// What residuals cost: an estimate for each mode of a group, and the codes of dense that cost least.
#pragma once

#include <algorithm>
#include <array>

#include "codecs/weir_encode_rows.h"

namespace penstock::weir {
namespace {

/// Cost of a group in each mode. Only compare numbers of the same kind and for the same number of rows.
using ModeCosts = std::array<std::uint32_t, kNumModes>;

PENSTOCK_INLINE std::uint32_t cheapest(const ModeCosts& costs) noexcept {
    return static_cast<std::uint32_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
}

/// Approximate number of bits that dense takes for a block of 32 residuals with this sum, if they are distributed
/// geometrically; assumes the best Rice parameter.
class RiceCost {
  public:
    constexpr RiceCost() noexcept {
        for (std::uint32_t sum = 1; sum < kSize; ++sum) {
            std::uint32_t best = ~0U;
            for (std::uint32_t k = 0; k < kSizeBits; ++k) {
                const std::uint32_t quotients = sum >> k;
                const std::uint32_t saved = k == 0 ? 0 : kCount / 2 - (kCount >> (k + 1));
                best = std::min(best, kCount * (k + 1) + quotients - std::min(saved, quotients));
            }
            table_[sum] = static_cast<std::uint16_t>(best);
        }
    }

    // A doubled sum costs one bit more for each residual.
    [[gnu::always_inline]] inline std::uint32_t bits(std::uint64_t sum) const noexcept {
        const auto scale = sum < kSize ? 0U : static_cast<std::uint32_t>(std::bit_width(sum)) - kSizeBits;
        return table_[sum >> scale] + kCount * scale;
    }

  private:
    static constexpr std::uint32_t kSizeBits = 11;
    static constexpr std::uint32_t kSize = 1U << kSizeBits;
    static constexpr std::uint32_t kCount = kGroupRows * kBlockLanes;
    std::array<std::uint16_t, kSize> table_{};
};

constexpr RiceCost kRiceCost;

/// Estimates what the modes of a group cost: in fast by the widths of blocks, in dense by the sums of blocks.
template <typename Ops, typename Sample, Profile profile>
class ModeEstimator {
  public:
    /// `top`: the first of `num_rows` rows; `valid`: all ones in lanes that belong to the tile.
    template <std::uint32_t... modes>
    PENSTOCK_INLINE ModeCosts estimate(const Plane<Sample>& plane, std::int32_t top, std::uint32_t num_rows,
                                       const Sample* valid, std::integer_sequence<std::uint32_t, modes...>) noexcept {
        RowNumbers<Sample> totals[kNumModes];
        for_each_part<Ops, Sample>([&](auto first, std::uint32_t lane) {
            const V mask = load_as<V>(valid + lane);
            Numbers sums[kNumModes] = {};
            for (std::int32_t y = top; y < top + static_cast<std::int32_t>(num_rows); ++y) {
                const auto row = RowContext<Ops, Sample, first>::load(plane.row(y - 1) + lane, plane.row(y) + lane);
                ((sums[modes] += measure(row.template residuals<modes>() & mask)), ...);
            }
            (store_as(totals[modes].words + lane * sizeof(Sample) / 8, sums[modes]), ...);
        });
        ModeCosts costs;
        costs.fill(~0U);
        ((costs[modes] = cost(totals[modes], num_rows)), ...);
        return costs;
    }

  private:
    using V = Lanes<Ops, Sample>;
    using Numbers = typename Ops::Numbers;

    PENSTOCK_INLINE Numbers measure(V residuals) noexcept {
        return profile == Profile::fast ? Ops::widths(residuals) : Ops::sums(residuals);
    }

    PENSTOCK_INLINE std::uint32_t cost(const RowNumbers<Sample>& totals, std::uint32_t num_rows) noexcept {
        constexpr std::uint32_t scale[kGroupRows + 1] = {0, 4 * 256, 2 * 256, 4 * 256 / 3, 256};  // to four rows
        std::uint64_t bits = 0;
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            if constexpr (profile == Profile::fast) {
                bits += totals.of_block(b);
            } else {
                std::uint64_t sum = totals.of_block(b);
                if constexpr (sizeof(Sample) == 2) sum += totals.words[2 * b + 1];
                bits += kRiceCost.bits(sum * scale[num_rows] / 256);
            }
        }
        return static_cast<std::uint32_t>(bits);
    }
};

/// The codes of a line of blocks as `Numbers` in memory.
template <typename Sample>
PENSTOCK_INLINE RowNumbers<Sample> numbers_of(const std::uint8_t* codes) noexcept {
    RowNumbers<Sample> numbers;
    for (std::uint32_t i = 0; i < kBlocks * sizeof(Sample); ++i) numbers.words[i] = codes[i / sizeof(Sample)];
    return numbers;
}

/// Bits of control from one code to the next, without the constant bit that ends it.
template <typename Numbers>
PENSTOCK_INLINE Numbers control_bits(Numbers above, Numbers code) noexcept {
    const Numbers up = code - above;
    return (up + up) ^ (up >> 31);
}

/// Sets the codes of a row of fast, which are the widths of its blocks; gives the bits that it takes, constants left
/// out.
template <typename Ops, typename Sample>
PENSTOCK_INLINE std::uint32_t set_widths(const Sample* residuals, const std::uint8_t* above,
                                         std::uint8_t* codes) noexcept {
    using V = Lanes<Ops, Sample>;
    RowNumbers<Sample> widths;
    for (std::uint32_t lane = 0; lane < kLanes; lane += kLanesPerPart<Ops, Sample>) {
        store_as(widths.words + lane * sizeof(Sample) / 8, Ops::widths(load_as<V>(residuals + lane)));
    }
    std::uint32_t bits = 0;
    for (std::uint32_t b = 0; b < kBlocks; ++b) {
        codes[b] = static_cast<std::uint8_t>(widths.of_block(b));
        bits += kBlockLanes * codes[b] + static_cast<std::uint32_t>(control_bits(int{above[b]}, int{codes[b]}));
    }
    return bits;
}

/// Chooses the cheapest code of dense for each block of a group, given the codes above.
template <typename Ops, typename Sample>
class CodeChooser {
  public:
    /// Sets `codes`; gives the bits that the group then takes, constants left out.
    PENSTOCK_INLINE std::uint32_t choose(const Sample (*rows)[kLanes], std::uint32_t num_rows,
                                         const std::uint8_t* above, std::uint8_t* codes) noexcept {
        const RowNumbers<Sample> numbers = numbers_of<Sample>(above);
        RowNumbers<Sample> chosen;
        std::uint64_t total = 0;
        for (std::uint32_t lane = 0; lane < kLanes; lane += kLanesPerPart<Ops, Sample>) {
            const std::size_t word = lane * sizeof(Sample) / 8;
            CodeChooser part(load_as<Numbers>(numbers.words + word));
            part.consider_all(rows, num_rows, lane);
            store_as(chosen.words + word, part.code_);
            std::uint64_t bits[Ops::kBytes / 8];
            store_as(bits, part.best_);
            for (const std::uint64_t number : bits) total += number;
        }
        for (std::uint32_t b = 0; b < kBlocks; ++b) codes[b] = static_cast<std::uint8_t>(chosen.of_block(b));
        return static_cast<std::uint32_t>(total / sizeof(Sample));
    }

  private:
    using V = Lanes<Ops, Sample>;
    using Numbers = typename Ops::Numbers;
    static constexpr std::uint32_t kHighest = highest_code(Profile::dense, sizeof(Sample));
    static constexpr std::uint32_t kNever = 1U << 28;

    explicit CodeChooser(Numbers above) noexcept : above_(above) {}

    [[gnu::always_inline]] inline void consider_all(const Sample (*rows)[kLanes], std::uint32_t num_rows,
                                                    std::uint32_t lane) noexcept {
        const std::uint32_t count = num_rows * kBlockLanes;
        V shifted[kGroupRows] = {};
        V any{};
        Numbers sparse = Ops::same(kGroupRows);
        for (std::uint32_t r = 0; r < num_rows; ++r) {
            shifted[r] = load_as<V>(rows[r] + lane);
            any |= shifted[r];
            const Numbers sums = block_sums(shifted[r]);
            sparse += sums + ((Numbers)(sums > 0) & Ops::same(kBlockLanes));
        }
        const Numbers widths = Ops::widths(any);
        consider(0, Ops::same(0), (Numbers)(widths > 0));
        consider(1, sparse, (Numbers)(widths > Ops::same(4)));
        // Once all quotients are 0, more low bits only cost.
        for (std::uint32_t k = 0; k <= std::min(widest(widths), kBits<Sample> - 2); ++k) {
            Numbers quotients = Ops::same(count * (k + 1));
            for (V& row : shifted) {
                quotients += block_sums(row);
                row >>= 1;
            }
            consider(2 + k, quotients, (Numbers)(widths > Ops::same(k + 4)));
        }
        consider(kHighest, Ops::same(count * kBits<Sample>), Numbers{});
    }

    [[gnu::always_inline]] inline void consider(std::uint32_t code, Numbers bits, Numbers impossible) noexcept {
        const Numbers candidate = Ops::same(code);
        const Numbers total = (bits + control_bits(above_, candidate)) | (impossible & Ops::same(kNever));
        const Numbers better = (Numbers)(total < best_);
        best_ ^= (best_ ^ total) & better;
        code_ ^= (code_ ^ candidate) & better;
    }

    PENSTOCK_INLINE Numbers block_sums(V v) noexcept {
        const Numbers sums = Ops::sums(v);
        if constexpr (sizeof(Sample) == 1) return sums;
        return sums + Ops::swap_halves(sums);
    }

    PENSTOCK_INLINE std::uint32_t widest(Numbers widths) noexcept {
        std::uint64_t numbers[Ops::kBytes / 8];
        store_as(numbers, widths);
        std::uint64_t largest = 0;
        for (const std::uint64_t number : numbers) largest = std::max(largest, number);
        return static_cast<std::uint32_t>(largest);
    }

    Numbers above_;
    Numbers best_ = Ops::same(2 * kNever);
    Numbers code_{};
};

}  // namespace
}  // namespace penstock::weir
