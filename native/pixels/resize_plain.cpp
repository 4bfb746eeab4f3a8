// The resize that the vector paths must equal.
#include <algorithm>

#include "base/cpu.h"
#include "pixels/axis.h"
#include "pixels/resize_kernels.h"

namespace penstock {

namespace {

constexpr std::int32_t kHalf = std::int32_t{1} << (kWeightBits - 1);

std::uint8_t to_sample(std::int32_t sum) noexcept {
    return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

void pack(std::int32_t*, std::size_t) {}

template <std::uint32_t kChannels>
void filter_row(const std::uint8_t* row, const Taps& taps, std::uint8_t* out) {
    for (std::uint32_t i = 0; i < taps.count; ++i) {
        const std::int32_t* weights = taps.weights + std::size_t{i} * taps.stride * kGroupTaps;
        const std::uint8_t* source = row + std::size_t{taps.first[i]} * kChannels;
        std::int32_t sums[kChannels];
        for (std::int32_t& sum : sums) sum = kHalf;
        std::uint32_t count = taps.groups[i] * kGroupTaps;
        while (count > 1 && weights[count - 1] == 0) --count;  // what fills up the last group
        for (std::uint32_t tap = 0; tap < count; ++tap) {
            for (std::uint32_t c = 0; c < kChannels; ++c) sums[c] += source[tap * kChannels + c] * weights[tap];
        }
        for (const std::int32_t sum : sums) {
            *out = to_sample(sum);
            out += 4;
        }
    }
}

void filter_rows(const std::uint8_t* const* rows, const Taps& taps, std::uint32_t channels, const std::uint8_t*,
                 std::uint8_t* out) {
    using FilterRow = void (*)(const std::uint8_t*, const Taps&, std::uint8_t*);
    constexpr FilterRow by_channels[] = {filter_row<1>, filter_row<2>, filter_row<3>, filter_row<4>};
    for (std::size_t r = 0; r < 4; ++r) by_channels[channels - 1](rows[r], taps, out + r);
}

void filter_columns(const std::uint8_t* const* quads, const std::int32_t* weights, std::size_t num_quads,
                    std::size_t samples, std::uint8_t* out) {
    constexpr std::size_t chunk = 64;
    for (std::size_t begin = 0; begin < samples; begin += chunk) {
        const std::size_t count = std::min(chunk, samples - begin);
        std::int32_t sums[chunk];
        std::fill(sums, sums + chunk, kHalf);
        for (std::size_t i = 0; i < num_quads; ++i) {
            const std::uint8_t* quad = quads[i] + begin * 4;
            const std::int32_t* w = weights + i * 4;
            for (std::size_t r = 0; r < 4; ++r) {
                if (w[r] == 0) continue;  // rows above and below the filter
                for (std::size_t s = 0; s < count; ++s) sums[s] += quad[4 * s + r] * w[r];
            }
        }
        for (std::size_t s = 0; s < count; ++s) out[begin + s] = to_sample(sums[s]);
    }
}

}  // namespace

const ResizeKernels kResizePlain{pack, no_plan_bytes, no_plan, filter_rows, filter_columns};

std::size_t no_plan_bytes(const Taps&, std::uint32_t) { return 0; }
bool no_plan(const Taps&, std::uint32_t, std::uint8_t*) { return false; }

const ResizeKernels& active_resize_kernels() noexcept {
#if defined(__x86_64__)
    const SimdPath path = active_simd_path();
    if (path >= SimdPath::avx512) return kResizeAvx512;
    if (path >= SimdPath::avx2) return kResizeAvx2;
#endif
    return kResizePlain;
}

}  // namespace penstock
