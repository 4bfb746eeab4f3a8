#include "pixels/draw.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "pixels/erase.h"
#include "pixels/pads.h"

namespace penstock {

namespace {

// Python's round: halves go to the even neighbour.
std::int32_t round_to_even(double value) { return static_cast<std::int32_t>(std::nearbyint(value)); }

double uniform(Random& random, double low, double high) {
    return low + (high - low) * static_cast<double>(random.uniform());
}

/// One of the probabilities, which add up to 1.
std::size_t choose(Random& random, const std::vector<double>& p) {
    const auto wanted = static_cast<double>(random.uniform());
    double sum = 0;
    for (std::size_t i = 0; i + 1 < p.size(); ++i) {
        sum += p[i];
        if (wanted < sum) return i;
    }
    return p.size() - 1;
}

std::string text_of(ImageSize size) { return std::to_string(size.height) + "x" + std::to_string(size.width); }

ImageSize at_least_one(double height, double width) {
    constexpr double longest = 2147483647;
    return {static_cast<std::uint32_t>(std::clamp(height, 1.0, longest)),
            static_cast<std::uint32_t>(std::clamp(width, 1.0, longest))};
}

void check_size(ImageSize wanted, ImageSize source) {
    if (std::uint64_t{wanted.height} * wanted.width <= kMaxOutputPixels) return;
    throw Error(ErrorCode::bad_argument, "the transforms make an image of " + text_of(wanted) + " pixels",
                "image of " + text_of(source), "choose a smaller size");
}

void play(const ResizeOperation& operation, Random&, Draw& draw, std::uint8_t) {
    draw.resize(resized_size(operation, draw.output), operation.filter);
}

/// Where a centred crop begins: torchvision pads first, half before and half after, then rounds to even.
std::int32_t center_offset(std::uint32_t side, std::uint32_t crop) {
    if (crop > side) return -static_cast<std::int32_t>((crop - side) / 2);
    return round_to_even((side - crop) / 2.0);
}

void play(const CenterCropOperation& operation, Random&, Draw& draw, std::uint8_t place) {
    const ImageSize size = draw.output;
    draw.crop({center_offset(size.height, operation.size.height), center_offset(size.width, operation.size.width),
               static_cast<std::int32_t>(operation.size.height), static_cast<std::int32_t>(operation.size.width)},
              PaddingMode::constant, place);
}

/// One side of a random crop: how much is padded before and in all, and what is cut.
struct CropSide {
    std::uint32_t before;
    std::uint32_t padded;

    CropSide(std::uint32_t side, std::uint32_t pad_before, std::uint32_t pad_after, std::uint32_t crop, bool if_needed)
        : before(pad_before), padded(side + pad_before + pad_after) {
        if (!if_needed || padded >= crop) return;
        const std::uint32_t missing = crop - padded;
        before += missing;
        padded += 2 * missing;
    }
    [[nodiscard]] std::int32_t begin(Random& random, std::uint32_t crop) const {
        return static_cast<std::int32_t>(random.below(padded - crop + 1)) - static_cast<std::int32_t>(before);
    }
};

void play(const RandomCropOperation& operation, Random& random, Draw& draw, std::uint8_t place) {
    const auto [left, top, right, bottom] = operation.padding;
    const ImageSize crop = operation.size;
    const CropSide rows(draw.output.height, top, bottom, crop.height, operation.pad_if_needed);
    const CropSide columns(draw.output.width, left, right, crop.width, operation.pad_if_needed);
    if (rows.padded < crop.height || columns.padded < crop.width) {
        throw Error(ErrorCode::bad_argument,
                    "RandomCrop of " + text_of(crop) + " is larger than the padded image of " +
                        text_of({rows.padded, columns.padded}),
                    "image of " + text_of(draw.source), "set pad_if_needed=True, or resize before the crop");
    }
    const std::int32_t y = rows.begin(random, crop.height);
    const std::int32_t x = columns.begin(random, crop.width);
    draw.crop({y, x, static_cast<std::int32_t>(crop.height), static_cast<std::int32_t>(crop.width)}, operation.mode,
              place);
}

/// Ten tries at an area and a ratio; if none fits, the largest centred crop of an allowed ratio.
Rect random_resized_crop(const RandomResizedCropOperation& operation, ImageSize size, Random& random) {
    const auto height = static_cast<std::int32_t>(size.height);
    const auto width = static_cast<std::int32_t>(size.width);
    const double area = static_cast<double>(height) * width;
    const double log_min = std::log(operation.min_ratio);
    const double log_max = std::log(operation.max_ratio);
    for (int attempt = 0; attempt < 10; ++attempt) {
        const double target = area * uniform(random, operation.min_scale, operation.max_scale);
        const double ratio = std::exp(uniform(random, log_min, log_max));
        const std::int32_t w = round_to_even(std::sqrt(target * ratio));
        const std::int32_t h = round_to_even(std::sqrt(target / ratio));
        if (w <= 0 || w > width || h <= 0 || h > height) continue;
        const auto y = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(height - h + 1)));
        const auto x = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(width - w + 1)));
        return {y, x, h, w};
    }
    std::int32_t w = width;
    std::int32_t h = height;
    const double ratio = static_cast<double>(width) / height;
    if (ratio < operation.min_ratio) h = std::clamp(round_to_even(w / operation.min_ratio), 1, height);
    if (ratio > operation.max_ratio) w = std::clamp(round_to_even(h * operation.max_ratio), 1, width);
    return {(height - h) / 2, (width - w) / 2, h, w};
}

