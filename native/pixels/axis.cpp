#include "pixels/axis.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace penstock {

namespace {

double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double bilinear(double x) {
    x = std::fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

double hamming(double x) {
    x = std::fabs(x);
    if (x == 0.0) return 1.0;
    if (x >= 1.0) return 0.0;
    x *= std::numbers::pi;
    // Pillow's constants are single precision.
    return std::sin(x) / x * (static_cast<double>(0.54f) + static_cast<double>(0.46f) * std::cos(x));
}

double bicubic(double x) {
    x = std::fabs(x);
    if (x < 1.0) return (1.5 * x - 2.5) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * -0.5;
    return 0.0;
}

double sinc(double x) {
    if (x == 0.0) return 1.0;
    x *= std::numbers::pi;
    return std::sin(x) / x;
}

double lanczos(double x) { return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

double support_of(Filter filter) noexcept {
    switch (filter) {
        case Filter::box: return 0.5;
        case Filter::bicubic: return 2.0;
        case Filter::lanczos: return 3.0;
        default: return 1.0;
    }
}

/// The filter laid over the source: an output's centre and reach.
struct Reach {
    double begin;
    double scale;         ///< source samples per output sample
    double filter_scale;  ///< at least 1: enlarging does not narrow the filter
    double support;
    std::uint32_t length;

    explicit Reach(const Axis& axis) noexcept
        : begin(axis.begin),
          scale((axis.end - axis.begin) / axis.size),
          filter_scale(std::max(1.0, scale)),
          support(support_of(axis.filter) * filter_scale),
          length(axis.length) {}

    [[nodiscard]] double center(std::uint32_t output) const noexcept { return begin + (output + 0.5) * scale; }
    [[nodiscard]] Span taps(double at) const noexcept {
        const auto low = static_cast<std::int64_t>(at - support + 0.5);
        const auto high = static_cast<std::int64_t>(at + support + 0.5);
        const std::int64_t end = std::min<std::int64_t>(high, length);
        return {static_cast<std::uint32_t>(std::max<std::int64_t>(low, 0)), static_cast<std::uint32_t>(end)};
    }
    [[nodiscard]] std::uint32_t max_taps() const noexcept {
        return static_cast<std::uint32_t>(std::ceil(support)) * 2 + 1;
    }
};

/// Weights of one output, adding up to 1.
template <double (*kFilter)(double)>
void fill_fractions(const Reach& reach, double center, Span taps, double* out) {
    const double narrowing = 1.0 / reach.filter_scale;
    const std::uint32_t count = taps.end - taps.begin;
    double total = 0.0;
    for (std::uint32_t i = 0; i < count; ++i) {
        out[i] = kFilter((static_cast<double>(i + taps.begin) - center + 0.5) * narrowing);
        total += out[i];
    }
    if (total == 0.0) return;
    for (std::uint32_t i = 0; i < count; ++i) out[i] /= total;
}

using FillFractions = void (*)(const Reach&, double, Span, double*);

FillFractions fill_for(Filter filter) noexcept {
    switch (filter) {
        case Filter::box: return fill_fractions<box>;
        case Filter::hamming: return fill_fractions<hamming>;
        case Filter::bicubic: return fill_fractions<bicubic>;
        case Filter::lanczos: return fill_fractions<lanczos>;
        default: return fill_fractions<bilinear>;
    }
}

/// Where output `i` of those wanted is looked up on the axis.
std::uint32_t lookup(const Axis& axis, std::uint32_t i) noexcept {
    return axis.first + (axis.flipped ? axis.count - 1 - i : i);
}

Span mirrored(Span span, std::uint32_t length) noexcept { return {length - span.end, length - span.begin}; }

/// Pillow finds the nearest samples by adding up steps; so do we, to round where it rounds.
template <typename Visit>
void visit_nearest(const Axis& axis, Visit visit) {
    const double step = (axis.end - axis.begin) / axis.size;
    double at = axis.begin + step * 0.5;
    for (std::uint32_t i = 0; i < axis.first + axis.count; ++i, at += step) {
        if (i < axis.first) continue;
        const std::uint32_t tap = std::min(static_cast<std::uint32_t>(at), axis.length - 1);
        visit(i - axis.first, axis.source_flipped ? axis.length - 1 - tap : tap);
    }
}

}  // namespace

std::int32_t to_weight(double fraction) noexcept {
    constexpr double one = std::int32_t{1} << kWeightBits;
    return static_cast<std::int32_t>(fraction < 0 ? -0.5 + fraction * one : 0.5 + fraction * one);
}

Span source_span(const Axis& axis) noexcept {
    if (axis.filter == Filter::nearest) {
        Span span{axis.length, 0};
        visit_nearest(axis, [&span](std::uint32_t, std::uint32_t tap) {
            span = {std::min(span.begin, tap), std::max(span.end, tap + 1)};
        });
        return span;
    }
    const Reach reach(axis);
    const Span span{reach.taps(reach.center(axis.first)).begin,
                    reach.taps(reach.center(axis.first + axis.count - 1)).end};
    return axis.source_flipped ? mirrored(span, axis.length) : span;
}

void AxisTable::place(const Axis& axis, std::uint32_t output, Span taps, std::uint32_t origin) noexcept {
    if (axis.source_flipped) taps = mirrored(taps, axis.length);
    first_[output] = taps.begin - origin;
    groups_[output] = taps.end - taps.begin;
}

void AxisTable::build_fractions(const Axis& axis, std::uint32_t origin) {
    const Reach reach(axis);
    const FillFractions fill = fill_for(axis.filter);
    count_ = axis.count;
    max_taps_ = reach.max_taps();
    first_.resize(count_);
    groups_.resize(count_);
    fractions_.resize(std::size_t{count_} * max_taps_);
    for (std::uint32_t i = 0; i < count_; ++i) {
        const double center = reach.center(lookup(axis, i));
        const Span taps = reach.taps(center);
        double* row = fractions_.data() + std::size_t{i} * max_taps_;
        fill(reach, center, taps, row);
        if (axis.source_flipped) std::reverse(row, row + (taps.end - taps.begin));
        place(axis, i, taps, origin);
    }
}

void AxisTable::build_weights(const Axis& axis, std::uint32_t origin, std::uint32_t alignment) {
    build_fractions(axis, origin);
    max_groups_ = (max_taps_ + alignment - 1 + kGroupTaps - 1) / kGroupTaps;
    weights_.assign(num_groups() * kGroupTaps, 0);
    for (std::uint32_t i = 0; i < count_; ++i) {
        const std::uint32_t lead = first_[i] % alignment;
        const std::uint32_t taps = groups_[i];
        const double* row = fractions(i);
        std::int32_t* out = weights_.data() + std::size_t{i} * max_groups_ * kGroupTaps + lead;
        for (std::uint32_t tap = 0; tap < taps; ++tap) out[tap] = to_weight(row[tap]);
        first_[i] -= lead;
        groups_[i] = (lead + taps + kGroupTaps - 1) / kGroupTaps;
    }
}

void AxisTable::build_nearest(const Axis& axis, std::uint32_t origin) {
    count_ = axis.count;
    first_.resize(count_);
    visit_nearest(axis, [&](std::uint32_t output, std::uint32_t tap) {
        first_[axis.flipped ? count_ - 1 - output : output] = tap - origin;
    });
}

}  // namespace penstock
