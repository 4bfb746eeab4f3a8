#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings/convert.h"
#include "bindings/interpreter_lock.h"
#include "bindings/register.h"
#include "pixels/pass_tables.h"
#include "pixels/program.h"

namespace penstock::bindings {

namespace {

using Sides = std::pair<std::uint32_t, std::uint32_t>;

constexpr std::array<const char*, 6> kFilters{"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"};
constexpr std::array<const char*, 4> kPaddingModes{"constant", "edge", "reflect", "symmetric"};
constexpr std::array<const char*, 4> kTypes{"uint8", "uint16", "float32", "float16"};
constexpr std::array<const char*, 3> kEraseModes{"constant", "color", "pixel"};
constexpr std::array<const char*, 2> kLayouts{"NHWC", "NCHW"};
constexpr std::array<const char*, 14> kChanges{"brightness", "contrast",  "saturation",  "hue",          "grey",
                                               "invert",     "posterize", "solarize",    "solarize_add", "autocontrast",
                                               "equalize",   "sharpness", "pillow_blur", "gaussian_blur"};
constexpr std::array<const char*, 3> kGroups{"apply", "choice", "order"};

/// Enumerations cross the boundary by name.
template <typename Enum, std::size_t kCount>
Enum named(const std::array<const char*, kCount>& names, const std::string& name, const char* what) {
    std::string known;
    for (std::size_t i = 0; i < kCount; ++i) {
        if (name == names[i]) return static_cast<Enum>(i);
        known += std::string(i == 0 ? "" : ", ") + names[i];
    }
    throw Error(ErrorCode::bad_argument, std::string("no ") + what + " is called '" + name + "'", "transforms",
                "choose one of " + known);
}

template <std::size_t kCount, typename Enum>
std::string name_of(const std::array<const char*, kCount>& names, Enum value) {
    return names[static_cast<std::size_t>(value)];
}

Filter filter_named(const std::string& name) { return named<Filter>(kFilters, name, "interpolation"); }
ImageSize size_of(Sides sides) { return {sides.first, sides.second}; }
Sides sides_of(ImageSize size) { return {size.height, size.width}; }

using AnyArray = nb::ndarray<nb::c_contig, nb::device::cpu>;

SampleType type_of(const nb::dlpack::dtype& type) {
    if (type == nb::dtype<std::uint8_t>()) return SampleType::uint8;
    if (type == nb::dtype<std::uint16_t>()) return SampleType::uint16;
    if (type == nb::dtype<float>()) return SampleType::float32;
    if (type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float) && type.bits == 16) {
        return SampleType::float16;
    }
    throw Error(ErrorCode::bad_output, "results are uint8, uint16, float32 or float16", "out",
                "pass an array of one of these types");
}

/// An array of three dimensions as the place of a result.
Slot slot_of(const AnyArray& out, const std::string& layout_name) {
    const auto layout = named<Layout>(kLayouts, layout_name, "layout");
    if (out.ndim() != 3) {
        throw Error(ErrorCode::bad_output, "a result has " + std::to_string(out.ndim()) + " dimensions, not 3", "out",
                    "pass HxWxC (NHWC) or CxHxW (NCHW)");
    }
    const bool planes = layout == Layout::nchw;
    const std::size_t height = out.shape(planes ? 1 : 0);
    const std::size_t width = out.shape(planes ? 2 : 1);
    const std::size_t channels = out.shape(planes ? 0 : 2);
    if (channels < 1 || channels > 4) {
        throw Error(ErrorCode::bad_output, "a result has " + std::to_string(channels) + " channels, not 1 to 4", "out",
                    "pass HxWxC (NHWC) or CxHxW (NCHW)");
    }
    return {out.data(),
            {static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width)},
            static_cast<std::uint8_t>(channels),
            type_of(out.dtype()),
            layout};
}

