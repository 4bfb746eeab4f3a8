// Which dataset is meant. An image is a function of this and its index, and of nothing else: not of the number of
// images, nor of threads, nor of the machine. So the code of this folder keeps three rules: IEEE arithmetic without
// contraction (see CMakeLists.txt); of the C library only sqrt, which is exact; and no two random draws in one
// expression, unless in braces, because compilers differ in which comes first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/image.h"

namespace penstock::synth {

/// Part of the image that shows the label: coarse structure (layout, colours, silhouettes), fine texture (a pattern of
/// 3 to 5 pixels, which strong compression and small scales remove), or both: classes 2n and 2n + 1 have the same
/// structure and differ in texture.
enum class Variant : std::uint8_t { coarse, texture, mixed };

struct Spec {
    std::uint32_t width = 512;
    std::uint32_t height = 256;
    std::uint32_t num_classes = 10;
    std::uint64_t seed = 0;
    Variant variant = Variant::mixed;
    bool deep = false;  ///< 16-bit grey with the values of a 12-bit sensor, instead of 8-bit RGB

    [[nodiscard]] PixelShape shape() const noexcept {
        return {height, width, static_cast<std::uint8_t>(deep ? 1 : 3), static_cast<std::uint8_t>(deep ? 2 : 1)};
    }
};

/// The class of an image: they take turns, so that any first N images are balanced.
[[nodiscard]] constexpr std::uint32_t class_of(const Spec& spec, std::uint64_t index) noexcept {
    return static_cast<std::uint32_t>(index % spec.num_classes);
}

/// Kind of thing that a pixel of a mask shows.
enum class Kind : std::uint8_t { sky = 0, ground = 1, block = 2, tree = 3, stone = 4, object = 5 };

/// Streams of random numbers of one image.
enum class Stream : std::uint32_t { traits = 1, layout = 2, noise = 3, rough_field = 16, soft_field = 48 };

}  // namespace penstock::synth
