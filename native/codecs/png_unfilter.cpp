// The plain twin of the vector kernels, as the PNG specification words it, and the choice between all of them.
#include "codecs/png_unfilter.h"

#include <cstdlib>
#include <cstring>

namespace penstock::png {

namespace {

using Byte = std::uint8_t;

Byte paeth_predictor(int left, int up, int up_left) {
    const int estimate = left + up - up_left;
    const int to_left = std::abs(estimate - left);
    const int to_up = std::abs(estimate - up);
    const int to_up_left = std::abs(estimate - up_left);
    if (to_left <= to_up && to_left <= to_up_left) return static_cast<Byte>(left);
    return static_cast<Byte>(to_up <= to_up_left ? up : up_left);
}

template <std::size_t kDistance>
void sub(const Byte* source, const Byte*, Byte* target, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        const Byte left = i < kDistance ? Byte{0} : target[i - kDistance];
        target[i] = static_cast<Byte>(source[i] + left);
    }
}

void up(const Byte* source, const Byte* above, Byte* target, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) target[i] = static_cast<Byte>(source[i] + above[i]);
}

template <std::size_t kDistance>
void average(const Byte* source, const Byte* above, Byte* target, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        const Byte left = i < kDistance ? Byte{0} : target[i - kDistance];
        target[i] = static_cast<Byte>(source[i] + (left + above[i]) / 2);
    }
}

template <std::size_t kDistance>
void paeth(const Byte* source, const Byte* above, Byte* target, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        const Byte left = i < kDistance ? Byte{0} : target[i - kDistance];
        const Byte up_left = i < kDistance ? Byte{0} : above[i - kDistance];
        target[i] = static_cast<Byte>(source[i] + paeth_predictor(left, above[i], up_left));
    }
}

template <std::size_t kDistance>
constexpr Unfilter kKernels{&sub<kDistance>, &up, &average<kDistance>, &paeth<kDistance>};

}  // namespace

Unfilter unfilter_plain(std::size_t distance) noexcept {
    switch (distance) {
        case 1: return kKernels<1>;
        case 2: return kKernels<2>;
        case 3: return kKernels<3>;
        case 4: return kKernels<4>;
        case 6: return kKernels<6>;
        default: return kKernels<8>;
    }
}

Unfilter unfilter_for(std::size_t distance, SimdPath path) noexcept {
#if defined(__x86_64__)
    switch (path) {
        case SimdPath::baseline: return unfilter_baseline(distance);
        case SimdPath::avx2: return unfilter_avx2(distance);
        case SimdPath::avx512: return unfilter_avx512(distance);
        default: break;
    }
#else
    (void)path;
#endif
    return unfilter_plain(distance);
}

void unfilter_row(const Unfilter& kernels, std::uint8_t filter, const std::uint8_t* source, const std::uint8_t* above,
                  std::uint8_t* target, std::size_t size) noexcept {
    switch (filter) {
        case 1: kernels.sub(source, above, target, size); break;
        case 2: kernels.up(source, above, target, size); break;
        case 3: kernels.average(source, above, target, size); break;
        case 4: kernels.paeth(source, above, target, size); break;
        default: std::memcpy(target, source, size); break;
    }
}

}  // namespace penstock::png