// Working memory from the last call to the next. One is kept for the process: with a thread's own, the C library would
// end the process if it found no memory to register it.
class LentScratch {
  public:
    LentScratch() : scratch_(spare_.exchange(nullptr)) {
        if (scratch_ == nullptr) scratch_ = new TransformScratch;
    }
    ~LentScratch() { delete spare_.exchange(scratch_); }
    LentScratch(const LentScratch&) = delete;
    LentScratch& operator=(const LentScratch&) = delete;
    [[nodiscard]] TransformScratch& get() const noexcept { return *scratch_; }

  private:
    static inline std::atomic<TransformScratch*> spare_{nullptr};
    TransformScratch* scratch_;
};

void apply(const TransformProgram& program, nb::handle pixels, const Draw& draw, const AnyArray& out,
           const std::string& layout, std::uint32_t scale) {
    const BorrowedPixels borrowed(pixels, false);
    const Slot slot = slot_of(out, layout);
    const Unlocked unlocked;
    const LentScratch scratch;
    program.apply(borrowed.view(), draw, slot, scratch.get(), scale);
}

nb::tuple tuple_of(const Rect& rect) { return nb::make_tuple(rect.y, rect.x, rect.height, rect.width); }

nb::dict describe(const Step& step) {
    nb::dict facts;
    if (step.kind == StepKind::warp) {
        facts["warp"] = nb::cast(step.warp.map);
        facts["size"] = sides_of(step.warp.size);
        facts["interpolation"] = name_of(kFilters, step.warp.filter);
        return facts;
    }
    if (step.kind == StepKind::change) {
        facts["change"] = name_of(kChanges, step.change.kind);
        facts["value"] = step.change.value;
        return facts;
    }
    const Stage& stage = step.stage;
    facts["source"] = tuple_of(stage.source);
    facts["source_flipped"] = stage.source_flipped;
    facts["size"] = stage.resized ? nb::cast(sides_of(stage.size)) : nb::none();
    facts["interpolation"] = stage.resized ? nb::cast(name_of(kFilters, stage.filter)) : nb::none();
    facts["window"] = tuple_of(stage.window);
    facts["padded"] = stage.padded();
    facts["flipped"] = stage.flipped;
    facts["upended"] = stage.upended;
    return facts;
}

std::vector<nb::dict> steps_of(const Draw& draw) {
    std::vector<nb::dict> steps;
    for (std::size_t i = 0; i < draw.num_steps; ++i) steps.push_back(describe(draw.steps[i]));
    return steps;
}

void register_geometry(nb::module_& module) {
    nb::class_<ResizeOperation>(module, "ResizeOperation")
        .def(
            "__init__",
            [](ResizeOperation* self, std::optional<std::uint32_t> height, std::optional<std::uint32_t> width,
               std::optional<std::uint32_t> max_size, const std::string& interpolation) {
                new (self) ResizeOperation{height, width, max_size, filter_named(interpolation)};
            },
            nb::arg("height").none(), nb::arg("width").none(), nb::arg("max_size").none(), nb::arg("interpolation"));
    nb::class_<CenterCropOperation>(module, "CenterCropOperation")
        .def(
            "__init__",
            [](CenterCropOperation* self, Sides size, Fill fill, Fill mask_fill) {
                new (self) CenterCropOperation{size_of(size), std::move(fill), std::move(mask_fill)};
            },
            nb::arg("size"), nb::arg("fill"), nb::arg("mask_fill"));
    nb::class_<RandomCropOperation>(module, "RandomCropOperation")
        .def(
            "__init__",
            [](RandomCropOperation* self, Sides size, std::array<std::uint32_t, 4> padding, bool pad_if_needed,
               const std::string& mode, Fill fill, Fill mask_fill) {
                new (self) RandomCropOperation{size_of(size),   padding,
                                               pad_if_needed,   named<PaddingMode>(kPaddingModes, mode, "padding mode"),
                                               std::move(fill), std::move(mask_fill)};
            },
            nb::arg("size"), nb::arg("padding"), nb::arg("pad_if_needed"), nb::arg("mode"), nb::arg("fill"),
            nb::arg("mask_fill"));
    nb::class_<RandomResizedCropOperation>(module, "RandomResizedCropOperation")
        .def(
            "__init__",
            [](RandomResizedCropOperation* self, Sides size, std::pair<double, double> scale,
               std::pair<double, double> ratio, const std::vector<std::string>& interpolations) {
                std::vector<Filter> filters;
                for (const std::string& name : interpolations) filters.push_back(filter_named(name));
                if (filters.empty()) filters.push_back(Filter::bilinear);
                new (self) RandomResizedCropOperation{size_of(size), scale.first,  scale.second,
                                                      ratio.first,   ratio.second, std::move(filters)};
            },
            nb::arg("size"), nb::arg("scale"), nb::arg("ratio"), nb::arg("interpolations"));
    nb::class_<ScaleJitterOperation>(module, "ScaleJitterOperation")
        .def(
            "__init__",
            [](ScaleJitterOperation* self, Sides target_size, std::pair<double, double> scale_range,
               const std::string& interpolation) {
                new (self) ScaleJitterOperation{size_of(target_size), scale_range.first, scale_range.second,
                                                filter_named(interpolation)};
            },
            nb::arg("target_size"), nb::arg("scale_range"), nb::arg("interpolation"));
    nb::class_<RandomHorizontalFlipOperation>(module, "RandomHorizontalFlipOperation")
        .def(
            "__init__",
            [](RandomHorizontalFlipOperation* self, double p) { new (self) RandomHorizontalFlipOperation{p}; },
            nb::arg("p"));
}

