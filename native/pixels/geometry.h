// Geometry of one sample: crops, resizes and flips as numbers. A chain of them folds into few stages, each one pass
// over pixels. This code touches no pixel.
#pragma once

#include <cstdint>

namespace penstock {

struct ImageSize {
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// A rectangle that may reach outside of its image.
struct Rect {
    std::int32_t y = 0;
    std::int32_t x = 0;
    std::int32_t height = 0;
    std::int32_t width = 0;

    [[nodiscard]] bool inside(const Rect& other) const noexcept {
        return y >= other.y && x >= other.x && y + height <= other.y + other.height &&
               x + width <= other.x + other.width;
    }
    [[nodiscard]] ImageSize size() const noexcept {
        return {static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width)};
    }
    [[nodiscard]] static Rect of(ImageSize size) noexcept {
        return {0, 0, static_cast<std::int32_t>(size.height), static_cast<std::int32_t>(size.width)};
    }
    friend bool operator==(const Rect&, const Rect&) = default;
};

/// Returns the intersection of two rectangles; its size is 0 if they do not overlap.
[[nodiscard]] Rect intersect(const Rect& a, const Rect& b) noexcept;

/// Filters of a resize, as in Pillow. All except `nearest` scale their support to the source when shrinking
/// ("antialiased").
enum class Filter : std::uint8_t { nearest, box, bilinear, hamming, bicubic, lanczos };

/// Values outside an image: a colour, its border pixel, or its mirror without or with the border pixel twice.
enum class PaddingMode : std::uint8_t { constant, edge, reflect, symmetric };

/// One pass over pixels: `source` (mirrored if `source_flipped`) is resized to `size`; of that, `window` is the result,
/// mirrored if `flipped`, and upside down if `upended`. The window may reach beyond `valid`, the part that exists; what
/// does is padding.
struct Stage {
    Rect source;
    ImageSize size;
    Rect window;
    Rect valid;
    Filter filter = Filter::bilinear;
    PaddingMode padding = PaddingMode::constant;
    std::uint8_t fill = 0;  ///< which of the program's fills is the padding's colour
    bool resized = false;
    bool source_flipped = false;
    bool flipped = false;
    bool upended = false;

    /// Takes an image as it is.
    [[nodiscard]] static Stage whole(ImageSize size) noexcept;

    [[nodiscard]] ImageSize output() const noexcept { return window.size(); }
    [[nodiscard]] bool padded() const noexcept { return !window.inside(valid); }
    /// Returns whether the pass changes nothing.
    [[nodiscard]] bool identity() const noexcept;

    // Each appends an operation to this pass, or gives false, and changes nothing, if it needs a pass of its own: the
    // result would not be equal, pixel for pixel, to the operations one after the other.

    /// `window` is in the coordinates of the output so far.
    [[nodiscard]] bool crop(Rect wanted, PaddingMode mode, std::uint8_t fill_index) noexcept;
    [[nodiscard]] bool resize(ImageSize wanted, Filter wanted_filter) noexcept;
    void flip() noexcept { flipped = !flipped; }
    void flip_vertically() noexcept { upended = !upended; }
};

}  // namespace penstock
