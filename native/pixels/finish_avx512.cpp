// Planes, floats and half floats, sixteen pixels at a time.
#include "pixels/finish_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace penstock {

namespace {

/// The first `count` of 16 lanes, or all.
inline __mmask16 first_lanes(std::size_t count) {
    return static_cast<__mmask16>(count >= 16 ? 0xffff : (1u << count) - 1);
}

inline __mmask64 first_bytes(std::size_t count) { return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1; }

/// Sixteen pixels, or the first `count` of them.
template <int kChannels>
inline __m512i load(const std::uint8_t* pixels, std::size_t count = 16) {
    return _mm512_maskz_loadu_epi8(first_bytes(count * kChannels), pixels);
}

/// Where the samples of one channel are among sixteen pixels.
template <int kChannels>
inline __m512i order_of(int channel) {
    alignas(64) std::uint8_t order[64] = {};
    for (int i = 0; i < 16; ++i) order[i] = static_cast<std::uint8_t>(i * kChannels + channel);
    return _mm512_load_si512(order);
}

inline __m128i pick(__m512i pixels, __m512i order) {
    return _mm512_castsi512_si128(_mm512_permutexvar_epi8(order, pixels));
}

/// The function of sixteen samples side by side, which may belong to different channels.
struct Function {
    __m512 center;
    __m512 high;
    __m512 low;
    __m512 offset;

    /// Lane i belongs to channel (first + i) % channels.
    Function(const Affine* affine, std::size_t first, std::size_t channels) {
        alignas(64) float parts[4][16];
        for (std::size_t i = 0; i < 16; ++i) {
            const Affine& f = affine[(first + i) % channels];
            parts[0][i] = f.high;
            parts[1][i] = f.low;
            parts[2][i] = f.offset;
            parts[3][i] = f.center;
        }
        high = _mm512_load_ps(parts[0]);
        low = _mm512_load_ps(parts[1]);
        offset = _mm512_load_ps(parts[2]);
        center = _mm512_load_ps(parts[3]);
    }

    [[nodiscard]] inline __m512 of(__m128i bytes) const {
        const __m512 d = _mm512_sub_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)), center);
        return _mm512_fmadd_ps(d, high, _mm512_fmadd_ps(d, low, offset));
    }
};

inline void store(float* out, __mmask16 lanes, __m512 values) { _mm512_mask_storeu_ps(out, lanes, values); }
inline void store(std::uint16_t* out, __mmask16 lanes, __m512 values) {
    _mm256_mask_storeu_epi16(out, lanes, _mm512_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/// Calls `take(channel, x, lanes, samples)` for the samples of every channel, sixteen or fewer at a time.
template <int kChannels, typename Take>
inline void visit_planes(const std::uint8_t* row, std::size_t pixels, Take take) {
    __m512i orders[kChannels];
    for (int c = 0; c < kChannels; ++c) orders[c] = order_of<kChannels>(c);
    std::size_t x = 0;
    for (; x + 16 <= pixels; x += 16) {
        const __m512i loaded = load<kChannels>(row + x * kChannels);
        for (int c = 0; c < kChannels; ++c) take(c, x, __mmask16{0xffff}, pick(loaded, orders[c]));
    }
    if (x == pixels) return;
    const __m512i loaded = load<kChannels>(row + x * kChannels, pixels - x);
    for (int c = 0; c < kChannels; ++c) take(c, x, first_lanes(pixels - x), pick(loaded, orders[c]));
}

template <int kChannels, typename Out>
void to_planes(const std::uint8_t* row, std::size_t pixels, const FloatTable& table, Out* out, std::size_t plane) {
    const Function functions[4] = {
        {table.affine, 0, 1}, {table.affine + 1, 0, 1}, {table.affine + 2, 0, 1}, {table.affine + 3, 0, 1}};
    visit_planes<kChannels>(row, pixels, [&](int c, std::size_t x, __mmask16 lanes, __m128i samples) {
        store(out + static_cast<std::size_t>(c) * plane + x, lanes, functions[c].of(samples));
    });
}

/// Channels stay side by side: vectors of `kChannels` kinds take turns.
template <int kChannels, typename Out>
void to_pixels(const std::uint8_t* row, std::size_t pixels, const FloatTable& table, Out* out) {
    const Function functions[4] = {{table.affine, 0, kChannels},
                                   {table.affine, 16, kChannels},
                                   {table.affine, 32, kChannels},
                                   {table.affine, 48, kChannels}};
    const std::size_t samples = pixels * kChannels;
    for (std::size_t begin = 0; begin < samples; begin += 16 * kChannels) {
        for (int v = 0; v < kChannels; ++v) {
            const std::size_t at = begin + static_cast<std::size_t>(v) * 16;
            if (at >= samples) break;
            const __mmask16 lanes = first_lanes(samples - at);
            store(out + at, lanes, functions[v].of(_mm_maskz_loadu_epi8(lanes, row + at)));
        }
    }
}

template <int kChannels, typename Out>
void convert(const std::uint8_t* row, std::size_t pixels, const FloatTable& table, Out* out, std::size_t plane) {
    if (plane == 0) return to_pixels<kChannels>(row, pixels, table, out);
    to_planes<kChannels>(row, pixels, table, out, plane);
}

template <typename Out>
void convert_row(const std::uint8_t* row, std::size_t pixels, std::size_t channels, const FloatTable& table, Out* out,
                 std::size_t plane) {
    switch (channels) {
        case 1: return convert<1>(row, pixels, table, out, plane);
        case 2: return convert<2>(row, pixels, table, out, plane);
        case 3: return convert<3>(row, pixels, table, out, plane);
        default: return convert<4>(row, pixels, table, out, plane);
    }
}

template <int kChannels>
void split_pixels(const std::uint8_t* row, std::size_t pixels, std::uint8_t* out, std::size_t plane) {
    visit_planes<kChannels>(row, pixels, [&](int c, std::size_t x, __mmask16 lanes, __m128i samples) {
        _mm_mask_storeu_epi8(out + static_cast<std::size_t>(c) * plane + x, lanes, samples);
    });
}

void split(const std::uint8_t* row, std::size_t pixels, std::size_t channels, std::uint8_t* out, std::size_t plane) {
    switch (channels) {
        case 1: return split_pixels<1>(row, pixels, out, plane);
        case 2: return split_pixels<2>(row, pixels, out, plane);
        case 3: return split_pixels<3>(row, pixels, out, plane);
        default: return split_pixels<4>(row, pixels, out, plane);
    }
}

}  // namespace

const FinishKernels kFinishAvx512{split, convert_row<float>, convert_row<std::uint16_t>};

}  // namespace penstock

#endif
