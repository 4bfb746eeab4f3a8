// Layers from coefficients: the image of layer 1, and the symbols of layer 2 in the order of decoding.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "codecs/sluice_lanes.h"
#include "codecs/sluice_layers.h"
#include "codecs/sluice_raw_planes.h"

namespace penstock::sluice {

namespace {

struct alignas(64) Group {
    std::int16_t values[kPositions][kLanes];
    std::uint8_t is_known[kPositions][kLanes];
    std::uint8_t added[kPositions][kLanes];           // what layer 2 adds to the magnitude
    std::uint8_t magnitudes[kPositions + 1][kLanes];  // as contexts count them
    std::uint8_t known_class[kLanes];
    std::uint8_t counts[kLanes];
    std::uint8_t remaining[kLanes];
    std::uint64_t active;
    std::uint16_t first_context;  // of its class
};

template <typename Visit>
void each_lane(std::uint64_t lanes, Visit&& visit) {
    for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<unsigned>(std::countr_zero(lanes)));
}

}  // namespace

jpeg::CoefficientImage coarse_image(const jpeg::CoefficientImage& image, unsigned bits) {
    jpeg::CoefficientImage coarse;
    coarse.width = image.width;
    coarse.height = image.height;
    coarse.color = image.color;
    coarse.orientation = image.orientation;
    for (const jpeg::CoefficientComponent& from : image.components) {
        jpeg::CoefficientComponent to;
        to.sampling = from.sampling;
        to.blocks_wide = from.blocks_wide;
        to.blocks_high = from.blocks_high;
        to.quantization = from.quantization;
        to.blocks = jpeg::CoefficientBlocks::uninitialized(from.blocks.size());
        for (std::size_t i = 0; i < from.blocks.size(); ++i) {
            const std::int16_t* const all = from.blocks[i];
            std::int16_t* const high = to.blocks[i];
            for (unsigned k = 0; k < kPositions; ++k) {
                const int magnitude = (all[k] < 0 ? -all[k] : all[k]) >> bits;
                high[k] = static_cast<std::int16_t>(all[k] < 0 ? -magnitude : magnitude);
            }
            high[0] = all[0];
        }
        coarse.components.push_back(std::move(to));
    }
    return coarse;
}

class RefinementWalk::State {
  public:
    State(const jpeg::CoefficientImage& image, const Layout& layout, unsigned bits)
        : image_(image), layout_(layout), bits_(bits), groups_(layout.max_groups()) {}

    const TileSymbols& walk(std::uint32_t tile_x, std::uint32_t tile_y) {
        begin(tile_x, tile_y);
        walk_counts();
        for (unsigned k = 1; k < kPositions; ++k) {
            for (Group& group : live()) walk_position(group, k);
            end_step();
            for (const Group& group : live()) put_raw(group, k);
        }
        raw_.finish();
        return tile_;
    }

  private:
    std::span<Group> live() noexcept { return std::span(groups_).first(num_groups_); }

    void begin(std::uint32_t tile_x, std::uint32_t tile_y) {
        std::array<TileGroup, kMaxGroups> places;
        num_groups_ = layout_.groups_of(tile_x, tile_y, places.data());
        tile_.contexts.clear();
        tile_.symbols.clear();
        tile_.step_ends.clear();
        std::size_t num_lanes = 0;
        for (std::size_t g = 0; g < num_groups_; ++g) {
            load(places[g], groups_[g]);
            num_lanes += static_cast<std::size_t>(std::popcount(places[g].active));
        }
        tile_.num_states = std::min(kNumStates, num_lanes);
        raw_.begin();
    }

    void load(const TileGroup& place, Group& group) const {
        const jpeg::CoefficientComponent& component = image_.components[place.component];
        group.active = place.active;
        group.first_context = static_cast<std::uint16_t>(place.component == 0 ? 0 : num_contexts(kPositions));
        if (~place.active != 0) std::memset(group.values, 0, sizeof group.values);
        each_lane(place.active, [&](unsigned lane) {
            const std::int16_t* const block = component.block(place.block_x + lane % 8, place.block_y + lane / 8);
            for (unsigned k = 1; k < kPositions; ++k) group.values[k][lane] = block[k];
        });
        std::memset(group.magnitudes[0], 0, kLanes);
        std::memset(group.magnitudes[kZeroRow], 0, kLanes);
        std::memset(group.counts, 0, kLanes);
        std::uint8_t known[kLanes] = {};
        for (unsigned k = 1; k < kPositions; ++k) split(group, k, known);
        std::memcpy(group.remaining, group.counts, kLanes);
        for (std::size_t lane = 0; lane < kLanes; ++lane) group.known_class[lane] = kCountClass[known[lane]];
    }

