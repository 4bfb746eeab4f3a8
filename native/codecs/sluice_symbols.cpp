// Lists the symbols and raw bits of a tile in the order of decoding: for the encoder, and for training.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "codecs/sluice.h"
#include "codecs/sluice_lanes.h"
#include "codecs/sluice_raw_planes.h"

namespace penstock::sluice {

namespace {

struct alignas(64) Group {
    std::int16_t values[kPositions][kLanes];
    std::uint8_t tokens[kPositions][kLanes];
    std::uint8_t magnitudes[kPositions + 1][kLanes];  // as contexts count them
    std::uint8_t counts[kLanes];
    std::uint8_t remaining[kLanes];
    std::uint64_t active;
    std::uint16_t first_context;  // of its class
};

constexpr std::array<std::uint8_t, kMaxMagnitude + 1> kTokenOf = [] {
    std::array<std::uint8_t, kMaxMagnitude + 1> tokens{};
    for (unsigned magnitude = 0; magnitude <= kMaxMagnitude; ++magnitude) {
        tokens[magnitude] = static_cast<std::uint8_t>(token_of(magnitude));
    }
    return tokens;
}();

alignas(64) constexpr std::int16_t kNoBlock[kPositions] = {};

using EightWords [[gnu::vector_size(16)]] = std::int16_t;

// Positions k to k + 7 of eight blocks: to rows of eight lanes, kLanes apart.
void transpose(const std::int16_t* const (&blocks)[8], std::size_t k, std::int16_t* out) noexcept {
    EightWords rows[8];
    for (std::size_t i = 0; i < 8; ++i) std::memcpy(&rows[i], blocks[i] + k, sizeof rows[i]);
    // Three times: rows i and i + 4, word by word.
    for (int round = 0; round < 3; ++round) {
        EightWords mixed[8];
        for (std::size_t i = 0; i < 4; ++i) {
            mixed[2 * i] = __builtin_shufflevector(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            mixed[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        for (std::size_t i = 0; i < 8; ++i) rows[i] = mixed[i];
    }
    for (std::size_t i = 0; i < 8; ++i) std::memcpy(out + i * kLanes, &rows[i], sizeof rows[i]);
}

}  // namespace

class SymbolWalk::State {
  public:
    State(const jpeg::CoefficientImage& image, const Layout& layout, unsigned first_pair)
        : image_(image), layout_(layout), groups_(layout.max_groups()) {
        tile_.first_pair = first_pair;
    }

    const TileSymbols& walk(std::uint32_t tile_x, std::uint32_t tile_y) {
        begin(tile_x, tile_y);
        for (Group& group : live()) {
            each_lane(group.active, [&](unsigned lane) { add(group, kDcContext, group.tokens[0][lane]); });
        }
        end_step();
        for (Group& group : live()) put_raw(group, 0);
        walk_counts();
        const unsigned first_pair = tile_.first_pair;
        for (unsigned k = 1; k < first_pair; ++k) {
            for (Group& group : live()) walk_position(group, k, false);
            end_step();
            for (Group& group : live()) put_raw(group, k);
        }
        for (unsigned k = first_pair; k < kPositions; k += 2) {
            for (Group& group : live()) walk_position(group, k, true);
            end_step();
            for (Group& group : live()) put_raw_pair(group, k);
        }
        raw_.finish();
        return tile_;
    }

  private:
    std::span<Group> live() noexcept { return std::span(groups_).first(num_groups_); }

    template <typename Visit>
    static void each_lane(std::uint64_t lanes, Visit&& visit) {
        for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<unsigned>(std::countr_zero(lanes)));
    }

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
        group.first_context = static_cast<std::uint16_t>(place.component == 0 ? 0 : num_contexts(tile_.first_pair));
        for (std::size_t row = 0; row < 8; ++row) {
            const std::int16_t* blocks[8];
            for (std::uint32_t x = 0; x < 8; ++x) {
                const bool is_active = (place.active >> (8 * row + x) & 1) != 0;
                const auto y = static_cast<std::uint32_t>(place.block_y + row);
                blocks[x] = is_active ? component.block(place.block_x + x, y) : kNoBlock;
            }
            for (std::size_t k = 0; k < kPositions; k += 8) transpose(blocks, k, &group.values[k][8 * row]);
        }
        each_lane(place.active, [&](unsigned lane) {
            const std::uint32_t x = place.block_x + lane % 8;
            const std::uint32_t y = place.block_y + lane / 8;
            int predicted = 0;
            if (lane % 8 != 0) {
                predicted = component.block(x - 1, y)[0];
            } else if (lane != 0) {
                predicted = component.block(x, y - 1)[0];
            }
            group.values[0][lane] = checked_difference(component.block(x, y)[0], predicted);
        });
        tokenise(group);
    }

    [[noreturn]] static void refuse_magnitude() {
        throw Error(ErrorCode::unsupported, "jpeg has a coefficient that is too large for sluice",
                    "coefficients of the jpeg data", "keep the file as jpeg");
    }

    static std::int16_t checked_difference(int value, int predicted) {
        const int difference = value - predicted;
        if (std::abs(difference) > static_cast<int>(kMaxMagnitude)) refuse_magnitude();
        return static_cast<std::int16_t>(difference);
    }

    void tokenise(Group& group) const {
        std::memset(group.counts, 0, sizeof group.counts);
        std::memset(group.magnitudes[kZeroRow], 0, kLanes);
        for (unsigned k = 0; k < kPositions; ++k) {
            const std::int16_t* const values = group.values[k];
            std::uint16_t magnitudes[kLanes];
            std::uint16_t largest = 0;
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                const int value = values[lane];
                magnitudes[lane] = static_cast<std::uint16_t>(value < 0 ? -value : value);
                largest = std::max(largest, magnitudes[lane]);
            }
            std::uint8_t* const tokens = group.tokens[k];
            for (std::size_t lane = 0; lane < kLanes; ++lane)
                tokens[lane] = static_cast<std::uint8_t>(magnitudes[lane]);
            if (largest > kLastDirectToken) {
                if (largest > kMaxMagnitude) refuse_magnitude();
                for (std::size_t lane = 0; lane < kLanes; ++lane) tokens[lane] = kTokenOf[magnitudes[lane]];
            }
            const std::uint8_t limit = k >= tile_.first_pair ? kEscape : kNumTokens;
            for (std::size_t lane = 0; lane < kLanes; ++lane) group.magnitudes[k][lane] = std::min(tokens[lane], limit);
            if (k == 0) continue;
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                group.counts[lane] = static_cast<std::uint8_t>(group.counts[lane] + (tokens[lane] != 0 ? 1 : 0));
            }
        }
        std::memcpy(group.remaining, group.counts, kLanes);
    }

