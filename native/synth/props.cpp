#include "synth/props.h"

#include <algorithm>

namespace penstock::synth {

namespace {

Colour scaled(const Colour& colour, float factor) {
    return {colour[0] * factor, colour[1] * factor, colour[2] * factor};
}

// Light on something round: bright towards the sun, dark at the rim.
void light_round(Surface& surface, Point centre, float radius, float sun_x) {
    surface.centre = centre;
    surface.slope_x = 0.35f * sun_x / radius;
    surface.slope_y = -0.30f / radius;
    surface.round = 0.35f / (radius * radius);
}

}  // namespace

std::uint16_t Builder::add_surface(Surface surface) {
    surface.offset_x = rng_.word();
    surface.offset_y = rng_.word();
    scene_.surfaces.push_back(surface);
    return static_cast<std::uint16_t>(scene_.surfaces.size() - 1);
}

void Builder::add_quad(Point a, Point b, Point c, Point d, std::uint16_t surface) {
    patches_->push_back({static_cast<std::uint32_t>(scene_.points.size()), 4, surface});
    scene_.points.insert(scene_.points.end(), {a, b, c, d});
}

Patch Builder::blob_patch(const Blob& blob, float roughness, std::uint16_t surface) {
    const std::size_t first = scene_.points.size();
    append_blob(blob, roughness, rng_, scene_.points);
    return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(scene_.points.size() - first), surface};
}

void Builder::add_blob(const Blob& blob, float roughness, std::uint16_t surface) {
    patches_->push_back(blob_patch(blob, roughness, surface));
}

Surface Builder::hazed(Surface surface, float haze) const {
    for (std::size_t c = 0; c < 3; ++c) surface.albedo[c] += haze * (haze_colour[c] - surface.albedo[c]);
    for (float* contrast : {&surface.rough, &surface.soft, &surface.grain}) *contrast *= 1 - haze;
    return surface;
}

void Builder::shadow(Point centre, float radius) {
    Surface dark = scene_.surfaces[ground];
    dark.albedo = scaled(dark.albedo, 0.45f);
    scene_.surfaces.push_back(dark);  // the ground's own texture goes on under the shadow
    const auto surface = static_cast<std::uint16_t>(scene_.surfaces.size() - 1);
    const Blob spot{{centre.x - 0.5f * sun_x * radius, centre.y}, radius * 1.15f, radius * 0.28f};
    scene_.patches.push_back(blob_patch(spot, 0.03f, surface));
}

void Builder::windows(Point top_left, float width, float height, const Surface& wall) {
    const auto columns = 2 + rng_.below(5);
    const auto rows = 2 + rng_.below(6);
    const float cell_width = width / static_cast<float>(columns);
    const float cell_height = height / static_cast<float>(rows);
    if (std::min(cell_width, cell_height) < 4) return;
    Surface glass = wall;
    glass.albedo = scaled(wall.albedo, rng_.uniform(0.15f, 0.5f));
    glass.rough = 0.25f;
    glass.grain = 0;
    Surface lit = glass;
    for (std::size_t c = 0; c < 3; ++c) lit.albedo[c] = 0.5f * (wall.albedo[c] + haze_colour[c]);
    const std::uint16_t dark_pane = add_surface(glass);
    const std::uint16_t bright_pane = add_surface(lit);
    const float margin_x = cell_width * rng_.uniform(0.15f, 0.3f);
    const float margin_y = cell_height * rng_.uniform(0.15f, 0.3f);
    for (std::uint32_t row = 0; row < rows; ++row) {
        for (std::uint32_t column = 0; column < columns; ++column) {
            const float left = top_left.x + static_cast<float>(column) * cell_width + margin_x;
            const float top = top_left.y + static_cast<float>(row) * cell_height + margin_y;
            const float right = left + cell_width - 2 * margin_x;
            const float bottom = top + cell_height - 2 * margin_y;
            add_quad({left, top}, {right, top}, {right, bottom}, {left, bottom},
                     rng_.uniform() < 0.2f ? bright_pane : dark_pane);
        }
    }
}

