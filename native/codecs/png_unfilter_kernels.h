// PNG un-filtering on x86-64 vectors, written once for every instruction set. Included by the files named
// `png_unfilter_<path>.cpp` and by nothing else; each brings a vocabulary `Path`:
//
//   Path::Wide         a vector of 16 or 32 bytes with the operations that `predict` uses
//   Path::select(mask, yes, no)    per byte, on 128 bits
//   Path::kShuffles                whether bytes can be put in any order
//   Path::repeat_pixel<D>(v)       the last of four (D 3 or 4), eight (2) or sixteen (1) pixels, repeated; 3 only with
//   kShuffles
//
// Everything has internal linkage: the same template compiled for two instruction sets must not meet in the linker.
#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codecs/png_unfilter.h"

namespace penstock::png {

namespace {

using Byte = std::uint8_t;

constexpr std::size_t kLaneBytes = 16;
// Bytes of a row handled at a time where the row above is needed: a multiple of every distance, small enough that the
// working arrays stay in the first-level cache, and long enough that what is stored has left the store buffer when
// it is read back at other boundaries.
constexpr std::size_t kChunkBytes = 960;
constexpr std::size_t kPadding = 32;

inline __m128i load_lane(const Byte* bytes) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)); }

/// Writes one pixel; for distances 3 and 6 also the start of the next one, which must belong to the row.
template <std::size_t kDistance>
inline void store_pixel(Byte* target, __m128i pixel) {
    if constexpr (kDistance <= 4) {
        const int value = _mm_cvtsi128_si32(pixel);
        std::memcpy(target, &value, kDistance == 3 ? 4 : kDistance);
    } else {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(target), pixel);
    }
}

/// Goes through the pixels of [0, size): each follows from its left neighbour by `step(left, offset)` and is stored
/// with the bits of `flip` turned. `more_follows` says whether the row goes on behind them. Gives back the last pixel.
template <std::size_t kDistance, class Step>
inline __m128i walk_pixels(Byte* target, std::size_t size, bool more_follows, __m128i left, __m128i flip, Step step) {
    std::size_t i = 0;
    const std::size_t whole = more_follows ? size : size - kDistance;
    for (; i < whole; i += kDistance) {
        left = step(left, i);
        store_pixel<kDistance>(target + i, _mm_xor_si128(left, flip));
    }
    if (more_follows) return left;
    Byte last[kLaneBytes];
    left = step(left, i);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(last), _mm_xor_si128(left, flip));
    std::memcpy(target + i, last, kDistance);
    return left;
}

/// Calls `chunk(offset, size, above)` along a row from its second pixel on; `above` may be read from -kDistance to size
/// + kPadding, which the real row above may not.
template <std::size_t kDistance, class Chunk>
inline void for_chunks(const Byte* above, std::size_t size, Chunk chunk) {
    std::size_t done = kDistance;
    for (; size - done > kChunkBytes + kPadding; done += kChunkBytes) chunk(done, kChunkBytes, above + done);
    if (done == size) return;
    Byte rest[kDistance + kChunkBytes + 2 * kPadding];
    std::memcpy(rest, above + done - kDistance, size - done + kDistance);
    if (size - done > kChunkBytes) {
        chunk(done, kChunkBytes, rest + kDistance);
        done += kChunkBytes;
        std::memmove(rest, rest + kChunkBytes, size - done + kDistance);
    }
    chunk(done, size - done, rest + kDistance);
}

// Written out: left to itself the compiler takes 64-byte vectors where it may, and the clock of some processors drops
// for a while after each of them; whole decodes were 15 % slower on Ice Lake.
template <class Path>
inline void unfilter_up(const Byte* source, const Byte* above, Byte* target, std::size_t size) {
    using Wide = typename Path::Wide;
    std::size_t i = 0;
    for (; i + Wide::kBytes <= size; i += Wide::kBytes) {
        Wide::add(Wide::load(source + i), Wide::load(above + i)).store(target + i);
    }
    for (; i < size; ++i) target[i] = static_cast<Byte>(source[i] + above[i]);
}

