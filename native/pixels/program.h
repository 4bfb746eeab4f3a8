// A chain of transforms, compiled: from the size of a sample to a draw, to the region worth decoding, to pixels in a
// batch slot. What the engine calls per sample; no Python, no allocation once its scratch has grown.
//
//     const TransformProgram program(operations);
//     const Draw draw = program.draw(size, {seed, epoch, id});          // before decoding
//     const Region region = program.region(draw);                       // decode only this
//     program.apply(decoded, draw, slot, scratch);                      // crop, resize, flip, colours, type, layout
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/image.h"
#include "pixels/color.h"
#include "pixels/draw.h"
#include "pixels/finish.h"
#include "pixels/operations.h"
#include "pixels/remap.h"
#include "pixels/stage.h"
#include "pixels/warp.h"

namespace penstock {

/// Kind of field that a program transforms.
enum class FieldKind : std::uint8_t { image, mask };

constexpr std::size_t kMaxOperations = 255;

/// Working memory of one thread. Grows to what its largest sample needs.
struct TransformScratch {
    StageScratch stage;
    WarpScratch warp;
    FinishScratch finish;
    ColorScratch colors;
    ByteBuffer images[2];  ///< between passes, in turn
    ByteBuffer prepared;   ///< the source with other labels, or fewer bits
    ByteBuffer row;
};

/// Immutable; one object serves every thread.
class TransformProgram {
  public:
    /// Throws `bad_argument` for a chain that cannot run: geometry or colours after ToDtype, Normalize without floats.
    explicit TransformProgram(std::vector<Operation> operations);

    /// The same chain for masks: nearest neighbours, masks' fills, Remap; no colours, no types. Draws of the image's
    /// program fit it, and the other way round.
    [[nodiscard]] TransformProgram for_masks() const;

    /// Decides everything that chance decides for a sample whose image has `size`.
    /// Throws `bad_argument` if a crop does not fit.
    [[nodiscard]] Draw draw(ImageSize size, const SampleKey& key) const { return make_draw(operations_, size, key); }

    /// The part of the source that `apply` needs, in the coordinates of the image decoded at 1 / `scale`.
    [[nodiscard]] Region region(const Draw& draw, std::uint32_t scale = 1) const;

    /// The largest of 1, 2, 4 and 8 by which the first resize shrinks at least: decoding at that scale, or a smaller
    /// one, still leaves enough pixels. 1 for masks.
    [[nodiscard]] std::uint32_t max_scale(const Draw& draw) const;

    /// The size of every result, if it is the same for all; otherwise it is `draw.output`.
    [[nodiscard]] std::optional<ImageSize> fixed_size() const;

    /// The type of results; none means that of the source.
    [[nodiscard]] std::optional<SampleType> output_type() const noexcept { return type_; }

    /// Returns whether `apply` would only copy, so that the region can be decoded into the slot directly.
    [[nodiscard]] bool copies(const Draw& draw, PixelShape decoded, const Slot& out) const;

    /// Writes a result to `out`, which has the size of `draw.output`.
    ///
    /// `decoded` is `region(draw, scale)` of an image decoded at 1 / `scale`, 8 or 16 bits. `out.channels` is the
    /// source's, or 3 where the source has 1 (repeated), 2 or 4 (alpha dropped), or 1 where it has 2. Throws
    /// `bad_argument` if shapes, types or channels do not fit. Safe from many threads, each with its own scratch.
    void apply(ConstImageView decoded, const Draw& draw, const Slot& out, TransformScratch& scratch,
               std::uint32_t scale = 1) const;

    /// Returns what `apply` does to pixels with samples of `sample_bytes` (after `narrows`), pass by pass, as tables.
    /// Throws `bad_argument` for warps and changes of colours, which tables cannot express.
    [[nodiscard]] std::vector<StageTables> tables(const Draw& draw, std::uint8_t sample_bytes) const;
    /// Throws what `apply` would if decoded pixels of `shape` cannot become results of `channels` channels.
    void check_result(PixelShape shape, std::uint8_t channels) const;
    /// Returns whether 16-bit sources are converted to 8 bits first.
    [[nodiscard]] bool narrows() const noexcept { return narrows_; }
    /// ToDtype and Normalize.
    [[nodiscard]] const FinishPlan& finish_plan() const noexcept { return finish_; }

    /// Bytes of images between the passes of `apply`, which `scratch` will hold.
    [[nodiscard]] std::size_t working_bytes(const Draw& draw, PixelShape decoded) const noexcept;

    /// Moves boxes (left, top, right, bottom, in pixels of the source) along, and clips them to the image at every
    /// crop, as torchvision does. A box cut away is left with no area; whether to drop it is the caller's choice.
    void apply_boxes(const Draw& draw, std::span<float> boxes) const;

    /// Moves points (x, y, in pixels of the source) along, as torchvision does. Points outside of the result stay
    /// there: nothing is clipped or dropped.
    void apply_points(const Draw& draw, std::span<float> points) const;

    [[nodiscard]] const std::vector<Operation>& operations() const noexcept { return operations_; }

  private:
    void check_order() const;
    void check_erasing() const;
    void check(ConstImageView decoded, const Draw& draw, const Slot& out, std::uint32_t scale) const;
    [[nodiscard]] Filter filter_of(const Stage& stage) const noexcept {
        return field_ == FieldKind::mask ? Filter::nearest : stage.filter;
    }
    [[nodiscard]] Filter filter_of(const Warp& warp) const noexcept {
        return field_ == FieldKind::mask ? Filter::nearest : warp.filter;
    }
    [[nodiscard]] const Fill& fill_of(const Stage& stage) const;
    [[nodiscard]] std::size_t last_step(const Draw& draw) const noexcept;
    void set_fills();
    [[nodiscard]] ConstImageView prepare(ConstImageView decoded, TransformScratch& scratch) const;
    struct Input;
    void run_steps(ConstImageView decoded, const Draw& draw, const Slot& out, TransformScratch& scratch,
                   std::uint32_t scale) const;
    void run(const Step& step, const Input& input, TransformScratch& scratch, RowSink& sink) const;
    void finish(const Step& step, const Input& input, const Slot& out, TransformScratch& scratch) const;

    std::vector<Operation> operations_;
    FieldKind field_ = FieldKind::image;
    bool narrows_ = false;  ///< whether 16-bit sources become 8-bit first
    std::optional<SampleType> type_;
    FinishPlan finish_;
    RemapTable remap_;
    std::vector<Fill> fills_;  ///< the padding of every place
};

}  // namespace penstock
