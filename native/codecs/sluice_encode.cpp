// From coefficients to a Sluice file: rANS over the symbols of each tile, last symbol first.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "codecs/jpeg_back.h"
#include "codecs/sluice.h"
#include "codecs/sluice_layers.h"

namespace penstock::sluice {

namespace {

constexpr unsigned kReciprocalBits = 42;

void check_image(const jpeg::CoefficientImage& image) {
    std::array<Sampling, 3> sampling{};
    const std::size_t count = image.components.size();
    const auto refuse = [](const char* what) {
        throw Error(ErrorCode::unsupported, what, "header of the jpeg data", "keep the file as jpeg");
    };
    if (count != 1 && count != 3) refuse("jpeg has other than one or three components");
    for (std::size_t c = 0; c < count; ++c) sampling[c] = image.components[c].sampling;
    const jpeg::FrameLayout frame{image.width, image.height, image.color, std::span(sampling).first(count)};
    if (!jpeg::geometry_of(frame, 1)) refuse("jpeg has a sampling that sluice does not take");
    for (const jpeg::CoefficientComponent& component : image.components) {
        if (std::ranges::count(component.quantization, 0) != 0) refuse("jpeg has a quantisation step of zero");
    }
}

// The segments of one layer.
template <typename Walk>
void add_segments(Walk walk, const TableSet& tables, FileParts& parts) {
    for (std::uint32_t y = 0; y < parts.layout.tiles_down(); ++y) {
        for (std::uint32_t x = 0; x < parts.layout.tiles_across(); ++x) {
            parts.segments.push_back(encode_segment(walk.walk(x, y), tables));
        }
    }
}

}  // namespace

ByteBuffer encode_segment(const TileSymbols& tile, const TableSet& tables) {
    const std::size_t num_symbols = tile.symbols.size();
    // Words are written from the end of the buffer to its front: a symbol takes one at most.
    std::vector<std::uint16_t> words(num_symbols);
    std::uint16_t* const words_end = words.data() + num_symbols;
    std::uint16_t* word = words_end;
    std::array<std::uint32_t, kNumStates> states{};
    for (std::size_t i = 0; i < kNumStates; ++i) states[i] = kLowestState | tile.payload[i];
    const EncodeEntry* const entries = tables.encode().data();
    const std::uint8_t* const map = tables.context_map().data();
    for (std::size_t step = tile.step_ends.size(); step-- > 0;) {
        const std::size_t begin = step == 0 ? 0 : tile.step_ends[step - 1];
        for (std::size_t i = tile.step_ends[step]; i-- > begin;) {
            const EncodeEntry& entry = entries[std::size_t{map[tile.contexts[i]]} * kNumSymbols + tile.symbols[i]];
            std::uint32_t& state = states[(i - begin) % kNumStates];
            std::uint32_t x = state;
            // Written in any case, kept only if the state was full: a branch would be mispredicted half of the time,
            // and GCC makes one of a condition. There is room, because each symbol that is left may still take a word.
            const auto is_full = static_cast<std::uint32_t>(
                ((std::uint64_t{entry.frequency} << (32 - kSlotBits)) - 1 - std::uint64_t{x}) >> 63);
            word[-1] = static_cast<std::uint16_t>(x);
            word -= is_full;
            x >>= 16 * is_full;
            const auto quotient = static_cast<std::uint32_t>(x * entry.reciprocal >> kReciprocalBits);
            state = (quotient << kSlotBits) + (x - quotient * entry.frequency) + entry.begin;
        }
    }
    const auto num_words = static_cast<std::uint32_t>(words_end - word);
    ByteBuffer out(4 + 4 * tile.num_states + 2 * std::size_t{num_words} + tile.raw.size());
    std::uint8_t* at = out.data();
    const auto append = [&](const void* from, std::size_t size) {
        if (size != 0) std::memcpy(at, from, size);
        at += size;
    };
    append(&num_words, sizeof num_words);
    append(states.data(), 4 * tile.num_states);
    append(word, 2 * std::size_t{num_words});
    append(tile.raw.data(), tile.raw.size());
    return out;
}

Layout default_layout(const jpeg::CoefficientImage& image) {
    std::array<Sampling, 3> sampling{};
    const std::size_t count = image.components.size();
    for (std::size_t c = 0; c < count; ++c) sampling[c] = image.components[c].sampling;
    return lay_out(image.width, image.height, std::span(sampling).first(count), 2, 2);
}

ByteBuffer encode_image(const jpeg::CoefficientImage& image, ByteView restoration, const TableSet& tables,
                        bool store_tables) {
    check_image(image);
    const Layout layout = default_layout(image);
    FileParts parts{image, layout, tables, store_tables, {}, restoration};
    if (tables.layer_bits() == 0) {
        add_segments(SymbolWalk(image, layout, tables.first_pair()), tables, parts);
    } else {
        const jpeg::CoefficientImage coarse = coarse_image(image, tables.layer_bits());
        add_segments(SymbolWalk(coarse, layout, tables.first_pair()), tables, parts);
        add_segments(RefinementWalk(image, layout, tables.layer_bits()), tables.refinement(), parts);
    }
    return write_file(parts);
}

}  // namespace penstock::sluice