    // Divides the magnitudes of a position between the layers.
    void split(Group& group, unsigned k, std::uint8_t* known) const {
        const unsigned low_bits = (1U << bits_) - 1;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const int value = group.values[k][lane];
            const auto magnitude = static_cast<unsigned>(value < 0 ? -value : value);
            const unsigned coarse = magnitude >> bits_;
            const unsigned added = magnitude & low_bits;
            const unsigned whole = (std::min<unsigned>(kCoarseLimit, coarse) << bits_) + added;
            group.is_known[k][lane] = coarse != 0 ? 1 : 0;
            group.added[k][lane] = static_cast<std::uint8_t>(added);
            group.magnitudes[k][lane] = static_cast<std::uint8_t>(std::min<unsigned>(kRefinedLimit, whole));
            known[lane] = static_cast<std::uint8_t>(known[lane] + (coarse != 0 ? 1 : 0));
            group.counts[lane] = static_cast<std::uint8_t>(group.counts[lane] + (coarse == 0 && added != 0 ? 1 : 0));
        }
    }

    void add(const Group& group, unsigned context, std::uint8_t symbol) {
        tile_.contexts.push_back(static_cast<std::uint16_t>(group.first_context + context));
        tile_.symbols.push_back(symbol);
    }
    void end_step() { tile_.step_ends.push_back(static_cast<std::uint32_t>(tile_.symbols.size())); }

    void walk_counts() {
        for (const Group& group : live()) {
            each_lane(group.active & kEvenLanes,
                      [&](unsigned lane) { add(group, kEvenContexts + group.known_class[lane], group.counts[lane]); });
        }
        end_step();
        for (const Group& group : live()) {
            each_lane(group.active & ~kEvenLanes, [&](unsigned lane) {
                const unsigned mean = mean_of_neighbours(group.counts, lane);
                add(group, kOddContexts + 8 * kCountClass[mean] + group.known_class[lane], group.counts[lane]);
            });
        }
        end_step();
    }

    void walk_position(Group& group, unsigned k) {
        const std::uint64_t lanes = nonzero_lanes(group.remaining) & ~nonzero_lanes(group.is_known[k]);
        if (lanes == 0) return;
        std::uint8_t sums[kLanes];
        sum_neighbours(group.magnitudes, kNeighbours[k], sums);
        std::uint8_t classes[kLanes] = {};
        add_classes(group.remaining, kCountLimits, 8, classes);
        add_classes(sums, kMagnitudeLimits, 1, classes);
        const unsigned contexts = position_contexts(k, kPositions);
        each_lane(lanes, [&](unsigned lane) {
            const std::uint8_t symbol = group.added[k][lane];
            add(group, contexts + classes[lane], symbol);
            group.remaining[lane] = static_cast<std::uint8_t>(group.remaining[lane] - (symbol != 0 ? 1 : 0));
        });
    }

    void put_raw(const Group& group, unsigned k) {
        const std::uint64_t known = nonzero_lanes(group.is_known[k]);
        Plane signs;
        each_lane(nonzero_lanes(group.added[k]) & ~known, [&](unsigned lane) { signs.add(group.values[k][lane] < 0); });
        raw_.put_deferrable(signs);
        if (known == 0) return;
        for (unsigned p = 0; p < bits_; ++p) {
            Plane plane;
            each_lane(known, [&](unsigned lane) { plane.add((group.added[k][lane] >> p & 1) != 0); });
            raw_.put(plane);
        }
    }

    const jpeg::CoefficientImage& image_;
    const Layout& layout_;
    unsigned bits_;
    std::vector<Group> groups_;
    std::size_t num_groups_ = 0;
    TileSymbols tile_;
    RawPlanes raw_{tile_};
};

RefinementWalk::RefinementWalk(const jpeg::CoefficientImage& image, const Layout& layout, unsigned bits)
    : state_(std::make_unique<State>(image, layout, bits)) {}

RefinementWalk::~RefinementWalk() = default;

const TileSymbols& RefinementWalk::walk(std::uint32_t tile_x, std::uint32_t tile_y) {
    return state_->walk(tile_x, tile_y);
}

}  // namespace penstock::sluice
