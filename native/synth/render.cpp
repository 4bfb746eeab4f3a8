#include "synth/render.h"

#include <algorithm>

#include "base/random.h"
#include "synth/field.h"
#include "synth/paint.h"
#include "synth/scene.h"
#include "synth/sensor.h"
#include "synth/shade.h"

namespace penstock::synth {

namespace {

constexpr float kRoughPersistence = 1.0f;
constexpr float kSoftPersistence = 0.5f;

Field make_field(const Spec& spec, std::uint64_t index, Stream stream, float persistence) {
    return {spec.width, spec.height, persistence, {spec.seed, index, static_cast<std::uint32_t>(stream)}};
}

void write_mask(const Scene& scene, const SurfaceMap& map, ImageView mask) {
    for (std::uint32_t y = 0; y < mask.shape.height; ++y) {
        const std::uint16_t* cells = map.row(y);
        std::uint8_t* out = mask.row(y);
        for (std::uint32_t x = 0; x < mask.shape.width; ++x) {
            out[x] = static_cast<std::uint8_t>(scene.surfaces[cells[x]].kind);
        }
    }
}

}  // namespace

void render(const Spec& spec, std::uint64_t index, ImageView image, ImageView mask) {
    const Scene scene = compose(spec, index);
    const SurfaceMap map(scene, spec.width, spec.height);
    if (mask.data != nullptr) write_mask(scene, map, mask);
    const Field rough = make_field(spec, index, Stream::rough_field, kRoughPersistence);
    const Field soft = make_field(spec, index, Stream::soft_field, kSoftPersistence);
    const Shader shader(scene, map, rough, soft, spec.width);
    Sensor sensor(image.shape, scene.noise, {spec.seed, index, static_cast<std::uint32_t>(Stream::noise)});
    shader.shade_row(0, sensor.next_row());
    for (std::uint32_t y = 0; y < spec.height; ++y) {
        if (y + 1 < spec.height) shader.shade_row(y + 1, sensor.next_row());
        sensor.expose(y, image.row(y));
    }
}

void render_mask(const Spec& spec, std::uint64_t index, ImageView mask) {
    const Scene scene = compose(spec, index);
    write_mask(scene, SurfaceMap(scene, spec.width, spec.height), mask);
}

}  // namespace penstock::synth
