// Planes, floats and half floats, eight pixels at a time.
#include "pixels/finish_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace penstock {

namespace {

/// Finds the samples of one channel among eight pixels: the two halves of what `load` reads, put in order and joined.
template <int kChannels>
struct Picker {
    __m128i from_first;
    __m128i from_second;

    explicit Picker(int channel) {
        alignas(16) std::int8_t first[16];
        alignas(16) std::int8_t second[16];
        constexpr int second_begin = kChannels > 2 ? kChannels * 8 - 16 : 0;
        for (int i = 0; i < 16; ++i) {
            const int byte = i < 8 ? i * kChannels + channel : 255;
            first[i] = static_cast<std::int8_t>(byte < 16 ? byte : -1);
            second[i] = static_cast<std::int8_t>(byte >= 16 && byte < 32 ? byte - second_begin : -1);
        }
        from_first = _mm_load_si128(reinterpret_cast<const __m128i*>(first));
        from_second = _mm_load_si128(reinterpret_cast<const __m128i*>(second));
    }

    /// Eight samples in the lower half.
    [[nodiscard]] inline __m128i pick(const std::uint8_t* pixels) const {
        if constexpr (kChannels == 1) return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(pixels));
        const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels));
        if constexpr (kChannels == 2) return _mm_shuffle_epi8(first, from_first);
        const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels + kChannels * 8 - 16));
        return _mm_or_si128(_mm_shuffle_epi8(first, from_first), _mm_shuffle_epi8(second, from_second));
    }
};

/// The function of eight samples side by side, which may belong to different channels.
struct Function {
    __m256 center;
    __m256 high;
    __m256 low;
    __m256 offset;

    /// Lane i belongs to channel (first + i) % channels.
    Function(const Affine* affine, std::size_t first, std::size_t channels) {
        alignas(32) float parts[4][8];
        for (std::size_t i = 0; i < 8; ++i) {
            const Affine& f = affine[(first + i) % channels];
            parts[0][i] = f.high;
            parts[1][i] = f.low;
            parts[2][i] = f.offset;
            parts[3][i] = f.center;
        }
        high = _mm256_load_ps(parts[0]);
        low = _mm256_load_ps(parts[1]);
        offset = _mm256_load_ps(parts[2]);
        center = _mm256_load_ps(parts[3]);
    }

    [[nodiscard]] inline __m256 of(__m128i bytes) const {
        const __m256 d = _mm256_sub_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)), center);
        return _mm256_fmadd_ps(d, high, _mm256_fmadd_ps(d, low, offset));
    }
};

inline void store(float* out, __m256 values) { _mm256_storeu_ps(out, values); }
inline void store(std::uint16_t* out, __m256 values) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
}
inline void store_one(float* out, float value) { *out = value; }
inline void store_one(std::uint16_t* out, float value) { *out = to_half(value); }

template <int kChannels, typename Out>
void to_planes(const std::uint8_t* row, std::size_t pixels, const FloatTable& table, Out* out, std::size_t plane) {
    for (int c = 0; c < kChannels; ++c, out += plane) {
        const Picker<kChannels> picker(c);
        const Function function(table.affine + c, 0, 1);
        std::size_t x = 0;
        for (; x + 8 <= pixels; x += 8) store(out + x, function.of(picker.pick(row + x * kChannels)));
        for (; x < pixels; ++x) store_one(out + x, table.values[c * 256 + row[x * kChannels + c]]);
    }
}

/// Channels stay side by side: vectors of `kChannels` kinds take turns.
template <int kChannels, typename Out>
void to_pixels(const std::uint8_t* row, std::size_t pixels, const FloatTable& table, Out* out) {
    const Function functions[4] = {{table.affine, 0, kChannels},
                                   {table.affine, 8, kChannels},
                                   {table.affine, 16, kChannels},
                                   {table.affine, 24, kChannels}};
    std::size_t x = 0;
    for (; x + 8 <= pixels; x += 8) {
        for (int v = 0; v < kChannels; ++v) {
            const std::size_t at = x * kChannels + static_cast<std::size_t>(v) * 8;
            store(out + at, functions[v].of(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + at))));
        }
    }
    for (; x < pixels; ++x) {
        for (std::size_t c = 0; c < kChannels; ++c) {
            store_one(out + x * kChannels + c, table.values[c * 256 + row[x * kChannels + c]]);
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
        std::size_t x = 0;
        for (; x + 8 <= pixels; x += 8) {
            _mm_storel_epi64(reinterpret_cast<__m128i*>(out + x), picker.pick(row + x * kChannels));
        }
        for (; x < pixels; ++x) out[x] = row[x * kChannels + c];
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

const FinishKernels kFinishAvx2{split, convert_row<float>, convert_row<std::uint16_t>};

}  // namespace penstock

#endif