/// True if Sub is undone one vector at a time: for distances that fill vectors evenly, and for 3 if bytes can be
/// shuffled.
template <class Path, std::size_t kDistance>
constexpr bool kSumsVectors = kDistance <= 2 || kDistance == 4 || (kDistance == 3 && Path::kShuffles);

/// Sums each pixel of a vector with those before it, in steps of doubling length.
template <std::size_t kDistance>
inline __m128i running_sum(__m128i v) {
    v = _mm_add_epi8(v, _mm_slli_si128(v, kDistance));
    v = _mm_add_epi8(v, _mm_slli_si128(v, 2 * kDistance));
    if constexpr (kDistance <= 2) v = _mm_add_epi8(v, _mm_slli_si128(v, 4 * kDistance));
    if constexpr (kDistance == 1) v = _mm_add_epi8(v, _mm_slli_si128(v, 8));
    return v;
}

template <class Path, std::size_t kDistance>
inline void unfilter_sub(const Byte* source, const Byte*, Byte* target, std::size_t size) {
    const __m128i zero = _mm_setzero_si128();
    __m128i last = zero;
    std::size_t i = 0;
    if constexpr (kSumsVectors<Path, kDistance>) {
        constexpr std::size_t kStep = kLaneBytes / (4 * kDistance) * (4 * kDistance);
        for (; i + kLaneBytes < size; i += kStep) {
            const __m128i sum = _mm_add_epi8(running_sum<kDistance>(load_lane(source + i)), last);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i), sum);
            last = Path::template repeat_pixel<kDistance>(sum);
        }
    }
    walk_pixels<kDistance>(target + i, size - i, false, last, zero, [&](__m128i left, std::size_t at) {
        return _mm_add_epi8(left, load_lane(source + i + at));
    });
}

/// Works on complements: ~floor((a + b) / 2) is the processor's rounding-up average of ~a and ~b, so that the chain
/// from pixel to pixel is one average and one subtraction.
template <class Path, std::size_t kDistance>
inline void unfilter_average(const Byte* source, const Byte* above, Byte* target, std::size_t size) {
    const __m128i ones = _mm_set1_epi8(-1);
    for (std::size_t i = 0; i < kDistance; ++i) target[i] = static_cast<Byte>(source[i] + above[i] / 2);
    Byte first[kLaneBytes] = {};
    std::memcpy(first, target, kDistance);
    __m128i left = _mm_xor_si128(load_lane(first), ones);
    for_chunks<kDistance>(above, size, [&](std::size_t begin, std::size_t length, const Byte* up) {
        const Byte* from = source + begin;
        const auto step = [&](__m128i from_left, std::size_t i) {
            const __m128i average = _mm_avg_epu8(from_left, _mm_xor_si128(load_lane(up + i), ones));
            return _mm_sub_epi8(average, load_lane(from + i));
        };
        left = walk_pixels<kDistance>(target + begin, length, begin + length < size, left, ones, step);
    });
}

/// Values that determine the Paeth predictor of each byte once `left` is known; all follow from the row above.
///
/// With b = up and c = up_left, the predictor is a function of a = left with at most four pieces. For b >= c, d = b -
/// c:
///
///     a < c - 2d + 1      a         c - 2d + 1 <= a < c - d/2    c
///     c - d/2 <= a <= b   b         b < a                        a
///
/// and mirrored for b < c. So: outside [low, low + span] it is a, inside it is `above_middle` where a > middle and
/// `below_middle` elsewhere. The last two already hold the filtered byte added. Bytes that meet signed comparisons are
/// kept with their top bit flipped ("biased").
struct PaethPieces {
    alignas(64) Byte low[kChunkBytes + kPadding];
    alignas(64) Byte span[kChunkBytes + kPadding];          // biased
    alignas(64) Byte middle[kChunkBytes + kPadding];        // biased
    alignas(64) Byte above_middle[kChunkBytes + kPadding];  // biased
    alignas(64) Byte below_middle[kChunkBytes + kPadding];  // biased
};

