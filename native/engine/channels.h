// From the channels an image has to those a batch wants, as Pillow's `convert` does.
#pragma once

#include <cstdint>

#include "base/image.h"

namespace penstock {

enum class Channels : std::uint8_t { rgb, grey, unchanged };

/// How many channels an image of `num_channels` (1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha) gets.
[[nodiscard]] constexpr std::uint8_t channels_of(Channels wanted, std::uint8_t num_channels) noexcept {
    return wanted == Channels::rgb ? 3 : wanted == Channels::grey ? 1 : num_channels;
}

/// Copies pixels into `out`, of the same size and sample type, whose channels are 1 or 3, or those of `pixels`.
/// Alpha is left out, grey repeated, RGB weighed (ITU-R 601-2).
void convert_channels(ConstImageView pixels, ImageView out) noexcept;

}  // namespace penstock
