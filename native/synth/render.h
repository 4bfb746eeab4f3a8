// One image of a procedural dataset, and its mask.
#pragma once

#include "base/image.h"
#include "synth/spec.h"

namespace penstock::synth {

/// Renders image `index`. `image.shape` is `spec.shape()`; `mask`, if its data is not null, is 8-bit grey of the same
/// size and gets a `Kind` per pixel. Pure: the same pixels for the same arguments, on any thread and machine.
void render(const Spec& spec, std::uint64_t index, ImageView image, ImageView mask);

/// Renders only the mask, at a fraction of the cost.
void render_mask(const Spec& spec, std::uint64_t index, ImageView mask);

}  // namespace penstock::synth
