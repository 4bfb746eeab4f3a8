// Coefficients of JPEGs as arrays, for tests and for inspection.
#include <nanobind/ndarray.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings/convert.h"
#include "bindings/interpreter_lock.h"
#include "bindings/register.h"
#include "codecs/jpeg_coefficients.h"

namespace penstock::bindings {

namespace {

using Blocks = nb::ndarray<const std::int16_t, nb::shape<-1, -1, 64>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const std::uint16_t, nb::shape<64>, nb::c_contig, nb::device::cpu>;

const char* name_of(jpeg::Color color) {
    if (color == jpeg::Color::grey) return "grey";
    return color == jpeg::Color::rgb ? "rgb" : "ycc";
}

nb::object array_of(const jpeg::CoefficientComponent& component) {
    const std::size_t count = component.blocks.size() * jpeg::kBlockCoefficients;
    auto* owned = new std::vector<std::int16_t>(component.blocks[0], component.blocks[0] + count);
    const nb::capsule owner(owned,
                            [](void* pointer) noexcept { delete static_cast<std::vector<std::int16_t>*>(pointer); });
    const std::size_t sides[] = {component.blocks_high, component.blocks_wide, jpeg::kBlockCoefficients};
    return nb::cast(nb::ndarray<nb::numpy, std::int16_t>(owned->data(), 3, sides, owner));
}

nb::dict fields_of(const jpeg::CoefficientImage& image) {
    nb::list components;
    for (const jpeg::CoefficientComponent& component : image.components) {
        std::vector<std::uint16_t> table(component.quantization.begin(), component.quantization.end());
        components.append(nb::make_tuple(component.sampling.across, component.sampling.down, to_array(std::move(table)),
                                         array_of(component)));
    }
    nb::dict fields;
    fields["width"] = image.width;
    fields["height"] = image.height;
    fields["color"] = name_of(image.color);
    fields["orientation"] = image.orientation;
    fields["components"] = components;
    return fields;
}

jpeg::CoefficientImage image_of(const nb::dict& fields) {
    jpeg::CoefficientImage image;
    image.width = nb::cast<std::uint32_t>(fields["width"]);
    image.height = nb::cast<std::uint32_t>(fields["height"]);
    for (const nb::handle item : nb::cast<nb::sequence>(fields["components"])) {
        const auto parts = nb::cast<nb::tuple>(item);
        const auto table = nb::cast<Table>(parts[2]);
        const auto blocks = nb::cast<Blocks>(parts[3]);
        jpeg::CoefficientComponent& component = image.components.emplace_back();
        component.sampling = {nb::cast<std::uint8_t>(parts[0]), nb::cast<std::uint8_t>(parts[1])};
        std::memcpy(component.quantization.data(), table.data(), sizeof component.quantization);
        component.blocks_high = static_cast<std::uint32_t>(blocks.shape(0));
        component.blocks_wide = static_cast<std::uint32_t>(blocks.shape(1));
        component.blocks = jpeg::CoefficientBlocks(blocks.shape(0) * blocks.shape(1));
        if (blocks.size() != 0) std::memcpy(component.blocks[0], blocks.data(), blocks.size() * sizeof(std::int16_t));
    }
    return image;
}

nb::tuple take_apart(nb::handle object, std::uint64_t max_pixels) {
    const BorrowedBytes data(object);
    jpeg::TakenApart parts;
    {
        const Unlocked unlocked;
        parts = jpeg::take_apart(data.view(), max_pixels);
    }
    return nb::make_tuple(fields_of(parts.image), to_bytes(parts.restoration));
}

nb::dict read_coefficients(nb::handle object, std::uint64_t max_pixels) {
    const BorrowedBytes data(object);
    jpeg::CoefficientImage image;
    {
        const Unlocked unlocked;
        image = jpeg::read_coefficients(data.view(), max_pixels);
    }
    return fields_of(image);
}

nb::bytes put_together(const nb::dict& fields, nb::handle object) {
    const BorrowedBytes restoration(object);
    const jpeg::CoefficientImage image = image_of(fields);
    ByteBuffer file;
    {
        const Unlocked unlocked;
        file = jpeg::put_together(image, restoration.view());
    }
    return to_bytes(file);
}

}  // namespace

void register_coefficients(nb::module_& module) {
    constexpr std::uint64_t max_pixels = std::uint64_t{1} << 28;
    module.def("jpeg_take_apart", &take_apart, nb::arg("data"), nb::arg("max_pixels") = max_pixels,
               nb::sig("def jpeg_take_apart(data: penstock.types.Buffer, max_pixels: int = 268435456) -> "
                       "tuple[dict[str, object], bytes]"));
    module.def("jpeg_read_coefficients", &read_coefficients, nb::arg("data"), nb::arg("max_pixels") = max_pixels,
               nb::sig("def jpeg_read_coefficients(data: penstock.types.Buffer, max_pixels: int = 268435456) -> "
                       "dict[str, object]"));
    module.def("jpeg_put_together", &put_together, nb::arg("image"), nb::arg("restoration"),
               nb::sig("def jpeg_put_together(image: dict[str, object], restoration: penstock.types.Buffer) -> bytes"));
}

}  // namespace penstock::bindings