void play(const RandomResizedCropOperation& operation, Random& random, Draw& draw, std::uint8_t place) {
    draw.crop(random_resized_crop(operation, draw.output, random), PaddingMode::constant, place);
    const auto count = static_cast<std::uint32_t>(operation.filters.size());
    draw.resize(operation.size, operation.filters[count == 1 ? 0 : random.below(count)]);
}

void play(const ScaleJitterOperation& operation, Random& random, Draw& draw, std::uint8_t) {
    const ImageSize size = draw.output;
    const double scale = uniform(random, operation.min_scale, operation.max_scale);
    // torchvision fits the target's width to the height and the other way round; so do we.
    const double fit = std::min(static_cast<double>(operation.target.width) / size.height,
                                static_cast<double>(operation.target.height) / size.width) *
                       scale;
    draw.resize(at_least_one(size.height * fit, size.width * fit), operation.filter);
}

void play(const RandomHorizontalFlipOperation& operation, Random& random, Draw& draw, std::uint8_t) {
    if (static_cast<double>(random.uniform()) < operation.p) draw.flip();
}

std::optional<Point> point_of(const std::optional<std::array<double, 2>>& pair) {
    return pair ? std::optional(Point{(*pair)[0], (*pair)[1]}) : std::nullopt;
}

void play(const RandomRotationOperation& operation, Random& random, Draw& draw, std::uint8_t place) {
    const double degrees = uniform(random, operation.min_degrees, operation.max_degrees);
    const auto turned =
        rotation(draw.output, degrees, point_of(operation.center), operation.expand, operation.filter, place);
    if (turned) draw.warp(*turned);
}

void play(const RandomAffineOperation& operation, Random& random, Draw& draw, std::uint8_t place) {
    const double width = draw.output.width;
    const double height = draw.output.height;
    const auto drawn = [&](const std::optional<RandomAffineOperation::Range>& range, double otherwise) {
        return range ? uniform(random, (*range)[0], (*range)[1]) : otherwise;
    };
    const double degrees = uniform(random, operation.degrees[0], operation.degrees[1]);
    Point shift;
    if (operation.translate) {
        const double farthest_x = (*operation.translate)[0] * width;
        const double farthest_y = (*operation.translate)[1] * height;
        shift.x = round_to_even(uniform(random, -farthest_x, farthest_x));
        shift.y = round_to_even(uniform(random, -farthest_y, farthest_y));
    }
    const double scale = drawn(operation.scale, 1.0);
    const double shear_x = drawn(operation.shear_x, 0.0);
    const double shear_y = drawn(operation.shear_y, 0.0);
    const Point center = point_of(operation.center).value_or(Point{width * 0.5, height * 0.5});
    draw.warp({affine_map(center, degrees, shift, scale, {shear_x, shear_y}), draw.output, operation.filter, place});
}

