// Maps of warps as numbers: which position of the input an output pixel shows. The arithmetic is that of Pillow and
// torchvision, step by step, so that pixels are equal to theirs. This code touches no pixel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "pixels/geometry.h"

namespace penstock {

/// Input position of output position (x, y), both measured from the corner of the image, so that pixel 0 is at 0.5:
/// ((a x + b y + c) / w, (d x + e y + f) / w) with w = g x + h y + 1. Pillow's order: a b c d e f g h.
using WarpMap = std::array<double, 8>;

/// A position (x, y), or a shift.
struct Point {
    double x = 0;
    double y = 0;
};

/// One pass over pixels that turns, shears, shifts or distorts an image. It reads the whole input.
struct Warp {
    WarpMap map{1, 0, 0, 0, 1, 0, 0, 0};
    ImageSize size;                   ///< of the result
    Filter filter = Filter::nearest;  ///< nearest, bilinear or bicubic, none of them antialiased
    std::uint8_t fill = 0;            ///< which of the program's fills is the colour outside of the input

    [[nodiscard]] bool perspective() const noexcept { return map[6] != 0 || map[7] != 0; }
};

/// torchvision's affine transform on Pillow images: turn by `degrees`, shear by `shear_degrees`, and scale about
/// `center`, then shift. The map from the result to the input, rounded as v2 rounds it; v1 differs in the last digit.
[[nodiscard]] WarpMap affine_map(Point center, double degrees, Point shift, double scale, Point shear_degrees);

/// Turns an image counter-clockwise as Pillow's `Image.rotate` does, about `center` (none: the middle). `expand`
/// makes room for all of the result. No warp if nothing turns; turns by a right angle copy pixels.
[[nodiscard]] std::optional<Warp> rotation(ImageSize size, double degrees, std::optional<Point> center, bool expand,
                                           Filter filter, std::uint8_t fill);

/// torchvision's perspective transform: the map that shows the corners `from` at `to`. Both go round the image from the
/// top left. Corners that are on one line give a map that shows only the fill.
[[nodiscard]] WarpMap perspective_map(const std::array<Point, 4>& from, const std::array<Point, 4>& to);

/// The other way round: from input positions to output positions. None if the map has no inverse.
[[nodiscard]] std::optional<std::array<double, 9>> inverse_map(const WarpMap& map);

/// The output position of an input position.
[[nodiscard]] Point map_point(const std::array<double, 9>& inverse, Point point) noexcept;

}  // namespace penstock
