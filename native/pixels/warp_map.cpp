#include "pixels/warp_map.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <utility>

namespace penstock {

namespace {

// Python's math.radians.
double radians(double degrees) { return degrees * (std::numbers::pi / 180.0); }

/// Python's round(value, 15): the nearest decimal of 15 places, as a number again.
double rounded15(double value) {
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 15).ptr;
    double result = 0;
    std::from_chars(text.data(), end, result);
    return result;
}

// Python's %: the result has the sign of the divisor.
double full_turns_removed(double degrees) {
    const double rest = std::fmod(degrees, 360.0);
    if (rest == 0) return 0.0;
    return rest < 0 ? rest + 360.0 : rest;
}

Point apply_affine(const WarpMap& map, Point point) {
    return {map[0] * point.x + map[1] * point.y + map[2], map[3] * point.x + map[4] * point.y + map[5]};
}

/// Turns that only copy pixels; the map of nearest pixels is exact for them.
std::optional<Warp> right_angle(ImageSize size, double degrees, bool expand, std::uint8_t fill) {
    const double width = size.width;
    const double height = size.height;
    Warp warp{{}, size, Filter::nearest, fill};
    if (degrees == 180.0) {
        warp.map = {-1, 0, width, 0, -1, height, 0, 0};
        return warp;
    }
    if (!expand && size.width != size.height) return std::nullopt;
    warp.size = {size.width, size.height};
    if (degrees == 90.0) {
        warp.map = {0, -1, width, 1, 0, 0, 0, 0};
        return warp;
    }
    if (degrees == 270.0) {
        warp.map = {0, 1, 0, -1, 0, height, 0, 0};
        return warp;
    }
    return std::nullopt;
}

/// Makes the result large enough for all four corners, as `Image.rotate(expand=True)` does.
void grow(Warp& warp, ImageSize size) {
    const double width = size.width;
    const double height = size.height;
    double low_x = std::numeric_limits<double>::infinity();
    double low_y = low_x;
    double high_x = -low_x;
    double high_y = -low_x;
    for (const Point corner : {Point{0, 0}, Point{width, 0}, Point{width, height}, Point{0, height}}) {
        const Point moved = apply_affine(warp.map, corner);
        low_x = std::min(low_x, moved.x);
        low_y = std::min(low_y, moved.y);
        high_x = std::max(high_x, moved.x);
        high_y = std::max(high_y, moved.y);
    }
    const double new_width = std::ceil(high_x) - std::floor(low_x);
    const double new_height = std::ceil(high_y) - std::floor(low_y);
    const Point origin = apply_affine(warp.map, {-(new_width - width) / 2.0, -(new_height - height) / 2.0});
    warp.map[2] = origin.x;
    warp.map[5] = origin.y;
    warp.size = {static_cast<std::uint32_t>(new_height), static_cast<std::uint32_t>(new_width)};
}

}  // namespace

WarpMap affine_map(Point center, double degrees, Point shift, double scale, Point shear_degrees) {
    const double turn = radians(degrees);
    const double shear_x = radians(shear_degrees.x);
    const double shear_y = radians(shear_degrees.y);
    const double tangent = std::tan(shear_x);
    const double a = std::cos(turn - shear_y) / std::cos(shear_y);
    const double b = -(a * tangent + std::sin(turn));
    const double c = std::sin(turn - shear_y) / std::cos(shear_y);
    const double d = std::cos(turn) - c * tangent;
    const Point moved{center.x + shift.x, center.y + shift.y};
    WarpMap map{d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0, 0, 0};
    map[2] += center.x - map[0] * moved.x - map[1] * moved.y;
    map[5] += center.y - map[3] * moved.x - map[4] * moved.y;
    return map;
}

std::optional<Warp> rotation(ImageSize size, double degrees, std::optional<Point> center, bool expand, Filter filter,
                             std::uint8_t fill) {
    const double angle = full_turns_removed(degrees);
    if (!center) {
        if (angle == 0.0) return std::nullopt;
        if (const auto copied = right_angle(size, angle, expand, fill)) return copied;
    }
    const Point about = center.value_or(Point{size.width / 2.0, size.height / 2.0});
    const double turn = -radians(angle);
    Warp warp{{}, size, filter, fill};
    warp.map = {rounded15(std::cos(turn)),
                rounded15(std::sin(turn)),
                0,
                rounded15(-std::sin(turn)),
                rounded15(std::cos(turn)),
                0,
                0,
                0};
    const Point origin = apply_affine(warp.map, {-about.x, -about.y});
    warp.map[2] = origin.x + about.x;
    warp.map[5] = origin.y + about.y;
    if (expand) grow(warp, size);
    return warp;
}

WarpMap perspective_map(const std::array<Point, 4>& from, const std::array<Point, 4>& to) {
    // Eight equations, solved by elimination with pivots. torchvision's least squares give the same after the
    // rounding to float, which is part of its definition.
    std::array<std::array<double, 9>, 8> rows{};
    for (std::size_t i = 0; i < 4; ++i) {
        const Point& p = to[i];
        const Point& q = from[i];
        rows[2 * i] = {p.x, p.y, 1, 0, 0, 0, -q.x * p.x, -q.x * p.y, q.x};
        rows[2 * i + 1] = {0, 0, 0, p.x, p.y, 1, -q.y * p.x, -q.y * p.y, q.y};
    }
    for (std::size_t column = 0; column < 8; ++column) {
        const auto best =
            std::max_element(rows.begin() + static_cast<std::ptrdiff_t>(column), rows.end(),
                             [&](const auto& a, const auto& b) { return std::abs(a[column]) < std::abs(b[column]); });
        std::swap(rows[column], *best);
        if (rows[column][column] == 0) return {0, 0, -1, 0, 0, -1, 0, 0};
        for (std::size_t row = 0; row < 8; ++row) {
            if (row == column) continue;
            const double factor = rows[row][column] / rows[column][column];
            for (std::size_t k = column; k < 9; ++k) rows[row][k] -= factor * rows[column][k];
        }
    }
    WarpMap map{};
    for (std::size_t i = 0; i < 8; ++i) map[i] = static_cast<double>(static_cast<float>(rows[i][8] / rows[i][i]));
    return map;
}

std::optional<std::array<double, 9>> inverse_map(const WarpMap& map) {
    const auto [a, b, c, d, e, f, g, h] = map;
    const double determinant = a * (e - f * h) - b * (d - f * g) + c * (d * h - e * g);
    if (determinant == 0 || !std::isfinite(determinant)) return std::nullopt;
    std::array<double, 9> inverse{e - f * h,     c * h - b,     b * f - c * e, f * g - d,    a - c * g,
                                  c * d - a * f, d * h - e * g, b * g - a * h, a * e - b * d};
    for (double& value : inverse) value /= determinant;
    return inverse;
}

Point map_point(const std::array<double, 9>& inverse, Point point) noexcept {
    const double w = inverse[6] * point.x + inverse[7] * point.y + inverse[8];
    return {(inverse[0] * point.x + inverse[1] * point.y + inverse[2]) / w,
            (inverse[3] * point.x + inverse[4] * point.y + inverse[5]) / w};
}

}  // namespace penstock
