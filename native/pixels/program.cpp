#include "pixels/program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "base/error.h"
#include "pixels/erase.h"
#include "pixels/pads.h"

namespace penstock {

namespace {

std::string text_of(ImageSize size) { return std::to_string(size.height) + "x" + std::to_string(size.width); }

/// Rows that are converted as soon as they are complete, while they are in the nearest cache.
class FinishSink final : public RowSink {
  public:
    FinishSink(Finisher& finisher, std::size_t row_bytes, ByteBuffer& memory) : finisher_(finisher) {
        memory.resize(row_bytes);
        row_ = memory.data();
    }
    [[nodiscard]] std::uint8_t* row(std::uint32_t) override { return row_; }
    void done(std::uint32_t y) override { finisher_.row(row_, y); }

  private:
    Finisher& finisher_;
    std::uint8_t* row_;
};

ImageView make_image(ByteBuffer& memory, PixelShape shape) {
    memory.resize(shape.bytes());
    return {memory.data(), shape.row_bytes(), shape};
}

PixelShape with_size(PixelShape shape, ImageSize size) {
    shape.height = size.height;
    shape.width = size.width;
    return shape;
}

/// A slot that takes pixels of this shape as they are.
bool takes_as_they_are(const Slot& slot, PixelShape shape) {
    const SampleType own = shape.sample_bytes == 1 ? SampleType::uint8 : SampleType::uint16;
    return slot.type == own && slot.channels == shape.channels && (slot.layout == Layout::nhwc || slot.channels == 1);
}

ImageView view_of(const Slot& slot) {
    const PixelShape shape{slot.size.height, slot.size.width, slot.channels,
                           static_cast<std::uint8_t>(slot.sample_bytes())};
    return {static_cast<std::uint8_t*>(slot.data), shape.row_bytes(), shape};
}

template <typename Wanted>
bool holds(const Operation& operation) {
    return std::holds_alternative<Wanted>(operation);
}

/// The last of `num_steps` steps that writes a new image.
std::size_t last_pass_before(const Draw& draw, std::size_t num_steps) {
    std::size_t last = num_steps - 1;
    while (draw.steps[last].kind == StepKind::change) --last;
    return last;
}

bool is_finish(const Operation& operation) {
    return holds<ToDtypeOperation>(operation) || holds<NormalizeOperation>(operation);
}

/// Throws if a group of operations [begin, end) names more than there are behind it, or holds what cannot depend on
/// chance.
void check_groups(const std::vector<Operation>& operations, std::size_t begin, std::size_t end) {
    for (std::size_t place = begin; place < end; ++place) {
        const auto* group = std::get_if<GroupOperation>(&operations[place]);
        if (group == nullptr) continue;
        const std::size_t size = group->size();
        const std::size_t wanted = group->kind == GroupKind::apply    ? 1
                                   : group->kind == GroupKind::choice ? group->lengths.size()
                                                                      : group->p.size();
        if (size > end - place - 1 || group->lengths.empty() || group->p.size() != wanted) {
            throw Error(ErrorCode::bad_argument, "a group of transforms does not fit the operations behind it",
                        "transforms", "give the length of every member, and a probability where there is a choice");
        }
        for (std::size_t i = place + 1; i <= place + size; ++i) {
            if (!is_finish(operations[i]) && !holds<RemapOperation>(operations[i]) &&
                !holds<RandomErasingOperation>(operations[i])) {
                continue;
            }
            throw Error(ErrorCode::bad_argument, "ToDtype, Normalize, Remap or RandomErasing inside of a group",
                        "transforms", "put it behind RandomApply, RandomChoice and RandomOrder");
        }
        std::size_t first = place + 1;
        for (const std::uint32_t length : group->lengths) {
            check_groups(operations, first, first + length);
            first += length;
        }
        place += size;
    }
}

}  // namespace

TransformProgram::TransformProgram(std::vector<Operation> operations) : operations_(std::move(operations)) {
    if (operations_.size() > kMaxOperations) {
        throw Error(ErrorCode::bad_argument, "a chain of " + std::to_string(operations_.size()) + " transforms",
                    "transforms", "use at most " + std::to_string(kMaxOperations));
    }
    const auto* leading = operations_.empty() ? nullptr : std::get_if<ToDtypeOperation>(&operations_[0]);
    narrows_ = leading != nullptr && leading->type == SampleType::uint8 && leading->scale;
    if (narrows_) type_ = SampleType::uint8;
    check_order();
    for (std::size_t i = narrows_ ? 1 : 0; i < operations_.size(); ++i) {
        if (const auto* type = std::get_if<ToDtypeOperation>(&operations_[i])) {
            finish_.to_dtype(*type);
            type_ = type->type;
        }
        if (const auto* normalize = std::get_if<NormalizeOperation>(&operations_[i])) finish_.normalize(*normalize);
    }
    finish_.complete();
    check_erasing();
    set_fills();
}

void TransformProgram::check_order() const {
    check_groups(operations_, 0, operations_.size());
    const auto first = std::find_if(operations_.begin() + (narrows_ ? 1 : 0), operations_.end(), is_finish);
    for (auto later = first; later != operations_.end(); ++later) {
        if (is_finish(*later) || holds<RemapOperation>(*later) || holds<RandomErasingOperation>(*later)) continue;
        throw Error(ErrorCode::bad_argument, "a crop, resize, flip or change of colours after ToDtype or Normalize",
                    "transforms", "put ToDtype and Normalize last (ToDtype('uint8', scale=True) may come first)");
    }
}

void TransformProgram::check_erasing() const {
    const auto first = std::find_if(operations_.begin(), operations_.end(), holds<RandomErasingOperation>);
    for (auto later = first; later != operations_.end(); ++later) {
        const auto* erasing = std::get_if<RandomErasingOperation>(&*later);
        if (erasing == nullptr && !holds<RemapOperation>(*later)) {
            throw Error(ErrorCode::bad_argument, "a transform after RandomErasing", "transforms",
                        "put RandomErasing last");
        }
        if (erasing != nullptr && erasing->mode != EraseMode::constant && !finish_.is_float()) {
            throw Error(ErrorCode::bad_argument, "RandomErasing with random values needs floating point", "transforms",
                        "put ToDtype('float32', scale=True) before it");
        }
    }
}

TransformProgram TransformProgram::for_masks() const {
    TransformProgram masks(*this);
    masks.field_ = FieldKind::mask;
    masks.type_.reset();
    masks.finish_ = {};
    masks.narrows_ = false;
    for (const Operation& operation : operations_) {
        if (const auto* remap = std::get_if<RemapOperation>(&operation)) masks.remap_.append(*remap);
    }
    masks.set_fills();
    return masks;
}

void TransformProgram::set_fills() {
    fills_.assign(operations_.size(), Fill{0});
    for (std::size_t place = 0; place < operations_.size(); ++place) {
        std::visit(
            [&](const auto& operation) {
                if constexpr (requires { operation.mask_fill; }) {
                    fills_[place] = field_ == FieldKind::mask ? operation.mask_fill : operation.fill;
                }
            },
            operations_[place]);
        if (field_ == FieldKind::image) continue;
        // Labels change at the source, so that padding gets only the changes that come after it.
        RemapTable later;
        for (std::size_t i = place + 1; i < operations_.size(); ++i) {
            if (const auto* remap = std::get_if<RemapOperation>(&operations_[i])) later.append(*remap);
        }
        for (float& value : fills_[place]) {
            value = later(static_cast<std::uint16_t>(std::clamp(value, 0.0f, 65535.0f)));
        }
    }
}

const Fill& TransformProgram::fill_of(const Stage& stage) const {
    static const Fill black{0};
    return stage.padded() ? fills_[stage.fill] : black;
}

Region TransformProgram::region(const Draw& draw, std::uint32_t scale) const {
    return stage_region(draw.steps[0].stage, filter_of(draw.steps[0].stage), draw.source, scale);
}

std::uint32_t TransformProgram::max_scale(const Draw& draw) const {
    const Stage& stage = draw.steps[0].stage;
    if (!stage.resized || filter_of(stage) == Filter::nearest) return 1;
    const double shrink = std::min(static_cast<double>(stage.source.height) / stage.size.height,
                                   static_cast<double>(stage.source.width) / stage.size.width);
    return shrink >= 8 ? 8 : shrink >= 4 ? 4 : shrink >= 2 ? 2 : 1;
}

namespace {

/// The size after an operation, if every image has it then.
std::optional<ImageSize> fixed_after(const Operation& operation, std::optional<ImageSize> before) {
    if (const auto* crop = std::get_if<CenterCropOperation>(&operation)) return crop->size;
    if (const auto* crop = std::get_if<RandomCropOperation>(&operation)) return crop->size;
    if (const auto* crop = std::get_if<RandomResizedCropOperation>(&operation)) return crop->size;
    if (const auto* resize = std::get_if<ResizeOperation>(&operation)) {
        if (resize->height && resize->width) return ImageSize{*resize->height, *resize->width};
        return before ? std::optional(resized_size(*resize, *before)) : std::nullopt;
    }
    if (const auto* letterbox = std::get_if<LetterboxOperation>(&operation)) return letterbox->size;
    if (const auto* pad = std::get_if<PadOperation>(&operation)) return fixed_after(*pad, before);
    if (const auto* pad = std::get_if<PadIfSmallerOperation>(&operation)) return fixed_after(*pad, before);
    if (holds<ScaleJitterOperation>(operation) || holds<RandomZoomOutOperation>(operation) ||
        holds<RandomResizeOperation>(operation) || holds<RandomShortestSizeOperation>(operation)) {
        return std::nullopt;
    }
    if (const auto* turned = std::get_if<RandomRotationOperation>(&operation); turned != nullptr && turned->expand) {
        return std::nullopt;
    }
    return before;
}

}  // namespace

namespace {

std::optional<ImageSize> fixed_after_group(const std::vector<Operation>& operations, std::size_t place,
                                           std::optional<ImageSize> before);

/// The size after operations [begin, end), if every image has it then.
std::optional<ImageSize> fixed_after_range(const std::vector<Operation>& operations, std::size_t begin, std::size_t end,
                                           std::optional<ImageSize> size) {
    for (std::size_t place = begin; place < end; ++place) {
        if (const auto* group = std::get_if<GroupOperation>(&operations[place])) {
            size = fixed_after_group(operations, place, size);
            place += group->size();
        } else {
            size = fixed_after(operations[place], size);
        }
    }
    return size;
}

/// Members that may be left out must not change the size; those of a choice must agree.
std::optional<ImageSize> fixed_after_group(const std::vector<Operation>& operations, std::size_t place,
                                           std::optional<ImageSize> before) {
    const auto& group = std::get<GroupOperation>(operations[place]);
    if (group.kind == GroupKind::apply) {
        const auto after = fixed_after_range(operations, place + 1, place + 1 + group.size(), before);
        return after == before || group.p[0] >= 1 ? after : std::nullopt;
    }
    std::optional<ImageSize> common;
    std::size_t begin = place + 1;
    for (std::size_t i = 0; i < group.lengths.size(); ++i) {
        const auto after = fixed_after_range(operations, begin, begin + group.lengths[i], before);
        if (i != 0 && after != common) return std::nullopt;
        common = after;
        begin += group.lengths[i];
    }
    return group.kind == GroupKind::choice || common == before ? common : std::nullopt;
}

}  // namespace

std::optional<ImageSize> TransformProgram::fixed_size() const {
    return fixed_after_range(operations_, 0, operations_.size(), std::nullopt);
}

bool TransformProgram::copies(const Draw& draw, PixelShape decoded, const Slot& out) const {
    const Stage& only = draw.steps[0].stage;
    const bool erases = field_ == FieldKind::image && draw.num_erasures > 0;
    return !erases && draw.num_steps == 1 && !only.resized && !only.flipped && !only.upended && !only.padded() &&
           takes_as_they_are(out, decoded) && remap_.empty();
}

void TransformProgram::check(ConstImageView decoded, const Draw& draw, const Slot& out, std::uint32_t scale) const {
    const Region wanted = region(draw, scale);
    if (decoded.shape.height != wanted.height || decoded.shape.width != wanted.width) {
        throw Error(ErrorCode::bad_argument,
                    "decoded pixels are " + text_of({decoded.shape.height, decoded.shape.width}) + ", the draw wants " +
                        text_of({wanted.height, wanted.width}),
                    "transforms", "decode the region that the draw names, of an image of the size it was drawn for");
    }
    if (out.size != draw.output) {
        throw Error(ErrorCode::bad_output,
                    "the result is " + text_of(draw.output) + ", its place in the batch " + text_of(out.size),
                    "transforms", "end the transforms with a fixed size, or take samples as a list");
    }
}

ConstImageView TransformProgram::prepare(ConstImageView decoded, TransformScratch& scratch) const {
    if (!remap_.empty()) {
        const ImageView changed = make_image(scratch.prepared, decoded.shape);
        remap_.apply(decoded, changed);
        return changed;
    }
    if (!narrows_ || decoded.shape.sample_bytes == 1) return decoded;
    PixelShape shape = decoded.shape;
    shape.sample_bytes = 1;
    const ImageView bytes = make_image(scratch.prepared, shape);
    for (std::uint32_t y = 0; y < shape.height; ++y) {
        const auto* from = reinterpret_cast<const std::uint16_t*>(decoded.row(y));
        std::uint8_t* to = bytes.row(y);
        for (std::size_t i = 0; i < shape.row_bytes(); ++i) to[i] = static_cast<std::uint8_t>(from[i] >> 8);
    }
    return bytes;
}

/// What a step reads: `image` is `covered` of an input of `size`, decoded at 1 / `scale`.
struct TransformProgram::Input {
    ConstImageView image;
    Region covered;
    ImageSize size;
    std::uint32_t scale;
};

void TransformProgram::run(const Step& step, const Input& input, TransformScratch& scratch, RowSink& sink) const {
    if (step.kind == StepKind::warp) {
        return run_warp(step.warp, filter_of(step.warp), fills_[step.warp.fill], input.image, scratch.warp, sink);
    }
    run_stage(step.stage, filter_of(step.stage), fill_of(step.stage), input.image, input.covered, input.size,
              input.scale, scratch.stage, sink);
}

void TransformProgram::finish(const Step& step, const Input& input, const Slot& out, TransformScratch& scratch) const {
    if (takes_as_they_are(out, input.image.shape) && !finish_.is_float()) {
        ImageSink sink(view_of(out));
        return run(step, input, scratch, sink);
    }
    Finisher finisher(finish_, input.image.shape, out, scratch.finish);
    FinishSink sink(finisher, with_size(input.image.shape, out.size).row_bytes(), scratch.row);
    run(step, input, scratch, sink);
}

void TransformProgram::apply(ConstImageView decoded, const Draw& draw, const Slot& out, TransformScratch& scratch,
                             std::uint32_t scale) const {
    run_steps(decoded, draw, out, scratch, scale);
    for (std::uint32_t i = 0; field_ == FieldKind::image && i < draw.num_erasures; ++i) {
        const Erasure& erasure = draw.erasures[i];
        erase(std::get<RandomErasingOperation>(operations_[erasure.place]), erasure.area, draw.key.at(erasure.place), i,
              out);
    }
}

void TransformProgram::run_steps(ConstImageView decoded, const Draw& draw, const Slot& out, TransformScratch& scratch,
                                 std::uint32_t scale) const {
    check(decoded, draw, out, scale);
    Input input{prepare(decoded, scratch), region(draw, scale), draw.source, scale};
    ImageView own;
    Recoloring colors(scratch.colors);
    std::size_t turn = 0;
    const std::size_t num_steps = last_step(draw) + 1u;
    const std::size_t last_pass = last_pass_before(draw, num_steps);
    const bool directly = takes_as_they_are(out, input.image.shape) && !finish_.is_float();
    for (std::size_t i = 0; i < num_steps; ++i) {
        const Step& step = draw.steps[i];
        if (!step.moves()) {
            if (field_ == FieldKind::image) colors.change(own, step.change);
            continue;
        }
        colors.settle(own);
        if (i + 1 == num_steps) return finish(step, input, out, scratch);
        // A warp can read the whole input where it is.
        if (step.kind == StepKind::stage && step.stage.identity() && draw.steps[i + 1].kind == StepKind::warp) continue;
        own = directly && i == last_pass
                  ? view_of(out)
                  : make_image(scratch.images[turn ^= 1], with_size(input.image.shape, step.output()));
        ImageSink sink(own);
        run(step, input, scratch, sink);
        input = {own, {0, 0, step.output().height, step.output().width}, step.output(), 1};
    }
    if (directly) return colors.settle(own);
    Finisher finisher(finish_, own.shape, out, scratch.finish, colors.waiting());
    for (std::uint32_t y = 0; y < own.shape.height; ++y) finisher.row(own.row(y), y);
}

std::vector<StageTables> TransformProgram::tables(const Draw& draw, std::uint8_t sample_bytes) const {
    std::vector<StageTables> tables;
    Region covered = region(draw);
    ImageSize size = draw.source;
    for (std::size_t i = 0; i <= last_step(draw); ++i) {
        const Step& step = draw.steps[i];
        if (step.kind != StepKind::stage) {
            throw Error(ErrorCode::bad_argument, "a change of colours or a warp is no resize", "transforms",
                        "leave out colours, rotations and other warps, or apply the transforms on the host");
        }
        const Stage& stage = step.stage;
        tables.push_back(stage_tables(stage, filter_of(stage), fill_of(stage), covered, size, sample_bytes));
        size = stage.output();
        covered = {0, 0, size.height, size.width};
    }
    return tables;
}

void TransformProgram::check_result(PixelShape shape, std::uint8_t channels) const {
    if (narrows_) shape.sample_bytes = 1;
    const SampleType own = shape.sample_bytes == 1 ? SampleType::uint8 : SampleType::uint16;
    check_finish(finish_, shape, channels, type_.value_or(own));
}

std::size_t TransformProgram::working_bytes(const Draw& draw, PixelShape decoded) const noexcept {
    std::size_t largest = 0;
    for (std::size_t i = 0; i < last_step(draw); ++i) {
        if (draw.steps[i].moves()) largest = std::max(largest, with_size(decoded, draw.steps[i].output()).bytes());
    }
    const bool prepares = narrows_ || !remap_.empty();
    return 2 * largest + (prepares ? decoded.bytes() : 0);
}

std::size_t TransformProgram::last_step(const Draw& draw) const noexcept {
    std::size_t last = draw.num_steps - 1u;
    // Masks have no colours to change.
    while (field_ == FieldKind::mask && !draw.steps[last].moves()) --last;
    return last;
}

namespace {

void move(float* box, float x, float y) {
    for (int i = 0; i < 4; i += 2) {
        box[i] += x;
        box[i + 1] += y;
    }
}

void clip(float* box, const Rect& rect) {
    const auto left = static_cast<float>(rect.x);
    const auto top = static_cast<float>(rect.y);
    const auto right = static_cast<float>(rect.x + rect.width);
    const auto bottom = static_cast<float>(rect.y + rect.height);
    for (int i = 0; i < 4; i += 2) {
        box[i] = std::clamp(box[i], left, right);
        box[i + 1] = std::clamp(box[i + 1], top, bottom);
    }
}

void mirror(float* box, float width) {
    const float left = width - box[2];
    box[2] = width - box[0];
    box[0] = left;
}

/// What the stage does to pixels, to corners.
void move_box(const Stage& stage, float* box) {
    if (stage.resized) {
        clip(box, stage.source);
        move(box, -static_cast<float>(stage.source.x), -static_cast<float>(stage.source.y));
        if (stage.source_flipped) mirror(box, static_cast<float>(stage.source.width));
        for (int i = 0; i < 4; i += 2) {
            box[i] *= static_cast<float>(stage.size.width) / static_cast<float>(stage.source.width);
            box[i + 1] *= static_cast<float>(stage.size.height) / static_cast<float>(stage.source.height);
        }
    }
    clip(box, stage.valid);
    clip(box, stage.window);
    move(box, -static_cast<float>(stage.window.x), -static_cast<float>(stage.window.y));
    if (stage.flipped) mirror(box, static_cast<float>(stage.window.width));
    if (stage.upended) mirror(box + 1, static_cast<float>(stage.window.height));
}

/// The smallest box around the four warped corners, clipped to the result.
void warp_boxes(const Warp& warp, std::span<float> boxes) {
    const auto inverse = inverse_map(warp.map);
    for (std::size_t i = 0; i + 4 <= boxes.size(); i += 4) {
        float* box = &boxes[i];
        Point low{INFINITY, INFINITY};
        Point high{-INFINITY, -INFINITY};
        for (int corner = 0; inverse && corner < 4; ++corner) {
            const Point moved = map_point(*inverse, {box[corner & 1 ? 2 : 0], box[corner & 2 ? 3 : 1]});
            low = {std::min(low.x, moved.x), std::min(low.y, moved.y)};
            high = {std::max(high.x, moved.x), std::max(high.y, moved.y)};
        }
        const std::array<double, 4> sides{low.x, low.y, high.x, high.y};
        for (std::size_t side = 0; side < 4; ++side) box[side] = static_cast<float>(inverse ? sides[side] : 0.0);
        clip(box, Rect::of(warp.size));
    }
}

/// What the stage does to pixels, to a point. A point is the number of a pixel: the last column is width - 1.
void move_point(const Stage& stage, float* point) {
    if (stage.resized) {
        point[0] -= static_cast<float>(stage.source.x);
        point[1] -= static_cast<float>(stage.source.y);
        if (stage.source_flipped) point[0] = static_cast<float>(stage.source.width - 1) - point[0];
        point[0] *= static_cast<float>(stage.size.width) / static_cast<float>(stage.source.width);
        point[1] *= static_cast<float>(stage.size.height) / static_cast<float>(stage.source.height);
    }
    point[0] -= static_cast<float>(stage.window.x);
    point[1] -= static_cast<float>(stage.window.y);
    if (stage.flipped) point[0] = static_cast<float>(stage.window.width - 1) - point[0];
    if (stage.upended) point[1] = static_cast<float>(stage.window.height - 1) - point[1];
}

void warp_points(const Warp& warp, std::span<float> points) {
    const auto inverse = inverse_map(warp.map);
    for (std::size_t i = 0; inverse && i + 2 <= points.size(); i += 2) {
        const Point moved = map_point(*inverse, {points[i], points[i + 1]});
        points[i] = static_cast<float>(moved.x);
        points[i + 1] = static_cast<float>(moved.y);
    }
}

}  // namespace

void TransformProgram::apply_points(const Draw& draw, std::span<float> points) const {
    for (std::size_t i = 0; i < draw.num_steps; ++i) {
        const Step& step = draw.steps[i];
        if (step.kind == StepKind::warp) warp_points(step.warp, points);
        if (step.kind != StepKind::stage) continue;
        for (std::size_t point = 0; point + 2 <= points.size(); point += 2) move_point(step.stage, &points[point]);
    }
}

void TransformProgram::apply_boxes(const Draw& draw, std::span<float> boxes) const {
    for (std::size_t i = 0; i < draw.num_steps; ++i) {
        const Step& step = draw.steps[i];
        if (step.kind == StepKind::warp) warp_boxes(step.warp, boxes);
        if (step.kind != StepKind::stage) continue;
        for (std::size_t box = 0; box + 4 <= boxes.size(); box += 4) move_box(step.stage, &boxes[box]);
    }
}

}  // namespace penstock
