#include "pixels/pads.h"

#include <algorithm>
#include <cmath>

namespace penstock {

namespace {

std::int32_t whole(double value) { return static_cast<std::int32_t>(value); }

double uniform(Random& random, double low, double high) {
    return low + (high - low) * static_cast<double>(random.uniform());
}

/// Surrounds the image: `before` of each side is left and top.
void surround(Draw& draw, std::int32_t left, std::int32_t top, ImageSize wanted, PaddingMode mode, std::uint8_t place) {
    if (wanted == draw.output) return;
    draw.crop({-top, -left, static_cast<std::int32_t>(wanted.height), static_cast<std::int32_t>(wanted.width)}, mode,
              place);
}

ImageSize padded(const PadOperation& operation, ImageSize size) {
    const auto [left, top, right, bottom] = operation.padding;
    return {size.height + top + bottom, size.width + left + right};
}

ImageSize enlarged(const PadIfSmallerOperation& operation, ImageSize size) {
    return {std::max(size.height, operation.size.height), std::max(size.width, operation.size.width)};
}

}  // namespace

void play(const PadOperation& operation, Random&, Draw& draw, std::uint8_t place) {
    surround(draw, static_cast<std::int32_t>(operation.padding[0]), static_cast<std::int32_t>(operation.padding[1]),
             padded(operation, draw.output), operation.mode, place);
}

void play(const PadIfSmallerOperation& operation, Random&, Draw& draw, std::uint8_t place) {
    surround(draw, 0, 0, enlarged(operation, draw.output), PaddingMode::constant, place);
}

void play(const LetterboxOperation& operation, Random&, Draw& draw, std::uint8_t place) {
    const double height = draw.output.height;
    const double width = draw.output.width;
    double fit = std::min(operation.size.height / height, operation.size.width / width);
    if (!operation.enlarges) fit = std::min(fit, 1.0);
    // Python's round: halves go to the even neighbour.
    const ImageSize inner{static_cast<std::uint32_t>(std::max(1.0, std::nearbyint(height * fit))),
                          static_cast<std::uint32_t>(std::max(1.0, std::nearbyint(width * fit)))};
    draw.resize(inner, operation.filter);
    const double above = (static_cast<double>(operation.size.height) - inner.height) / 2;
    const double before = (static_cast<double>(operation.size.width) - inner.width) / 2;
    surround(draw, whole(std::nearbyint(before - 0.1)), whole(std::nearbyint(above - 0.1)), operation.size,
             PaddingMode::constant, place);
}

void play(const RandomZoomOutOperation& operation, Random& random, Draw& draw, std::uint8_t place) {
    if (static_cast<double>(random.uniform()) >= operation.p) return;
    const double factor = uniform(random, operation.min_side, operation.max_side);
    const std::int32_t width = whole(draw.output.width * factor);
    const std::int32_t height = whole(draw.output.height * factor);
    const auto before = [&](std::int32_t room) { return whole(room * static_cast<double>(random.uniform())); };
    const std::int32_t left = before(width - static_cast<std::int32_t>(draw.output.width));
    const std::int32_t top = before(height - static_cast<std::int32_t>(draw.output.height));
    surround(draw, left, top, {static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width)},
             PaddingMode::constant, place);
}

void play(const RandomResizeOperation& operation, Random& random, Draw& draw, std::uint8_t) {
    const std::uint32_t size = operation.min_size + random.below(operation.max_size - operation.min_size);
    draw.resize(resized_size({size, std::nullopt, std::nullopt, operation.filter}, draw.output), operation.filter);
}

void play(const RandomShortestSizeOperation& operation, Random& random, Draw& draw, std::uint8_t) {
    const double height = draw.output.height;
    const double width = draw.output.width;
    const std::uint32_t wanted = operation.sizes[random.below(static_cast<std::uint32_t>(operation.sizes.size()))];
    double factor = wanted / std::min(height, width);
    if (operation.max_size) factor = std::min(factor, *operation.max_size / std::max(height, width));
    draw.resize({static_cast<std::uint32_t>(std::max(1.0, std::trunc(height * factor))),
                 static_cast<std::uint32_t>(std::max(1.0, std::trunc(width * factor)))},
                operation.filter);
}

void play(const RandomVerticalFlipOperation& operation, Random& random, Draw& draw, std::uint8_t) {
    if (static_cast<double>(random.uniform()) < operation.p) draw.flip_vertically();
}

std::optional<ImageSize> fixed_after(const PadOperation& operation, std::optional<ImageSize> before) {
    return before ? std::optional(padded(operation, *before)) : std::nullopt;
}

std::optional<ImageSize> fixed_after(const PadIfSmallerOperation& operation, std::optional<ImageSize> before) {
    return before ? std::optional(enlarged(operation, *before)) : std::nullopt;
}

}  // namespace penstock
