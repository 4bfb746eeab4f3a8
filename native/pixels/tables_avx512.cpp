// Tables of 256 levels in four registers, 64 samples at a time.
#include "pixels/table_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "pixels/table_rows.h"

namespace penstock {

namespace {

struct Table {
    __m512i parts[4];

    explicit Table(const std::uint8_t* levels) {
        for (int i = 0; i < 4; ++i) parts[i] = _mm512_load_si512(levels + 64 * i);
    }
    [[nodiscard]] inline __m512i of(__m512i levels) const {
        const __m512i low = _mm512_permutex2var_epi8(parts[0], levels, parts[1]);
        const __m512i high = _mm512_permutex2var_epi8(parts[2], levels, parts[3]);
        return _mm512_mask_blend_epi8(_mm512_movepi8_mask(levels), low, high);
    }
};

inline __mmask64 first_bytes(std::size_t count) { return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1; }

void look_up_same(const std::uint8_t* row, std::size_t samples, const ByteTables& tables, std::uint8_t* out) {
    const Table table(tables.levels[0]);
    std::size_t at = 0;
    for (; at + 64 <= samples; at += 64) _mm512_storeu_si512(out + at, table.of(_mm512_loadu_si512(row + at)));
    const __mmask64 rest = first_bytes(samples - at);
    _mm512_mask_storeu_epi8(out + at, rest, table.of(_mm512_maskz_loadu_epi8(rest, row + at)));
}

/// The lanes of 64 that hold channel `c` if the first of them holds channel `first`.
constexpr std::uint64_t lanes_of(std::size_t c, std::size_t first, std::size_t channels) {
    std::uint64_t lanes = 0;
    for (std::size_t i = 0; i < 64; ++i) lanes |= std::uint64_t{(first + i) % channels == c} << i;
    return lanes;
}

/// The lanes of channels in three vectors one behind the other, where channels come round again.
template <std::size_t kChannels>
struct Lanes {
    std::uint64_t of[3][kMaxChannels];

    constexpr Lanes() : of{} {
        for (std::size_t turn = 0; turn < 3; ++turn) {
            for (std::size_t c = 0; c < kChannels; ++c) of[turn][c] = lanes_of(c, turn * 64 % kChannels, kChannels);
        }
    }
};

template <std::size_t kChannels>
void look_up_each(const std::uint8_t* row, std::size_t samples, const ByteTables& tables, std::uint8_t* out) {
    const Table first(tables.levels[0]);
    const Table second(tables.levels[1]);
    const Table third(tables.levels[2]);
    constexpr Lanes<kChannels> lanes;
    std::size_t turn = 0;
    for (std::size_t at = 0; at < samples; at += 64) {
        const __mmask64 here = first_bytes(samples - at);
        const __m512i levels = _mm512_maskz_loadu_epi8(here, row + at);
        __m512i found = _mm512_mask_blend_epi8(lanes.of[turn][1], first.of(levels), second.of(levels));
        if constexpr (kChannels > 2) found = _mm512_mask_blend_epi8(lanes.of[turn][2], found, third.of(levels));
        if constexpr (kChannels > 3) {
            const Table fourth(tables.levels[3]);
            found = _mm512_mask_blend_epi8(lanes.of[turn][3], found, fourth.of(levels));
        }
        _mm512_mask_storeu_epi8(out + at, here, found);
        turn = turn == 2 ? 0 : turn + 1;
    }
}

void look_up(const std::uint8_t* row, std::size_t pixels, std::size_t channels, const ByteTables& tables,
             std::uint8_t* out) {
    const std::size_t samples = pixels * channels;
    if (tables.same || channels == 1) return look_up_same(row, samples, tables, out);
    switch (channels) {
        case 2: return look_up_each<2>(row, samples, tables, out);
        case 3: return look_up_each<3>(row, samples, tables, out);
        default: return look_up_each<4>(row, samples, tables, out);
    }
}

}  // namespace

const TableKernels kTableAvx512{look_up, widen_limits};

}  // namespace penstock

#endif
