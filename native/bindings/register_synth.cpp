#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings/codec_named.h"
#include "bindings/convert.h"
#include "bindings/interpreter_lock.h"
#include "bindings/register.h"
#include "synth/render.h"
#include "synth/write.h"

namespace penstock::bindings {

namespace {

using ParameterList = std::vector<std::pair<std::string, std::string>>;

synth::Variant variant_of(const std::string& name) {
    if (name == "coarse") return synth::Variant::coarse;
    if (name == "texture") return synth::Variant::texture;
    if (name == "mixed") return synth::Variant::mixed;
    throw Error(ErrorCode::bad_argument, "there is no variant '" + name + "'", "variant",
                "choose one of coarse, texture, mixed");
}

nb::object render_image(const synth::Spec& spec, std::uint64_t index) {
    OwnedImage image;
    {
        const Unlocked unlocked;
        image = OwnedImage(spec.shape(), BufferPool::shared());
        synth::render(spec, index, image.view(), {});
    }
    return to_array(std::move(image));
}

nb::object render_mask(const synth::Spec& spec, std::uint64_t index) {
    OwnedImage mask;
    {
        const Unlocked unlocked;
        mask = OwnedImage({spec.height, spec.width, 1, 1}, BufferPool::shared());
        synth::render_mask(spec, index, mask.view());
    }
    return to_array(std::move(mask));
}

std::string path_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

synth::Writing write(ThreadPool& pool, const synth::Spec& spec, std::uint64_t num_images,
                     const std::pair<nb::bytes, nb::bytes>& folders, const std::string& extension,
                     const std::string& codec, ParameterList parameters) {
    return synth::start_writing(pool, spec, num_images,
                                {path_of(folders.first), path_of(folders.second), extension, &codec_named(codec),
                                 Parameters(std::move(parameters))});
}

}  // namespace

void register_synth(nb::module_& module) {
    nb::class_<synth::Spec>(module, "SynthSpec")
        .def(
            "__init__",
            [](synth::Spec* self, std::uint32_t width, std::uint32_t height, std::uint32_t num_classes,
               std::uint64_t seed, const std::string& variant,
               bool deep) { new (self) synth::Spec{width, height, num_classes, seed, variant_of(variant), deep}; },
            nb::arg("width"), nb::arg("height"), nb::arg("num_classes"), nb::arg("seed"), nb::arg("variant"),
            nb::arg("deep"));
    nb::class_<synth::Writing>(module, "SynthWriting")
        .def_ro("job", &synth::Writing::job)
        .def_prop_ro("num_bytes", [](const synth::Writing& writing) { return writing.num_bytes->load(); });
    module.def("synth_render", &render_image, nb::arg("spec"), nb::arg("index"),
               nb::sig("def synth_render(spec: SynthSpec, index: int) -> penstock.types.Pixels"));
    module.def("synth_render_mask", &render_mask, nb::arg("spec"), nb::arg("index"),
               nb::sig("def synth_render_mask(spec: SynthSpec, index: int) -> penstock.types.Pixels"));
    module.def("synth_write", &write, nb::arg("pool"), nb::arg("spec"), nb::arg("num_images"), nb::arg("folders"),
               nb::arg("extension"), nb::arg("codec"), nb::arg("parameters"));
}

}  // namespace penstock::bindings