using Pair = std::array<double, 2>;

void register_pads(nb::module_& module) {
    nb::class_<RandomVerticalFlipOperation>(module, "RandomVerticalFlipOperation")
        .def(
            "__init__", [](RandomVerticalFlipOperation* self, double p) { new (self) RandomVerticalFlipOperation{p}; },
            nb::arg("p"));
    nb::class_<PadOperation>(module, "PadOperation")
        .def(
            "__init__",
            [](PadOperation* self, std::array<std::uint32_t, 4> padding, const std::string& mode, Fill fill,
               Fill mask_fill) {
                new (self) PadOperation{padding, named<PaddingMode>(kPaddingModes, mode, "padding mode"),
                                        std::move(fill), std::move(mask_fill)};
            },
            nb::arg("padding"), nb::arg("mode"), nb::arg("fill"), nb::arg("mask_fill"));
    nb::class_<PadIfSmallerOperation>(module, "PadIfSmallerOperation")
        .def(
            "__init__",
            [](PadIfSmallerOperation* self, Sides size, Fill fill, Fill mask_fill) {
                new (self) PadIfSmallerOperation{size_of(size), std::move(fill), std::move(mask_fill)};
            },
            nb::arg("size"), nb::arg("fill"), nb::arg("mask_fill"));
    nb::class_<LetterboxOperation>(module, "LetterboxOperation")
        .def(
            "__init__",
            [](LetterboxOperation* self, Sides size, const std::string& interpolation, bool enlarges, Fill fill,
               Fill mask_fill) {
                new (self) LetterboxOperation{size_of(size), filter_named(interpolation), enlarges, std::move(fill),
                                              std::move(mask_fill)};
            },
            nb::arg("size"), nb::arg("interpolation"), nb::arg("enlarges"), nb::arg("fill"), nb::arg("mask_fill"));
    nb::class_<RandomZoomOutOperation>(module, "RandomZoomOutOperation")
        .def(
            "__init__",
            [](RandomZoomOutOperation* self, Pair side_range, double p, Fill fill, Fill mask_fill) {
                new (self)
                    RandomZoomOutOperation{side_range[0], side_range[1], p, std::move(fill), std::move(mask_fill)};
            },
            nb::arg("side_range"), nb::arg("p"), nb::arg("fill"), nb::arg("mask_fill"));
    nb::class_<RandomResizeOperation>(module, "RandomResizeOperation")
        .def(
            "__init__",
            [](RandomResizeOperation* self, std::uint32_t min_size, std::uint32_t max_size,
               const std::string& interpolation) {
                new (self) RandomResizeOperation{min_size, max_size, filter_named(interpolation)};
            },
            nb::arg("min_size"), nb::arg("max_size"), nb::arg("interpolation"));
    nb::class_<RandomShortestSizeOperation>(module, "RandomShortestSizeOperation")
        .def(
            "__init__",
            [](RandomShortestSizeOperation* self, std::vector<std::uint32_t> sizes,
               std::optional<std::uint32_t> max_size, const std::string& interpolation) {
                new (self) RandomShortestSizeOperation{std::move(sizes), max_size, filter_named(interpolation)};
            },
            nb::arg("sizes"), nb::arg("max_size").none(), nb::arg("interpolation"));
}

