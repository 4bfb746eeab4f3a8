// Random erasing: areas of a finished sample are overwritten, after ToDtype and Normalize.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "pixels/draw.h"
#include "pixels/finish.h"
#include "pixels/operations.h"

namespace penstock {

/// Draws the areas of a place: ten tries each at an area and a ratio, as torchvision and timm do.
void play(const RandomErasingOperation& operation, Random& random, Draw& draw, std::uint8_t place);

/// Overwrites one area of `out`. `number` is that of the area in its draw, and `key` that of its place; random values
/// depend on nothing else. Throws `bad_argument` if there is neither one value nor one per channel.
void erase(const RandomErasingOperation& operation, const Rect& area, const RandomKey& key, std::uint32_t number,
           const Slot& out);

}  // namespace penstock
