// The operations a program is compiled from, as plain values: names, parameters and meaning are those of torchvision's
// transforms v2. `penstock.transforms` checks what a user writes before it comes here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "pixels/geometry.h"

namespace penstock {

enum class SampleType : std::uint8_t { uint8, uint16, float32, float16 };

/// A colour to fill with: one value for every channel, or one each (up to four).
using Fill = std::vector<float>;

/// Resizes to `size`. If only one number is set, resizes the shorter side to `size.height`, and the longer one to at
/// most `max_size`.
struct ResizeOperation {
    std::optional<std::uint32_t> height;
    std::optional<std::uint32_t> width;
    std::optional<std::uint32_t> max_size;
    Filter filter = Filter::bilinear;
};

struct CenterCropOperation {
    ImageSize size;
    Fill fill{0};
    Fill mask_fill{0};
};

struct RandomCropOperation {
    ImageSize size;
    std::array<std::uint32_t, 4> padding{};  ///< left, top, right, bottom
    bool pad_if_needed = false;
    PaddingMode mode = PaddingMode::constant;
    Fill fill{0};
    Fill mask_fill{0};
};

struct RandomResizedCropOperation {
    ImageSize size;
    double min_scale = 0.08;
    double max_scale = 1.0;
    double min_ratio = 3.0 / 4.0;
    double max_ratio = 4.0 / 3.0;
    std::vector<Filter> filters{Filter::bilinear};  ///< of several, chance takes one
};

struct ScaleJitterOperation {
    ImageSize target;
    double min_scale = 0.1;
    double max_scale = 2.0;
    Filter filter = Filter::bilinear;
};

struct RandomHorizontalFlipOperation {
    double p = 0.5;
};

struct RandomVerticalFlipOperation {
    double p = 0.5;
};

struct PadOperation {
    std::array<std::uint32_t, 4> padding{};  ///< left, top, right, bottom
    PaddingMode mode = PaddingMode::constant;
    Fill fill{0};
    Fill mask_fill{0};
};

/// Pads images that are smaller than `size` at the right and at the bottom.
struct PadIfSmallerOperation {
    ImageSize size;
    Fill fill{0};
    Fill mask_fill{0};
};

/// Resizes to fit into `size`, keeping the ratio, and pads to it on both sides.
struct LetterboxOperation {
    ImageSize size;
    Filter filter = Filter::bilinear;
    bool enlarges = true;  ///< whether smaller images grow
    Fill fill{0};
    Fill mask_fill{0};
};

/// Puts the image at a random place of a canvas whose sides are larger by a random factor.
struct RandomZoomOutOperation {
    double min_side = 1;
    double max_side = 4;
    double p = 0.5;
    Fill fill{0};
    Fill mask_fill{0};
};

/// Resizes the shorter side to a random length of [min_size, max_size).
struct RandomResizeOperation {
    std::uint32_t min_size = 1;
    std::uint32_t max_size = 2;
    Filter filter = Filter::bilinear;
};

/// Resizes the shorter side to one of `sizes`, or less where the longer one would exceed `max_size`.
struct RandomShortestSizeOperation {
    std::vector<std::uint32_t> sizes;
    std::optional<std::uint32_t> max_size;
    Filter filter = Filter::bilinear;
};

/// Turns counter-clockwise by a random angle, about `center` (x, y) or the middle.
struct RandomRotationOperation {
    double min_degrees = 0;
    double max_degrees = 0;
    Filter filter = Filter::nearest;
    bool expand = false;
    std::optional<std::array<double, 2>> center;
    Fill fill{0};
    Fill mask_fill{0};
};

/// Turns, shifts, scales and shears about `center`. Shifts are shares of the width and the height; shears are ranges
/// of degrees along x and y.
struct RandomAffineOperation {
    using Range = std::array<double, 2>;
    Range degrees{};
    std::optional<Range> translate;
    std::optional<Range> scale;
    std::optional<Range> shear_x;
    std::optional<Range> shear_y;
    Filter filter = Filter::nearest;
    std::optional<std::array<double, 2>> center;
    Fill fill{0};
    Fill mask_fill{0};
};

/// Moves each corner inwards by a random share of half a side, at most `distortion`.
struct RandomPerspectiveOperation {
    double distortion = 0.5;
    double p = 0.5;
    Filter filter = Filter::bilinear;
    Fill fill{0};
    Fill mask_fill{0};
};

/// Changes of the values of 8-bit pixels, each of which stays in its place.
enum class ChangeKind : std::uint8_t {
    brightness,
    contrast,
    saturation,
    hue,
    grey,
    invert,
    posterize,
    solarize,
    solarize_add,
    autocontrast,
    equalize,
    sharpness,
    pillow_blur,
    gaussian_blur,
};

/// Makes one change with probability `p`, by a value between `low` and `high`: a factor, the bits of a posterize, the
/// threshold of a solarize, what a solarize_add adds, the sigma of a blur.
struct ChangeOperation {
    ChangeKind kind = ChangeKind::grey;
    double p = 1;
    double low = 0;
    double high = 0;
    double threshold = 128;                     ///< of a solarize_add
    std::array<std::uint32_t, 2> kernel{1, 1};  ///< rows and columns of a gaussian_blur
};

/// Kinds of groups.
enum class GroupKind : std::uint8_t { apply, choice, order };

/// Plays members, which are the operations behind it in the chain: all of them with probability p[0] (apply), one of
/// them with the probabilities `p` (choice), or all in random order (order).
struct GroupOperation {
    GroupKind kind = GroupKind::apply;
    std::vector<double> p;
    std::vector<std::uint32_t> lengths;  ///< operations of every member

    /// Number of operations behind it that belong to it.
    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t sum = 0;
        for (const std::uint32_t length : lengths) sum += length;
        return sum;
    }
};

/// Ranges of factors; none where the operation is left out.
struct ColorJitterOperation {
    using Range = std::optional<std::array<double, 2>>;
    Range brightness;
    Range contrast;
    Range saturation;
    Range hue;
};

/// Values of erased areas: given ones, one random colour each, or random pixels.
enum class EraseMode : std::uint8_t { constant, color, pixel };

/// Overwrites areas of the finished sample. Several of them share the scale; random values are normal.
struct RandomErasingOperation {
    double p = 0.5;
    double min_scale = 0.02;
    double max_scale = 0.33;
    double min_ratio = 0.3;
    double max_ratio = 3.3;
    EraseMode mode = EraseMode::constant;
    std::vector<float> value{0};
    std::uint32_t min_count = 1;
    std::uint32_t max_count = 1;
};

struct ToDtypeOperation {
    SampleType type = SampleType::float32;
    bool scale = false;
};

struct NormalizeOperation {
    std::vector<double> mean;
    std::vector<double> deviation;
};

/// Mask values: table[value], `otherwise` for values beyond it (none: unchanged). Images are left alone.
struct RemapOperation {
    std::vector<std::uint16_t> table;
    std::optional<std::uint16_t> otherwise;
};

using Operation =
    std::variant<ResizeOperation, CenterCropOperation, RandomCropOperation, RandomResizedCropOperation,
                 ScaleJitterOperation, RandomHorizontalFlipOperation, RandomVerticalFlipOperation, PadOperation,
                 PadIfSmallerOperation, LetterboxOperation, RandomZoomOutOperation, RandomResizeOperation,
                 RandomShortestSizeOperation, RandomRotationOperation, RandomAffineOperation,
                 RandomPerspectiveOperation, ColorJitterOperation, ToDtypeOperation, NormalizeOperation,
                 RandomErasingOperation, RemapOperation, ChangeOperation, GroupOperation>;

}  // namespace penstock