void register_warps(nb::module_& module) {
    nb::class_<RandomRotationOperation>(module, "RandomRotationOperation")
        .def(
            "__init__",
            [](RandomRotationOperation* self, Pair degrees, const std::string& interpolation, bool expand,
               std::optional<Pair> center, Fill fill, Fill mask_fill) {
                new (self) RandomRotationOperation{degrees[0], degrees[1],      filter_named(interpolation), expand,
                                                   center,     std::move(fill), std::move(mask_fill)};
            },
            nb::arg("degrees"), nb::arg("interpolation"), nb::arg("expand"), nb::arg("center").none(), nb::arg("fill"),
            nb::arg("mask_fill"));
    nb::class_<RandomAffineOperation>(module, "RandomAffineOperation")
        .def(
            "__init__",
            [](RandomAffineOperation* self, Pair degrees, std::optional<Pair> translate, std::optional<Pair> scale,
               std::optional<Pair> shear_x, std::optional<Pair> shear_y, const std::string& interpolation,
               std::optional<Pair> center, std::pair<Fill, Fill> fills) {
                new (self) RandomAffineOperation{degrees,
                                                 translate,
                                                 scale,
                                                 shear_x,
                                                 shear_y,
                                                 filter_named(interpolation),
                                                 center,
                                                 std::move(fills.first),
                                                 std::move(fills.second)};
            },
            nb::arg("degrees"), nb::arg("translate").none(), nb::arg("scale").none(), nb::arg("shear_x").none(),
            nb::arg("shear_y").none(), nb::arg("interpolation"), nb::arg("center").none(), nb::arg("fills"));
    nb::class_<RandomPerspectiveOperation>(module, "RandomPerspectiveOperation")
        .def(
            "__init__",
            [](RandomPerspectiveOperation* self, double distortion, double p, const std::string& interpolation,
               Fill fill, Fill mask_fill) {
                new (self) RandomPerspectiveOperation{distortion, p, filter_named(interpolation), std::move(fill),
                                                      std::move(mask_fill)};
            },
            nb::arg("distortion_scale"), nb::arg("p"), nb::arg("interpolation"), nb::arg("fill"), nb::arg("mask_fill"));
}

