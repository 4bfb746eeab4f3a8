#include "pixels/geometry.h"

#include <algorithm>

namespace penstock {

Rect intersect(const Rect& a, const Rect& b) noexcept {
    const std::int32_t top = std::max(a.y, b.y);
    const std::int32_t left = std::max(a.x, b.x);
    const std::int32_t bottom = std::min(a.y + a.height, b.y + b.height);
    const std::int32_t right = std::min(a.x + a.width, b.x + b.width);
    return {top, left, std::max(0, bottom - top), std::max(0, right - left)};
}

Stage Stage::whole(ImageSize size) noexcept {
    Stage stage;
    stage.source = stage.window = stage.valid = Rect::of(size);
    stage.size = size;
    return stage;
}

bool Stage::identity() const noexcept { return !resized && !flipped && !upended && window == Rect::of(size); }

bool Stage::crop(Rect wanted, PaddingMode mode, std::uint8_t fill_index) noexcept {
    const bool pads = !wanted.inside(Rect::of(output()));
    // Padding of padding, and mirrors of an image that exists only in part, need the image in between.
    if (pads && (padded() || (resized && mode != PaddingMode::constant))) return false;
    const std::int32_t left = flipped ? window.width - (wanted.x + wanted.width) : wanted.x;
    const std::int32_t top = upended ? window.height - (wanted.y + wanted.height) : wanted.y;
    if (pads) {
        valid = window;
        padding = mode;
        fill = fill_index;
    }
    window = {window.y + top, window.x + left, wanted.height, wanted.width};
    return true;
}

bool Stage::resize(ImageSize wanted, Filter wanted_filter) noexcept {
    if (wanted == output()) return true;
    // Rows are filtered from the top down.
    if (resized || padded() || upended) return false;
    source = window;
    source_flipped = flipped;
    flipped = false;
    resized = true;
    size = wanted;
    window = valid = Rect::of(wanted);
    filter = wanted_filter;
    return true;
}

}  // namespace penstock