template <class V>
inline void predict(const Byte* source, const Byte* up, const Byte* up_left, std::size_t size, PaethPieces& pieces) {
    const V bias = V::all(0x80);
    const V one = V::all(1);
    for (std::size_t i = 0; i < size; i += V::kBytes) {
        const V x = V::load(source + i) ^ bias;
        const V b = V::load(up + i);
        const V c = V::load(up_left + i);
        const V rising = V::equal(V::max(b, c), b);
        const V distance = V::subtract_clamped(b, c) | V::subtract_clamped(c, b);
        const V half = distance.half();
        const V reach = V::subtract_clamped(V::add_clamped(distance, distance), one);

        const V low = V::select(rising, V::subtract_clamped(c, reach), b);
        const V high = V::select(rising, b, V::add_clamped(c, reach));
        const V falling_middle = V::add_clamped(c, half);
        const V rising_middle = V::subtract_clamped(c, half);
        // a >= rising_middle is asked as a > rising_middle - 1; where that would be -1 both answers are b.
        const V middle = V::select(rising, V::subtract_clamped(rising_middle, one), falling_middle);
        const V c_below = V::and_not(V::equal(rising_middle, V::all(0)), rising);

        low.store(pieces.low + i);
        (V::subtract(high, low) ^ bias).store(pieces.span + i);
        (middle ^ bias).store(pieces.middle + i);
        V::add(x, V::select(rising, b, c)).store(pieces.above_middle + i);
        V::add(x, V::select(c_below, c, b)).store(pieces.below_middle + i);
    }
}

template <class Path, std::size_t kDistance>
inline void unfilter_paeth(const Byte* source, const Byte* above, Byte* target, std::size_t size) {
    const __m128i bias = _mm_set1_epi8(-128);
    // With nothing to the left the predictor is the byte above.
    for (std::size_t i = 0; i < kDistance; ++i) target[i] = static_cast<Byte>(source[i] + above[i]);
    Byte first[kLaneBytes] = {};
    std::memcpy(first, target, kDistance);
    __m128i left = _mm_xor_si128(load_lane(first), bias);
    PaethPieces pieces;
    for_chunks<kDistance>(above, size, [&](std::size_t begin, std::size_t length, const Byte* up) {
        const Byte* from = source + begin;
        predict<typename Path::Wide>(from, up, up - kDistance, length, pieces);
        const auto step = [&](__m128i from_left, std::size_t i) {
            const __m128i from_low = _mm_sub_epi8(from_left, load_lane(pieces.low + i));
            const __m128i outside = _mm_cmpgt_epi8(from_low, load_lane(pieces.span + i));
            const __m128i above_middle = _mm_cmpgt_epi8(from_left, load_lane(pieces.middle + i));
            const __m128i inside =
                Path::select(above_middle, load_lane(pieces.above_middle + i), load_lane(pieces.below_middle + i));
            return Path::select(outside, _mm_add_epi8(from_left, load_lane(from + i)), inside);
        };
        left = walk_pixels<kDistance>(target + begin, length, begin + length < size, left, bias, step);
    });
}

template <class Path, std::size_t kDistance>
constexpr Unfilter vector_kernels() {
    return {&unfilter_sub<Path, kDistance>, &unfilter_up<Path>, &unfilter_average<Path, kDistance>,
            &unfilter_paeth<Path, kDistance>};
}

template <class Path>
inline Unfilter vector_kernels_for(std::size_t distance) {
    switch (distance) {
        case 1: return vector_kernels<Path, 1>();
        case 2: return vector_kernels<Path, 2>();
        case 3: return vector_kernels<Path, 3>();
        case 4: return vector_kernels<Path, 4>();
        case 6: return vector_kernels<Path, 6>();
        default: return vector_kernels<Path, 8>();
    }
}

}  // namespace

}  // namespace penstock::png