void register_values(nb::module_& module) {
    using Range = ColorJitterOperation::Range;
    nb::class_<ColorJitterOperation>(module, "ColorJitterOperation")
        .def(
            "__init__",
            [](ColorJitterOperation* self, Range brightness, Range contrast, Range saturation, Range hue) {
                new (self) ColorJitterOperation{brightness, contrast, saturation, hue};
            },
            nb::arg("brightness").none(), nb::arg("contrast").none(), nb::arg("saturation").none(),
            nb::arg("hue").none());
    nb::class_<ChangeOperation>(module, "ChangeOperation")
        .def(
            "__init__",
            [](ChangeOperation* self, const std::string& kind, double p, std::pair<double, double> values,
               double threshold, Sides kernel) {
                new (self) ChangeOperation{named<ChangeKind>(kChanges, kind, "change"),
                                           p,
                                           values.first,
                                           values.second,
                                           threshold,
                                           {kernel.first, kernel.second}};
            },
            nb::arg("kind"), nb::arg("p"), nb::arg("values") = std::pair(0.0, 0.0), nb::arg("threshold") = 128.0,
            nb::arg("kernel") = Sides(1, 1));
    nb::class_<GroupOperation>(module, "GroupOperation")
        .def(
            "__init__",
            [](GroupOperation* self, const std::string& kind, std::vector<double> p,
               std::vector<std::uint32_t> lengths) {
                new (self) GroupOperation{named<GroupKind>(kGroups, kind, "group"), std::move(p), std::move(lengths)};
            },
            nb::arg("kind"), nb::arg("p"), nb::arg("lengths"));
    nb::class_<ToDtypeOperation>(module, "ToDtypeOperation")
        .def(
            "__init__",
            [](ToDtypeOperation* self, const std::string& dtype, bool scale) {
                new (self) ToDtypeOperation{named<SampleType>(kTypes, dtype, "dtype"), scale};
            },
            nb::arg("dtype"), nb::arg("scale"));
    nb::class_<NormalizeOperation>(module, "NormalizeOperation")
        .def(
            "__init__",
            [](NormalizeOperation* self, std::vector<double> mean, std::vector<double> std) {
                new (self) NormalizeOperation{std::move(mean), std::move(std)};
            },
            nb::arg("mean"), nb::arg("std"));
    nb::class_<RandomErasingOperation>(module, "RandomErasingOperation")
        .def(
            "__init__",
            [](RandomErasingOperation* self, double p, Pair scale, Pair ratio, const std::string& mode,
               std::vector<float> value, std::array<std::uint32_t, 2> counts) {
                new (self) RandomErasingOperation{p,
                                                  scale[0],
                                                  scale[1],
                                                  ratio[0],
                                                  ratio[1],
                                                  named<EraseMode>(kEraseModes, mode, "kind of values"),
                                                  std::move(value),
                                                  counts[0],
                                                  std::max(counts[0], counts[1])};
            },
            nb::arg("p"), nb::arg("scale"), nb::arg("ratio"), nb::arg("mode"), nb::arg("value"), nb::arg("counts"));
    nb::class_<RemapOperation>(module, "RemapOperation")
        .def(
            "__init__",
            [](RemapOperation* self, std::vector<std::uint16_t> table, std::optional<std::uint16_t> otherwise) {
                new (self) RemapOperation{std::move(table), otherwise};
            },
            nb::arg("table"), nb::arg("otherwise").none());
}

template <typename T, typename... Shape>
using Rows = nb::ndarray<T, Shape..., nb::c_contig, nb::device::cpu>;

/// Moves the boxes or points of many samples, rows of `kWidth` numbers one behind the other.
template <std::size_t kWidth, typename Move>
void move_rows(const TransformProgram& program, const Rows<float, nb::shape<-1, kWidth>>& values,
               const Rows<const std::uint64_t, nb::ndim<1>>& starts,
               const Rows<const std::uint32_t, nb::shape<-1, 2>>& sizes,
               const Rows<const std::uint64_t, nb::ndim<1>>& ids, const SampleKey& key, Move move) {
    const std::size_t num_samples = ids.size();
    const bool fits = starts.size() == num_samples + 1 && sizes.shape(0) == num_samples &&
                      (num_samples == 0 || starts(num_samples) <= values.shape(0));
    for (std::size_t i = 0; fits && i < num_samples; ++i) {
        if (starts(i) > starts(i + 1)) break;
        const Draw draw = program.draw({sizes(i, 0), sizes(i, 1)}, {key.seed, key.epoch, ids(i)});
        move(draw, std::span<float>{values.data() + kWidth * starts(i), kWidth * (starts(i + 1) - starts(i))});
    }
}

void move_boxes(const TransformProgram& program, const Rows<float, nb::shape<-1, 4>>& boxes,
                const Rows<const std::uint64_t, nb::ndim<1>>& starts,
                const Rows<const std::uint32_t, nb::shape<-1, 2>>& sizes,
                const Rows<const std::uint64_t, nb::ndim<1>>& ids, std::uint64_t seed, std::uint64_t epoch) {
    move_rows<4>(program, boxes, starts, sizes, ids, {seed, epoch, 0},
                 [&](const Draw& draw, std::span<float> found) { program.apply_boxes(draw, found); });
}