void play(const RandomPerspectiveOperation& operation, Random& random, Draw& draw, std::uint8_t place) {
    if (static_cast<double>(random.uniform()) >= operation.p) return;
    const std::uint32_t height = draw.output.height;
    const std::uint32_t width = draw.output.width;
    const auto most = [&](std::uint32_t side) {
        return static_cast<std::uint32_t>(operation.distortion * (side / 2)) + 1;
    };
    const auto near = [&](std::uint32_t side) { return static_cast<double>(random.below(most(side))); };
    const auto far = [&](std::uint32_t side) {
        return static_cast<double>(side) - most(side) + random.below(most(side));
    };
    std::array<Point, 4> to;
    to[0].x = near(width);
    to[0].y = near(height);
    to[1].x = far(width);
    to[1].y = near(height);
    to[2].x = far(width);
    to[2].y = far(height);
    to[3].x = near(width);
    to[3].y = far(height);
    const double right = width - 1.0;
    const double bottom = height - 1.0;
    const std::array<Point, 4> from{Point{0, 0}, Point{right, 0}, Point{right, bottom}, Point{0, bottom}};
    draw.warp({perspective_map(from, to), draw.output, operation.filter, place});
}

void play(const ColorJitterOperation& operation, Random& random, Draw& draw, std::uint8_t) {
    std::array<ChangeKind, 4> order{ChangeKind::brightness, ChangeKind::contrast, ChangeKind::saturation,
                                    ChangeKind::hue};
    for (std::uint32_t i = 3; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    const std::array<ColorJitterOperation::Range, 4> ranges{operation.brightness, operation.contrast,
                                                            operation.saturation, operation.hue};
    std::array<double, 4> factors{};
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (ranges[i]) factors[i] = static_cast<float>(uniform(random, (*ranges[i])[0], (*ranges[i])[1]));
    }
    for (const ChangeKind kind : order) {
        const auto index = static_cast<std::size_t>(kind);
        if (ranges[index]) draw.change({kind, factors[index]});
    }
}

void play(const ChangeOperation& operation, Random& random, Draw& draw, std::uint8_t) {
    if (static_cast<double>(random.uniform()) >= operation.p) return;
    const double value = uniform(random, operation.low, operation.high);
    draw.change({operation.kind, value, operation.threshold, operation.kernel});
}

void play(const GroupOperation&, Random&, Draw&, std::uint8_t) {}  // see `Player`
void play(const ToDtypeOperation&, Random&, Draw&, std::uint8_t) {}
void play(const NormalizeOperation&, Random&, Draw&, std::uint8_t) {}
void play(const RemapOperation&, Random&, Draw&, std::uint8_t) {}

/// Plays a chain, whose groups decide which operations behind them are played, and when.
class Player {
  public:
    Player(const std::vector<Operation>& operations, const SampleKey& key, Draw& draw)
        : operations_(operations), key_(key), draw_(draw) {}

    void play_range(std::size_t begin, std::size_t end) {
        for (std::size_t place = begin; place < end; ++place) {
            Random random(key_.at(static_cast<std::uint32_t>(place)));
            if (const auto* group = std::get_if<GroupOperation>(&operations_[place])) {
                play_group(*group, place + 1, random);
                place += group->size();
                continue;
            }
            std::visit([&](const auto& operation) { play(operation, random, draw_, static_cast<std::uint8_t>(place)); },
                       operations_[place]);
        }
    }

  private:
    void play_group(const GroupOperation& group, std::size_t first, Random& random) {
        if (group.kind == GroupKind::apply) {
            if (static_cast<double>(random.uniform()) < group.p[0]) play_range(first, first + group.size());
            return;
        }
        std::vector<std::size_t> order(group.lengths.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        if (group.kind == GroupKind::choice) {
            order = {choose(random, group.p)};
        } else {
            for (std::size_t i = order.size() - 1; i > 0; --i) {
                std::swap(order[i], order[random.below(static_cast<std::uint32_t>(i + 1))]);
            }
        }
        for (const std::size_t member : order) {
            std::size_t begin = first;
            for (std::size_t i = 0; i < member; ++i) begin += group.lengths[i];
            play_range(begin, begin + group.lengths[member]);
        }
    }

    const std::vector<Operation>& operations_;
    const SampleKey& key_;
    Draw& draw_;
};

}  // namespace

