// Warped rows, written once for every instruction set: loops over a few pixels at a time, without branches, that the
// compiler turns into vectors of the set at hand. Only the loads are single: gathers are slow on many processors.
// Included by `warp_<path>.cpp` and by nothing else. Everything has internal linkage (see png_unfilter_kernels.h).
//
// All is computed in double and truncated, as in Pillow, so that its pixels come out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "pixels/warp_kernels.h"

namespace penstock {

namespace {

constexpr std::size_t kChunk = 32;

/// Input positions of a chunk of pixels: the pixel at or before each, and how far behind it.
struct Positions {
    std::int32_t x[kChunk];
    std::int32_t y[kChunk];
    double dx[kChunk];
    double dy[kChunk];
};

/// Positions behind the end of a run are computed too, and not used.
inline void locate(const WarpRun& run, std::uint32_t begin, Positions& at) {
    const double* m = run.map;
    const double yin = run.y + 0.5;
    const double first = begin + 0.5;
    double u[kChunk];
    double v[kChunk];
    for (std::size_t i = 0; i < kChunk; ++i) {
        const double xin = first + static_cast<double>(static_cast<std::int32_t>(i));
        u[i] = m[0] * xin + m[1] * yin + m[2];
        v[i] = m[3] * xin + m[4] * yin + m[5];
    }
    if (run.perspective) {
        for (std::size_t i = 0; i < kChunk; ++i) {
            const double w = m[6] * (first + static_cast<double>(static_cast<std::int32_t>(i))) + m[7] * yin + 1;
            u[i] /= w;
            v[i] /= w;
        }
    }
    for (std::size_t i = 0; i < kChunk; ++i) {
        // Of a run all positions are at least 0.5; beyond its end they are kept from becoming no integer.
        const double x = u[i] - 0.5;
        const double y = v[i] - 0.5;
        at.x[i] = static_cast<std::int32_t>(x < 1e9 && x > 0.0 ? x : 0.0);
        at.y[i] = static_cast<std::int32_t>(y < 1e9 && y > 0.0 ? y : 0.0);
        at.dx[i] = x - at.x[i];
        at.dy[i] = y - at.y[i];
    }
}

inline std::uint64_t eight_bytes(const std::uint8_t* from) {
    std::uint64_t bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    return bytes;
}

inline std::int32_t sample_of(std::uint64_t bytes, std::size_t place) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(bytes >> (8 * place)) & 255u);
}

/// Pixels of up to four samples, one behind the other. Each is stored as four bytes that the next one overwrites.
template <std::size_t kChannels>
inline void store_pixels(const std::uint32_t* pixels, std::size_t count, std::uint8_t* out) {
    for (std::size_t i = 0; i + 1 < count; ++i) {
        if constexpr (kChannels == 1) {
            out[i] = static_cast<std::uint8_t>(pixels[i]);
        } else if constexpr (kChannels == 2) {
            std::memcpy(out + i * 2, pixels + i, 2);
        } else if (kChannels == 4 || i + 2 < count) {
            std::memcpy(out + i * kChannels, pixels + i, 4);
        } else {
            std::memcpy(out + i * kChannels, pixels + i, kChannels);
        }
    }
    std::memcpy(out + (count - 1) * kChannels, pixels + count - 1, kChannels);
}

template <std::size_t kChannels>
void bilinear(const WarpRun& run) {
    Positions at;
    std::uint64_t upper[kChunk] = {};
    std::uint64_t lower[kChunk] = {};
    std::uint32_t pixels[kChunk];
    std::uint8_t* out = run.out;
    for (std::uint32_t begin = run.begin; begin < run.end; begin += kChunk) {
        const std::size_t count = run.end - begin < kChunk ? run.end - begin : kChunk;
        locate(run, begin, at);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint8_t* from = run.input + static_cast<std::size_t>(at.y[i]) * run.row_stride +
                                       static_cast<std::size_t>(at.x[i]) * kChannels;
            upper[i] = eight_bytes(from);
            lower[i] = eight_bytes(from + run.row_stride);
        }
        for (std::size_t i = 0; i < kChunk; ++i) pixels[i] = 0;
        for (std::size_t c = 0; c < kChannels; ++c) {
            for (std::size_t i = 0; i < kChunk; ++i) {
                const std::int32_t a = sample_of(upper[i], c);
                const std::int32_t b = sample_of(upper[i], kChannels + c);
                const std::int32_t e = sample_of(lower[i], c);
                const std::int32_t f = sample_of(lower[i], kChannels + c);
                const double above = a + (b - a) * at.dx[i];
                const double below = e + (f - e) * at.dx[i];
                const double value = above + (below - above) * at.dy[i];
                pixels[i] |= static_cast<std::uint32_t>(static_cast<std::int32_t>(value)) << (8 * c);
            }
        }
        store_pixels<kChannels>(pixels, count, out);
        out += count * kChannels;
    }
}