void move_points(const TransformProgram& program, const Rows<float, nb::shape<-1, 2>>& points,
                 const Rows<const std::uint64_t, nb::ndim<1>>& starts,
                 const Rows<const std::uint32_t, nb::shape<-1, 2>>& sizes,
                 const Rows<const std::uint64_t, nb::ndim<1>>& ids, std::uint64_t seed, std::uint64_t epoch) {
    move_rows<2>(program, points, starts, sizes, ids, {seed, epoch, 0},
                 [&](const Draw& draw, std::span<float> found) { program.apply_points(draw, found); });
}

/// A pass as arrays: rows, first, weights (integers or fractions).
nb::tuple arrays_of(PassTables&& pass, bool wide) {
    nb::object rows = to_array(std::move(pass.rows), kNumPassColumns);
    nb::object weights = wide ? to_array(std::move(pass.fractions)) : to_array(std::move(pass.weights));
    return nb::make_tuple(rows, to_array(std::move(pass.first)), weights);
}

nb::list passes_of(const TransformProgram& program, const Rows<const std::uint32_t, nb::shape<-1, 2>>& sizes,
                   const Rows<const std::uint64_t, nb::ndim<1>>& ids, std::uint64_t seed, std::uint64_t epoch,
                   std::uint8_t sample_bytes) {
    std::vector<ImageSize> images;
    for (std::size_t i = 0; i < sizes.shape(0); ++i) images.push_back({sizes(i, 0), sizes(i, 1)});
    if (images.size() != ids.size() || sample_bytes < 1 || sample_bytes > 2) {
        throw Error(ErrorCode::bad_argument, "sizes, ids and sample_bytes do not fit", "transforms",
                    "give a size for every id, and 1 or 2 bytes");
    }
    std::vector<PassTables> passes;
    {
        const Unlocked unlocked;
        passes = pass_tables(program, images, {ids.data(), ids.size()}, seed, epoch, sample_bytes);
    }
    nb::list arrays;
    for (PassTables& pass : passes) arrays.append(arrays_of(std::move(pass), sample_bytes == 2));
    return arrays;
}

