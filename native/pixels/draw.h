// Random choices for one sample: the stages of its pixels. A function of the chain, the sample's size and (seed, epoch,
// id); made before anything is decoded, and shared by image, masks and boxes.
#pragma once

#include <array>
#include <cstdint>

#include "base/random.h"
#include "pixels/geometry.h"
#include "pixels/operations.h"
#include "pixels/warp_map.h"

namespace penstock {

/// Key of the random numbers of a sample.
struct SampleKey {
    std::uint64_t seed = 0;
    std::uint64_t epoch = 0;
    std::uint64_t id = 0;

    /// Returns the key of the operation at a place of the chain. Its numbers do not depend on the other operations.
    [[nodiscard]] RandomKey at(std::uint32_t place) const noexcept;
};

/// A change of pixel values: `value` is what `ChangeOperation` describes.
struct Change {
    ChangeKind kind = ChangeKind::brightness;
    double value = 0;
    double threshold = 128;
    std::array<std::uint32_t, 2> kernel{1, 1};
};

enum class StepKind : std::uint8_t { stage, warp, change };

/// One pass: crops, resizes and flips in a stage, a warp, or a change of values.
struct Step {
    StepKind kind = StepKind::stage;
    Stage stage;
    Warp warp;
    Change change;

    /// Returns whether pixels move, so that masks, boxes and points do too.
    [[nodiscard]] bool moves() const noexcept { return kind == StepKind::stage || kind == StepKind::warp; }
    /// The size of the result of a step that moves pixels.
    [[nodiscard]] ImageSize output() const noexcept { return kind == StepKind::warp ? warp.size : stage.output(); }
};

/// An area that is overwritten at the end, by the operation at `place`.
struct Erasure {
    Rect area;
    std::uint8_t place = 0;
};

constexpr std::size_t kMaxSteps = 64;
constexpr std::size_t kMaxErasures = 16;
constexpr std::uint64_t kMaxOutputPixels = std::uint64_t{1} << 28;

struct Draw {
    ImageSize source;
    ImageSize output;
    std::array<Step, kMaxSteps> steps;
    std::uint8_t num_steps = 0;
    std::array<Erasure, kMaxErasures> erasures;
    std::uint8_t num_erasures = 0;
    SampleKey key;

    explicit Draw(ImageSize size);

    // Each does what the operation does, in the last step if it can. `fill` is the place of the operation that pads.
    void crop(Rect wanted, PaddingMode mode, std::uint8_t fill);
    void resize(ImageSize wanted, Filter filter);
    void flip();
    void flip_vertically();
    void change(const Change& change);
    /// A pass of its own. `warp.map` is from the result to the output so far, `warp.size` the size of the result.
    void warp(const Warp& warp);
    /// Areas of the finished sample.
    void erase(const Rect& area, std::uint8_t place);

  private:
    Stage& geometry();
    Stage& new_stage();
    Stage& facing();
    Step& append();
};

/// Plays the operations; `place` of each in `operations` chooses its random numbers. Throws `bad_argument` if a crop
/// does not fit the image.
[[nodiscard]] Draw make_draw(const std::vector<Operation>& operations, ImageSize size, const SampleKey& key);

/// The size that a Resize gives an image of `size`.
[[nodiscard]] ImageSize resized_size(const ResizeOperation& operation, ImageSize size);

}  // namespace penstock
