// Operations that pad, or resize to a size that chance or the image decides: their plays in a draw.
#pragma once

#include <cstdint>
#include <optional>

#include "base/random.h"
#include "pixels/draw.h"
#include "pixels/operations.h"

namespace penstock {

// Each appends what the operation does with the random numbers of its place.
void play(const PadOperation& operation, Random& random, Draw& draw, std::uint8_t place);
void play(const PadIfSmallerOperation& operation, Random& random, Draw& draw, std::uint8_t place);
void play(const LetterboxOperation& operation, Random& random, Draw& draw, std::uint8_t place);
void play(const RandomZoomOutOperation& operation, Random& random, Draw& draw, std::uint8_t place);
void play(const RandomResizeOperation& operation, Random& random, Draw& draw, std::uint8_t place);
void play(const RandomShortestSizeOperation& operation, Random& random, Draw& draw, std::uint8_t place);
void play(const RandomVerticalFlipOperation& operation, Random& random, Draw& draw, std::uint8_t place);

// The size after an operation for images of `before`, or none if it is not the same for all of them.
[[nodiscard]] std::optional<ImageSize> fixed_after(const PadOperation& operation, std::optional<ImageSize> before);
[[nodiscard]] std::optional<ImageSize> fixed_after(const PadIfSmallerOperation& operation,
                                                   std::optional<ImageSize> before);

}  // namespace penstock