RandomKey SampleKey::at(std::uint32_t place) const noexcept {
    // A seed of its own for every epoch, and apart from those that order the samples.
    constexpr std::uint32_t transforms_stream = 0x7472616e;
    const RandomBlock words = RandomKey{seed, epoch, transforms_stream}.block(0);
    return {words[0] | std::uint64_t{words[1]} << 32, id, place};
}

Draw::Draw(ImageSize size) : source(size), output(size) { new_stage(); }

Step& Draw::append() {
    if (num_steps == steps.size()) {
        throw Error(ErrorCode::bad_argument, "the transforms need more than " + std::to_string(kMaxSteps) + " passes",
                    "transforms", "use fewer transforms");
    }
    return steps[num_steps++];
}

Stage& Draw::new_stage() {
    Step& step = append();
    step.kind = StepKind::stage;
    step.stage = Stage::whole(output);
    return step.stage;
}

Stage& Draw::geometry() {
    Step& last = steps[num_steps - 1u];
    return last.kind == StepKind::stage ? last.stage : new_stage();
}

void Draw::crop(Rect wanted, PaddingMode mode, std::uint8_t fill) {
    check_size(wanted.size(), source);
    if (!geometry().crop(wanted, mode, fill)) (void)new_stage().crop(wanted, mode, fill);
    output = wanted.size();
}

void Draw::resize(ImageSize wanted, Filter filter) {
    check_size(wanted, source);
    if (!geometry().resize(wanted, filter)) (void)new_stage().resize(wanted, filter);
    output = wanted;
}

/// The stage that decides which way the image faces; changes of colours do not depend on it.
Stage& Draw::facing() {
    std::size_t last = num_steps - 1u;
    while (!steps[last].moves()) --last;
    return steps[last].kind == StepKind::stage ? steps[last].stage : new_stage();
}

void Draw::flip() { facing().flip(); }

void Draw::flip_vertically() { facing().flip_vertically(); }

void Draw::change(const Change& change) {
    Step& step = append();
    step.kind = StepKind::change;
    step.change = change;
}

void Draw::erase(const Rect& area, std::uint8_t place) {
    if (num_erasures == erasures.size()) {
        throw Error(ErrorCode::bad_argument,
                    "the transforms erase more than " + std::to_string(kMaxErasures) + " areas", "transforms",
                    "use fewer RandomErasing");
    }
    erasures[num_erasures++] = {area, place};
}

void Draw::warp(const Warp& warp) {
    check_size(warp.size, source);
    Step& step = append();
    step.kind = StepKind::warp;
    step.warp = warp;
    output = warp.size;
}

ImageSize resized_size(const ResizeOperation& operation, ImageSize size) {
    if (operation.height && operation.width) return {*operation.height, *operation.width};
    const bool upright = size.width <= size.height;
    const double shorter = upright ? size.width : size.height;
    const double longer = upright ? size.height : size.width;
    double new_shorter = operation.height.value_or(0);
    double new_longer = std::trunc(new_shorter * longer / shorter);
    if (!operation.height || (operation.max_size && new_longer > *operation.max_size)) {
        const double limit = *operation.max_size;
        // Without a size the longer side decides alone.
        new_shorter =
            operation.height ? std::trunc(limit * new_shorter / new_longer) : std::trunc(limit * shorter / longer);
        new_longer = limit;
    }
    return upright ? at_least_one(new_longer, new_shorter) : at_least_one(new_shorter, new_longer);
}

Draw make_draw(const std::vector<Operation>& operations, ImageSize size, const SampleKey& key) {
    Draw draw(size);
    draw.key = key;
    Player(operations, key, draw).play_range(0, operations.size());
    return draw;
}

}  // namespace penstock