void register_program(nb::module_& module) {
    nb::class_<Draw>(module, "Draw")
        .def_prop_ro("source", [](const Draw& draw) { return sides_of(draw.source); })
        .def_prop_ro("output", [](const Draw& draw) { return sides_of(draw.output); })
        .def_prop_ro("steps", steps_of, nb::sig("def steps(self) -> list[dict[str, typing.Any]]"));
    nb::class_<TransformProgram>(module, "TransformProgram")
        .def(nb::init<std::vector<Operation>>(), nb::arg("operations"))
        .def("for_masks", &TransformProgram::for_masks)
        .def(
            "draw",
            [](const TransformProgram& program, Sides size, std::uint64_t seed, std::uint64_t epoch, std::uint64_t id) {
                return program.draw(size_of(size), {seed, epoch, id});
            },
            nb::arg("size"), nb::arg("seed"), nb::arg("epoch"), nb::arg("id"))
        .def(
            "region",
            [](const TransformProgram& program, const Draw& draw, std::uint32_t scale) {
                const Region region = program.region(draw, scale);
                return std::tuple(region.y, region.x, region.height, region.width);
            },
            nb::arg("draw"), nb::arg("scale") = 1)
        .def("max_scale", &TransformProgram::max_scale, nb::arg("draw"))
        .def_prop_ro("fixed_size",
                     [](const TransformProgram& program) -> std::optional<Sides> {
                         const auto size = program.fixed_size();
                         return size ? std::optional(sides_of(*size)) : std::nullopt;
                     })
        .def_prop_ro("output_type",
                     [](const TransformProgram& program) -> std::optional<std::string> {
                         const auto type = program.output_type();
                         return type ? std::optional(name_of(kTypes, *type)) : std::nullopt;
                     })
        .def(
            "apply", &apply, nb::arg("pixels"), nb::arg("draw"), nb::arg("out"), nb::arg("layout") = "NHWC",
            nb::arg("scale") = 1,
            nb::sig("def apply(self, pixels: penstock.types.Pixels, draw: Draw, out: numpy.typing.NDArray[typing.Any], "
                    "layout: str = \"NHWC\", scale: int = 1) -> None"))
        .def(
            "apply_boxes",
            [](const TransformProgram& program, const Draw& draw,
               const nb::ndarray<float, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>& boxes) {
                program.apply_boxes(draw, {boxes.data(), boxes.size()});
            },
            nb::arg("draw"), nb::arg("boxes"),
            nb::sig("def apply_boxes(self, draw: Draw, boxes: numpy.typing.NDArray[numpy.float32]) -> None"))
        .def(
            "apply_points",
            [](const TransformProgram& program, const Draw& draw,
               const nb::ndarray<float, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>& points) {
                program.apply_points(draw, {points.data(), points.size()});
            },
            nb::arg("draw"), nb::arg("points"),
            nb::sig("def apply_points(self, draw: Draw, points: numpy.typing.NDArray[numpy.float32]) -> None"))
        .def_prop_ro("narrows", &TransformProgram::narrows, "Whether 16-bit sources become 8-bit before anything else.")
        .def_prop_ro("is_scaled", [](const TransformProgram& program) { return program.finish_plan().scaled(); })
        .def(
            "values",
            [](const TransformProgram& program, std::uint8_t sample_bytes) {
                return to_array(program.finish_plan().values(sample_bytes));
            },
            nb::arg("sample_bytes"),
            nb::sig("def values(self, sample_bytes: int) -> numpy.typing.NDArray[numpy.float32]"),
            "The float of every value of a source, for four channels one behind the other.")
        .def("passes", &passes_of, nb::arg("sizes"), nb::arg("ids"), nb::arg("seed"), nb::arg("epoch"),
             nb::arg("sample_bytes"),
             nb::sig("def passes(self, sizes: numpy.typing.NDArray[numpy.uint32], "
                     "ids: numpy.typing.NDArray[numpy.uint64], seed: int, epoch: int, sample_bytes: int) "
                     "-> list[tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int32], "
                     "numpy.typing.NDArray[typing.Any]]]"),
             "The draws of images of these sizes as tables, pass by pass: rows, first taps, weights.")
        .def("move_boxes", &move_boxes, nb::arg("boxes"), nb::arg("starts"), nb::arg("sizes"), nb::arg("ids"),
             nb::arg("seed"), nb::arg("epoch"),
             nb::sig("def move_boxes(self, boxes: numpy.typing.NDArray[numpy.float32], "
                     "starts: numpy.typing.NDArray[numpy.uint64], sizes: numpy.typing.NDArray[numpy.uint32], "
                     "ids: numpy.typing.NDArray[numpy.uint64], seed: int, epoch: int) -> None"),
             "Moves the boxes of many samples, one behind the other; `starts` has where each begins, and the end.")
        .def("move_points", &move_points, nb::arg("points"), nb::arg("starts"), nb::arg("sizes"), nb::arg("ids"),
             nb::arg("seed"), nb::arg("epoch"),
             nb::sig("def move_points(self, points: numpy.typing.NDArray[numpy.float32], "
                     "starts: numpy.typing.NDArray[numpy.uint64], sizes: numpy.typing.NDArray[numpy.uint32], "
                     "ids: numpy.typing.NDArray[numpy.uint64], seed: int, epoch: int) -> None"),
             "Moves the points of many samples, as `move_boxes` does boxes.");
}

}  // namespace

void register_transforms(nb::module_& module) {
    register_geometry(module);
    register_pads(module);
    register_warps(module);
    register_values(module);
    register_program(module);
}

}  // namespace penstock::bindings