    void add(const Group& group, unsigned context, std::uint8_t symbol) {
        tile_.contexts.push_back(static_cast<std::uint16_t>(group.first_context + context));
        tile_.symbols.push_back(symbol);
    }
    void end_step() { tile_.step_ends.push_back(static_cast<std::uint32_t>(tile_.symbols.size())); }

    void walk_counts() {
        for (Group& group : live()) {
            each_lane(group.active & kEvenLanes, [&](unsigned lane) {
                add(group, kEvenContexts + kDcClass[group.tokens[0][lane]], group.counts[lane]);
            });
        }
        end_step();
        for (Group& group : live()) {
            each_lane(group.active & ~kEvenLanes, [&](unsigned lane) {
                const unsigned mean = mean_of_neighbours(group.counts, lane);
                add(group, kOddContexts + 8 * kCountClass[mean] + kDcClass[group.tokens[0][lane]], group.counts[lane]);
            });
        }
        end_step();
    }

    void walk_position(Group& group, unsigned k, bool pair) {
        const std::uint64_t lanes = nonzero_lanes(group.remaining);
        if (lanes == 0) return;
        std::uint8_t sums[kLanes];
        std::uint8_t symbols[kLanes];
        sum_neighbours(group.magnitudes, kNeighbours[k], sums);
        const std::uint8_t* const first = group.magnitudes[k];
        const std::uint8_t* const second = group.magnitudes[pair ? k + 1 : kZeroRow];
        const std::uint8_t weight = pair ? 8 : 1;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            symbols[lane] = static_cast<std::uint8_t>(weight * first[lane] + second[lane]);
        }
        std::uint8_t classes[kLanes] = {};
        add_classes(group.remaining, kCountLimits, 8, classes);
        add_classes(sums, kMagnitudeLimits, 1, classes);
        const unsigned contexts = group.first_context + position_contexts(k, tile_.first_pair);
        const std::size_t begin = tile_.symbols.size();
        tile_.contexts.resize(begin + kLanes);
        tile_.symbols.resize(begin + kLanes);
        std::uint16_t* const out_contexts = tile_.contexts.data() + begin;
        std::uint8_t* const out_symbols = tile_.symbols.data() + begin;
        std::size_t count = 0;
        if (lanes == ~std::uint64_t{0}) {
            for (; count < kLanes; ++count) {
                out_contexts[count] = static_cast<std::uint16_t>(contexts + classes[count]);
            }
            std::memcpy(out_symbols, symbols, kLanes);
        } else {
            each_lane(lanes, [&](unsigned lane) {
                out_contexts[count] = static_cast<std::uint16_t>(contexts + classes[lane]);
                out_symbols[count++] = symbols[lane];
            });
        }
        tile_.contexts.resize(begin + count);
        tile_.symbols.resize(begin + count);
        count_down(first, group.remaining);
        if (pair) count_down(second, group.remaining);
    }

    static Plane signs(const Group& group, unsigned k) {
        Plane plane;
        const std::uint64_t nonzero = nonzero_lanes(group.tokens[k]);
        if (nonzero == 0) return plane;
        std::uint8_t is_negative[kLanes];
        for (std::size_t lane = 0; lane < kLanes; ++lane) is_negative[lane] = group.values[k][lane] < 0 ? 1 : 0;
        const std::uint64_t negative = nonzero_lanes(is_negative);
        each_lane(nonzero, [&](unsigned lane) { plane.add((negative >> lane & 1) != 0); });
        return plane;
    }

    void put(const Plane& plane) { raw_.put(plane); }

    void put_raw(const Group& group, unsigned k) {
        if (k == 0) {
            put(signs(group, k));
        } else {
            raw_.put_deferrable(signs(group, k));
        }
        std::uint8_t most = 0;
        for (const std::uint8_t token : group.tokens[k]) most = std::max(most, token);
        if (most <= kLastDirectToken) return;
        std::uint16_t extra[kLanes];
        std::uint8_t bits[kLanes];
        std::size_t count = 0;
        std::uint8_t is_large[kLanes];
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            is_large[lane] = group.tokens[k][lane] > kLastDirectToken ? 1 : 0;
        }
        each_lane(nonzero_lanes(is_large), [&](unsigned lane) {
            bits[count] = static_cast<std::uint8_t>(group.tokens[k][lane] - kTokenBitsOffset);
            const int magnitude = std::abs(group.values[k][lane]);
            extra[count] = static_cast<std::uint16_t>(magnitude - static_cast<int>(kTokenBase) - (1 << bits[count]));
            ++count;
        });
        for (unsigned p = 0; p < most - kTokenBitsOffset; ++p) {
            Plane plane;
            for (std::size_t i = 0; i < count; ++i) {
                plane.add_if(bits[i] > p ? 1 : 0, extra[i] >> p);
            }
            put(plane);
        }
    }

    void put_raw_pair(const Group& group, unsigned k) {
        put(signs(group, k));
        put(signs(group, k + 1));
        put_escapes(group, k);
        put_escapes(group, k + 1);
    }

    void put_escapes(const Group& group, unsigned k) {
        std::uint8_t is_escape[kLanes];
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            is_escape[lane] = group.magnitudes[k][lane] == kEscape ? 1 : 0;
        }
        const std::uint64_t escapes = nonzero_lanes(is_escape);
        if (escapes == 0) return;
        std::uint16_t values[kLanes];  // g
        std::size_t count = 0;
        unsigned most = 0;
        each_lane(escapes, [&](unsigned lane) {
            values[count] = static_cast<std::uint16_t>(std::abs(group.values[k][lane]) - static_cast<int>(kEscape) + 1);
            most = std::max<unsigned>(most, values[count++]);
        });
        const unsigned highest = static_cast<unsigned>(std::bit_width(most)) - 1;
        for (unsigned p = 0; p <= highest; ++p) {
            Plane plane;
            for (std::size_t i = 0; i < count; ++i) {
                plane.add_if(values[i] >> p != 0 ? 1 : 0, values[i] >> p > 1 ? 1 : 0);
            }
            put(plane);
        }
        for (unsigned p = 0; p < highest; ++p) {
            Plane plane;
            for (std::size_t i = 0; i < count; ++i) {
                plane.add_if(values[i] >> p > 1 ? 1 : 0, values[i] >> p);
            }
            put(plane);
        }
    }

    const jpeg::CoefficientImage& image_;
    const Layout& layout_;
    std::vector<Group> groups_;
    std::size_t num_groups_ = 0;
    TileSymbols tile_;
    RawPlanes raw_{tile_};
};

SymbolWalk::SymbolWalk(const jpeg::CoefficientImage& image, const Layout& layout, unsigned first_pair)
    : state_(std::make_unique<State>(image, layout, first_pair)) {}

SymbolWalk::~SymbolWalk() = default;

const TileSymbols& SymbolWalk::walk(std::uint32_t tile_x, std::uint32_t tile_y) { return state_->walk(tile_x, tile_y); }

}  // namespace penstock::sluice