/// Pillow's cubic through four values, with the slopes of a = -1.
inline double cubic(double a, double b, double c, double d, double t) {
    const double p2 = -a + c;
    const double p3 = 2 * (a - b) + c - d;
    const double p4 = -a + b - c + d;
    return b + t * (p2 + t * (p3 + t * p4));
}

/// The same for four samples, whose differences are exact in integers.
inline double cubic_of_samples(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d, double t) {
    const double p2 = c - a;
    const double p3 = 2 * (a - b) + c - d;
    const double p4 = b - a - c + d;
    return b + t * (p2 + t * (p3 + t * p4));
}

template <std::size_t kChannels>
void bicubic(const WarpRun& run) {
    Positions at;
    std::uint64_t left[4][kChunk] = {};
    std::uint64_t right[4][kChunk] = {};
    std::uint32_t pixels[kChunk];
    std::uint8_t* out = run.out;
    for (std::uint32_t begin = run.begin; begin < run.end; begin += kChunk) {
        const std::size_t count = run.end - begin < kChunk ? run.end - begin : kChunk;
        locate(run, begin, at);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint8_t* from = run.input + static_cast<std::size_t>(at.y[i] - 1) * run.row_stride +
                                       static_cast<std::size_t>(at.x[i] - 1) * kChannels;
            for (std::size_t row = 0; row < 4; ++row) {
                left[row][i] = eight_bytes(from + row * run.row_stride);
                right[row][i] = eight_bytes(from + row * run.row_stride + 2 * kChannels);
            }
        }
        for (std::size_t i = 0; i < kChunk; ++i) pixels[i] = 0;
        for (std::size_t c = 0; c < kChannels; ++c) {
            double rows[4][kChunk];
            for (std::size_t row = 0; row < 4; ++row) {
                for (std::size_t i = 0; i < kChunk; ++i) {
                    rows[row][i] = cubic_of_samples(sample_of(left[row][i], c), sample_of(left[row][i], kChannels + c),
                                                    sample_of(right[row][i], c),
                                                    sample_of(right[row][i], kChannels + c), at.dx[i]);
                }
            }
            for (std::size_t i = 0; i < kChunk; ++i) {
                const double value = cubic(rows[0][i], rows[1][i], rows[2][i], rows[3][i], at.dy[i]);
                const double above = value > 0.0 ? value : 0.0;
                const double clipped = above < 255.0 ? above : 255.0;
                pixels[i] |= static_cast<std::uint32_t>(static_cast<std::int32_t>(clipped)) << (8 * c);
            }
        }
        store_pixels<kChannels>(pixels, count, out);
        out += count * kChannels;
    }
}

template <std::size_t kChannels>
void nearest(const NearestRun& run) {
    std::uint64_t places[kChunk];
    std::uint32_t pixels[kChunk];
    std::uint8_t* out = run.out;
    const auto stride = static_cast<std::uint32_t>(run.row_stride);
    for (std::uint32_t begin = 0; begin < run.count; begin += kChunk) {
        const std::size_t count = run.count - begin < kChunk ? run.count - begin : kChunk;
        const std::uint32_t x = static_cast<std::uint32_t>(run.x) + begin * static_cast<std::uint32_t>(run.step_x);
        const std::uint32_t y = static_cast<std::uint32_t>(run.y) + begin * static_cast<std::uint32_t>(run.step_y);
        for (std::uint32_t i = 0; i < kChunk; ++i) {
            const std::uint32_t column = (x + i * static_cast<std::uint32_t>(run.step_x)) >> 16;
            const std::uint32_t row = (y + i * static_cast<std::uint32_t>(run.step_y)) >> 16;
            places[i] = std::uint64_t{row} * stride + std::uint64_t{column * static_cast<std::uint32_t>(kChannels)};
        }
        for (std::size_t i = 0; i < count; ++i) std::memcpy(pixels + i, run.input + places[i], 4);
        store_pixels<kChannels>(pixels, count, out);
        out += count * kChannels;
    }
}

constexpr WarpKernels kKernels{
    {bilinear<1>, bilinear<2>, bilinear<3>, bilinear<4>},
    {bicubic<1>, bicubic<2>, bicubic<3>, bicubic<4>},
    {nearest<1>, nearest<2>, nearest<3>, nearest<4>},
};

}  // namespace

}  // namespace penstock
