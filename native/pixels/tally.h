// Counts of the levels of an image, from which tables are made.
#pragma once

#include <array>
#include <cstdint>

#include "base/image.h"
#include "pixels/tables.h"

namespace penstock {

/// The tables that spread every colour of an image between its lowest and its highest level.
[[nodiscard]] std::array<Levels, 3> autocontrast_levels(ConstImageView image) noexcept;

/// The tables that equalise every colour of an image.
[[nodiscard]] std::array<Levels, 3> equalize_levels(ConstImageView image) noexcept;

}  // namespace penstock
