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

/// Finds the samples of one channel among sixteen pixels.
template <int kChannels>
struct Picker {
    __m512i order;

    explicit Picker(int channel) {
        alignas(64) std::uint8_t bytes[64] = {};
        for (int i = 0; i < 16; ++i) bytes[i] = static_cast<std::uint8_t>(i * kChannels + channel);
        order = _mm512_load_si512(bytes);
    }
    /// Of the first `count` pixels.
    [[nodiscard]] inline __m128i pick(const std::uint8_t* pixels, std::size_t count) const {
        const std::size_t bytes = (count < 16 ? count : 16) * kChannels;
        const __m512i loaded = _mm512_maskz_loadu_epi8(first_bytes(bytes), pixels);
        return _mm512_castsi512_si128(_mm512_permutexvar_epi8(order, loaded));
    }
};

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

template <int kChannels, typename Out>
void to_planes(const std::uint8_t* row, std::size_t pixels, const FloatTable& table, Out* out, std::size_t plane) {
    for (int c = 0; c < kChannels; ++c, out += plane) {
        const Picker<kChannels> picker(c);
        const Function function(table.affine + c, 0, 1);
        for (std::size_t x = 0; x < pixels; x += 16) {
            const __m128i bytes = picker.pick(row + x * kChannels, pixels - x);
            store(out + x, first_lanes(pixels - x), function.of(bytes));
        }
    }
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
    for (int c = 0; c < kChannels; ++c, out += plane) {
        const Picker<kChannels> picker(c);
        for (std::size_t x = 0; x < pixels; x += 16) {
            _mm_mask_storeu_epi8(out + x, first_lanes(pixels - x), picker.pick(row + x * kChannels, pixels - x));
        }
    }
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
