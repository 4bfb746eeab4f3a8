// Changes of colour in vectors of avx512.
#include "pixels/color_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "pixels/color_rows.h"

namespace penstock {

namespace {

/// Where each of 64 bytes is among two vectors.
struct Order {
    alignas(64) std::uint8_t places[64];

    [[nodiscard]] __m512i vector() const { return _mm512_load_si512(places); }
};

/// Of the 192 bytes of 64 pixels: those of channel `c` in the first two vectors; elsewhere 0.
constexpr Order taken_from_two(int c) {
    Order order{};
    for (int i = 0; i < 64; ++i) order.places[i] = static_cast<std::uint8_t>(3 * i + c < 128 ? 3 * i + c : 0);
    return order;
}

/// What those two gave stays in its place; the others come from the third vector.
constexpr Order taken_from_third(int c) {
    Order order{};
    for (int i = 0; i < 64; ++i) {
        order.places[i] = static_cast<std::uint8_t>(3 * i + c < 128 ? i : 64 + 3 * i + c - 128);
    }
    return order;
}

/// Of vector `v` of the 192 bytes: red and green in their places; blue is any.
constexpr Order put_two(int v) {
    Order order{};
    for (int i = 0; i < 64; ++i) {
        const int at = 64 * v + i;
        order.places[i] = static_cast<std::uint8_t>(at % 3 == 0 ? at / 3 : at % 3 == 1 ? 64 + at / 3 : 0);
    }
    return order;
}

constexpr Order put_third(int v) {
    Order order{};
    for (int i = 0; i < 64; ++i) {
        const int at = 64 * v + i;
        order.places[i] = static_cast<std::uint8_t>(at % 3 == 2 ? 64 + at / 3 : i);
    }
    return order;
}

constexpr Order kFromTwo[3] = {taken_from_two(0), taken_from_two(1), taken_from_two(2)};
constexpr Order kFromThird[3] = {taken_from_third(0), taken_from_third(1), taken_from_third(2)};
constexpr Order kPutTwo[3] = {put_two(0), put_two(1), put_two(2)};
constexpr Order kPutThird[3] = {put_third(0), put_third(1), put_third(2)};

struct VectorMover {
    template <std::size_t kChannels>
    static inline void load(const std::uint8_t* pixels, std::size_t count, Planes& planes) {
        if (kChannels != 3 || count != kChunk) return PlainMover::load<kChannels>(pixels, count, planes);
        const __m512i first = _mm512_loadu_si512(pixels);
        const __m512i second = _mm512_loadu_si512(pixels + 64);
        const __m512i third = _mm512_loadu_si512(pixels + 128);
        std::uint8_t* const outs[3] = {planes.red, planes.green, planes.blue};
        for (int c = 0; c < 3; ++c) {
            const __m512i two = _mm512_permutex2var_epi8(first, kFromTwo[c].vector(), second);
            _mm512_store_si512(outs[c], _mm512_permutex2var_epi8(two, kFromThird[c].vector(), third));
        }
    }
    template <std::size_t kChannels>
    static inline void store(const Planes& planes, std::size_t count, std::uint8_t* pixels) {
        if (kChannels != 3 || count != kChunk) return PlainMover::store<kChannels>(planes, count, pixels);
        const __m512i red = _mm512_load_si512(planes.red);
        const __m512i green = _mm512_load_si512(planes.green);
        const __m512i blue = _mm512_load_si512(planes.blue);
        for (int v = 0; v < 3; ++v) {
            const __m512i two = _mm512_permutex2var_epi8(red, kPutTwo[v].vector(), green);
            _mm512_storeu_si512(pixels + 64 * v, _mm512_permutex2var_epi8(two, kPutThird[v].vector(), blue));
        }
    }
};

}  // namespace

const ColorKernels kColorAvx512 = kKernels<VectorMover>;

}  // namespace penstock

#endif
