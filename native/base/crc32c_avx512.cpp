// Sixteen streams folded by carry-less multiplication, 256 bytes a step.
#include "base/crc32c_paths.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace penstock {

namespace {

constexpr std::size_t kStep = 256;

inline __m512i factors(FoldFactors pair) {
    return _mm512_broadcast_i32x4(
        _mm_set_epi64x(static_cast<long long>(pair.second), static_cast<long long>(pair.first)));
}

inline __m512i fold(__m512i earlier, __m512i pair, __m512i later) {
    const __m512i first = _mm512_clmulepi64_epi128(earlier, pair, 0x00);
    const __m512i second = _mm512_clmulepi64_epi128(earlier, pair, 0x11);
    return _mm512_ternarylogic_epi64(first, second, later, 0x96);
}

}  // namespace

std::uint32_t crc32c_avx512(ByteView data, std::uint32_t state) noexcept {
    const std::uint8_t* bytes = data.data();
    std::size_t left = data.size();
    if (left < 2 * kStep) return crc32c_avx2(data, state);
    constexpr FoldFactors far = fold_factors(2048);
    const __m512i step = factors(far);
    __m512i lanes[4];
    for (int i = 0; i < 4; ++i) lanes[i] = _mm512_loadu_si512(bytes + 64 * i);
    lanes[0] = _mm512_xor_si512(lanes[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state))));
    for (bytes += kStep, left -= kStep; left >= kStep; bytes += kStep, left -= kStep) {
        for (int i = 0; i < 4; ++i) lanes[i] = fold(lanes[i], step, _mm512_loadu_si512(bytes + 64 * i));
    }
    constexpr FoldFactors near = fold_factors(512);
    const __m512i next = factors(near);
    for (int i = 1; i < 4; ++i) lanes[i] = fold(lanes[i - 1], next, lanes[i]);
    __m512i last = lanes[3];
    for (; left >= 64; bytes += 64, left -= 64) last = fold(last, next, _mm512_loadu_si512(bytes));
    alignas(64) std::uint8_t rest[64];
    _mm512_store_si512(rest, last);
    return crc32c_avx2({bytes, left}, crc32c_avx2({rest, sizeof rest}, 0));
}

}  // namespace penstock

#endif