void Builder::block(const Place& place, const Colour& colour) {
    const float width = place.scale * rng_.uniform(0.3f, 0.75f);
    const float height = place.scale * rng_.uniform(0.4f, 1.15f);
    const float depth = width * rng_.uniform(0.1f, 0.4f);
    const float left = place.foot.x - width / 2;
    const float right = left + width;
    const float foot = place.foot.y;
    const float top = foot - height;

    Surface wall;
    wall.albedo = colour;
    wall.kind = Kind::block;
    wall.rough = rng_.uniform(0.03f, 0.12f);
    wall.grain = 0.2f;
    wall.chroma = 0.03f;
    wall.centre = {place.foot.x, foot - height / 2};
    wall.slope_y = -rng_.uniform(0.0f, 0.35f) / height;
    wall.slope_x = 0.2f * sun_x / width;
    wall = hazed(wall, place.haze);
    Surface side = wall;
    side.albedo = scaled(wall.albedo, sun_x > 0 ? 1.25f : 0.55f);
    const float slant = 0.25f * depth;
    add_quad({right, foot}, {right + depth, foot - slant}, {right + depth, top + slant}, {right, top},
             add_surface(side));
    add_quad({left, foot}, {right, foot}, {right, top}, {left, top}, add_surface(wall));
    if (rng_.uniform() < 0.8f) windows({left, top}, width, height, wall);
}

void Builder::tree(const Place& place, const Colour& colour) {
    const float height = place.scale * rng_.uniform(0.4f, 0.75f);
    const float radius = place.scale * rng_.uniform(0.2f, 0.34f);
    const float trunk = std::max(1.0f, place.scale * rng_.uniform(0.015f, 0.035f));
    const Point crown{place.foot.x + rng_.uniform(-0.3f, 0.3f) * radius, place.foot.y - height};

    Surface bark;
    bark.albedo = {0.10f, 0.075f, 0.055f};
    bark.kind = Kind::tree;
    bark.rough = 0.35f;
    const std::uint16_t trunk_surface = add_surface(hazed(bark, place.haze));
    const Point foot = place.foot;
    add_quad({foot.x - trunk, foot.y}, {foot.x + trunk, foot.y}, {crown.x + trunk / 2, crown.y},
             {crown.x - trunk / 2, crown.y}, trunk_surface);

    const std::uint32_t clumps = 24 + rng_.below(24);
    for (std::uint32_t i = 0; i < clumps; ++i) {
        const float turns = rng_.uniform();
        const float reach = radius * rng_.uniform();
        const float distance = reach * rng_.uniform(0.5f, 1.0f);
        const float size = radius * (0.55f - 0.4f * distance / radius) * rng_.uniform(0.5f, 1.1f);
        const Point centre{crown.x + distance * cosine(turns), crown.y + 0.8f * distance * sine(turns)};
        Surface leaves;
        leaves.albedo = scaled(colour, rng_.uniform(0.35f, 1.3f) * (1 - 0.35f * (centre.y - crown.y) / radius));
        leaves.kind = Kind::tree;
        leaves.rough = rng_.uniform(0.25f, 0.5f);
        leaves.chroma = 0.08f;
        leaves = hazed(leaves, place.haze);
        light_round(leaves, centre, size, sun_x);
        const Blob clump{centre, size, size * rng_.uniform(0.6f, 1.0f)};
        add_blob(clump, 0.3f, add_surface(leaves));
    }
}

void Builder::stone(const Place& place, const Colour& colour) {
    const float size = 0.2f * rng_.uniform();
    const float radius = place.scale * (0.03f + size * rng_.uniform());
    const float flat = rng_.uniform(0.5f, 0.9f);
    shadow(place.foot, radius);
    Surface rock;
    rock.albedo = scaled(colour, rng_.uniform(0.6f, 1.3f));
    rock.kind = Kind::stone;
    rock.rough = rng_.uniform(0.15f, 0.4f);
    rock.chroma = 0.04f;
    rock = hazed(rock, place.haze);
    const Point centre{place.foot.x, place.foot.y - 0.7f * flat * radius};
    light_round(rock, centre, radius, sun_x);
    const Blob blob{centre, radius, flat * radius, static_cast<float>(2 + rng_.below(4)), 0.12f, rng_.uniform()};
    add_blob(blob, 0.05f, add_surface(rock));
}

void Builder::object(const Place& place, const Colour& colour, float lobes) {
    const float radius = 0.5f * place.scale;
    const float turn = rng_.uniform();
    const Point centre{place.foot.x, place.foot.y - 0.8f * radius};
    shadow(place.foot, radius);
    Surface body;
    body.albedo = colour;
    body.kind = Kind::object;
    body.rough = 0.1f;
    body.grain = 0.22f;
    body.chroma = 0.03f;
    light_round(body, centre, radius, sun_x);
    const float depth = lobes < 1 ? 0 : 0.28f;
    add_blob({centre, radius, radius, lobes, depth, turn}, 0, add_surface(body));
    Surface core = body;
    core.albedo = scaled(colour, 0.45f);
    add_blob({centre, 0.45f * radius, 0.45f * radius, lobes, depth, turn}, 0, add_surface(core));
}

}  // namespace penstock::synth
