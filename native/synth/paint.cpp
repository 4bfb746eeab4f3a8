#include "synth/paint.h"

#include <algorithm>
#include <utility>

namespace penstock::synth {

namespace {

// An outline has at most 64 points, so that a row crosses it at most as often.
constexpr std::size_t kMaxCrossings = 64;

// The first row (or column) whose middle is at or after `position`, within [0, limit].
std::size_t first_cell(float position, std::size_t limit) {
    const float cell = position + 0.5f;
    if (!(cell > 0)) return 0;
    return cell < static_cast<float>(limit) ? static_cast<std::size_t>(cell) : limit;
}

}  // namespace

SurfaceMap::SurfaceMap(const Scene& scene, std::uint32_t width, std::uint32_t height)
    : width_(width),
      height_(height),
      cells_(std::size_t{width} * height, 0),
      crossings_(kMaxCrossings * height),
      num_crossings_(height) {
    for (const Patch& patch : scene.patches) fill(scene.points.data() + patch.first, patch.count, patch.surface);
}

// Even-odd rule: between the first and the second crossing of a row is inside, and so on.
void SurfaceMap::fill(const Point* points, std::size_t count, std::uint16_t surface) {
    std::size_t top = height_;
    std::size_t bottom = 0;
    for (std::size_t i = 0; i < count; ++i) {
        Point a = points[i];
        Point b = points[i + 1 == count ? 0 : i + 1];
        if (a.y > b.y) std::swap(a, b);
        const std::size_t begin = first_cell(a.y, height_);
        const std::size_t end = first_cell(b.y, height_);
        if (begin == end) continue;
        const float slope = (b.x - a.x) / (b.y - a.y);
        for (std::size_t y = begin; y < end; ++y) {
            const float x = a.x + slope * (static_cast<float>(y) + 0.5f - a.y);
            crossings_[y * kMaxCrossings + num_crossings_[y]++] = x;
        }
        top = std::min(top, begin);
        bottom = std::max(bottom, end);
    }
    for (std::size_t y = top; y < bottom; ++y) {
        float* crossings = crossings_.data() + y * kMaxCrossings;
        const std::size_t number = std::exchange(num_crossings_[y], std::uint8_t{0});
        std::sort(crossings, crossings + number);
        std::uint16_t* cells = cells_.data() + y * width_;
        for (std::size_t i = 0; i + 1 < number; i += 2) {
            const std::size_t begin = first_cell(crossings[i], width_);
            const std::size_t end = first_cell(crossings[i + 1], width_);
            std::fill(cells + begin, cells + end, surface);
        }
    }
}

}  // namespace penstock::synth
