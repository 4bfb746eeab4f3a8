// Changes of colour in vectors of avx2.
#include "pixels/color_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "pixels/color_rows.h"

namespace penstock {

namespace {

/// Where each of sixteen bytes is in a vector; 0x80: nowhere.
struct Order {
    alignas(16) std::uint8_t places[16];

    [[nodiscard]] __m128i vector() const { return _mm_load_si128(reinterpret_cast<const __m128i*>(places)); }
};

/// Of the 48 bytes of sixteen pixels: those of channel `c` in vector `v`, in their places among the sixteen.
constexpr Order taken(int c, int v) {
    Order order{};
    for (int i = 0; i < 16; ++i) {
        const int at = 3 * i + c - 16 * v;
        order.places[i] = static_cast<std::uint8_t>(at >= 0 && at < 16 ? at : 0x80);
    }
    return order;
}

/// The other way round.
constexpr Order put(int c, int v) {
    Order order{};
    for (int i = 0; i < 16; ++i) {
        const int at = 16 * v + i;
        order.places[i] = static_cast<std::uint8_t>(at % 3 == c ? at / 3 : 0x80);
    }
    return order;
}

constexpr Order kTaken[3][3] = {{taken(0, 0), taken(0, 1), taken(0, 2)},
                                {taken(1, 0), taken(1, 1), taken(1, 2)},
                                {taken(2, 0), taken(2, 1), taken(2, 2)}};
constexpr Order kPut[3][3] = {
    {put(0, 0), put(0, 1), put(0, 2)}, {put(1, 0), put(1, 1), put(1, 2)}, {put(2, 0), put(2, 1), put(2, 2)}};

struct VectorMover {
    template <std::size_t kChannels>
    static inline void load(const std::uint8_t* pixels, std::size_t count, Planes& planes) {
        if (kChannels != 3 || count != kChunk) return PlainMover::load<kChannels>(pixels, count, planes);
        std::uint8_t* const outs[3] = {planes.red, planes.green, planes.blue};
        for (std::size_t x = 0; x < kChunk; x += 16) {
            const auto* in = reinterpret_cast<const __m128i*>(pixels + 3 * x);
            const __m128i parts[3] = {_mm_loadu_si128(in), _mm_loadu_si128(in + 1), _mm_loadu_si128(in + 2)};
            for (int c = 0; c < 3; ++c) {
                __m128i plane = _mm_shuffle_epi8(parts[0], kTaken[c][0].vector());
                plane = _mm_or_si128(plane, _mm_shuffle_epi8(parts[1], kTaken[c][1].vector()));
                plane = _mm_or_si128(plane, _mm_shuffle_epi8(parts[2], kTaken[c][2].vector()));
                _mm_store_si128(reinterpret_cast<__m128i*>(outs[c] + x), plane);
            }
        }
    }
    template <std::size_t kChannels>
    static inline void store(const Planes& planes, std::size_t count, std::uint8_t* pixels) {
        if (kChannels != 3 || count != kChunk) return PlainMover::store<kChannels>(planes, count, pixels);
        const std::uint8_t* const ins[3] = {planes.red, planes.green, planes.blue};
        for (std::size_t x = 0; x < kChunk; x += 16) {
            for (int v = 0; v < 3; ++v) {
                __m128i part = _mm_setzero_si128();
                for (int c = 0; c < 3; ++c) {
                    const __m128i plane = _mm_load_si128(reinterpret_cast<const __m128i*>(ins[c] + x));
                    part = _mm_or_si128(part, _mm_shuffle_epi8(plane, kPut[c][v].vector()));
                }
                _mm_storeu_si128(reinterpret_cast<__m128i*>(pixels + 3 * x) + v, part);
            }
        }
    }
};

}  // namespace

const ColorKernels kColorAvx2 = kKernels<VectorMover>;

}  // namespace penstock

#endif
