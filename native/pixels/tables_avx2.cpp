// Tables of sixteen times sixteen levels, 32 samples at a time.
#include "pixels/table_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "pixels/table_rows.h"

namespace penstock {

namespace {

/// One table for all samples: of the sixteen parts, the one that a level's upper half names is not shuffled to 0.
void look_up(const std::uint8_t* row, std::size_t pixels, std::size_t channels, const ByteTables& tables,
             std::uint8_t* out) {
    if (!tables.same) return look_up_plain(row, pixels, channels, tables, out);
    const std::size_t samples = pixels * channels;
    __m256i parts[16];
    for (int i = 0; i < 16; ++i) {
        const auto* part = reinterpret_cast<const __m128i*>(tables.levels[0] + 16 * i);
        parts[i] = _mm256_broadcastsi128_si256(_mm_load_si128(part));
    }
    std::size_t at = 0;
    for (; at + 32 <= samples; at += 32) {
        const __m256i levels = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + at));
        __m256i found = _mm256_setzero_si256();
        for (int i = 0; i < 16; ++i) {
            // Levels of other parts get their top bit set, by a sum that stays at 255.
            const __m256i moved = _mm256_xor_si256(levels, _mm256_set1_epi8(static_cast<char>(16 * i)));
            const __m256i index = _mm256_adds_epu8(moved, _mm256_set1_epi8(0x70));
            found = _mm256_or_si256(found, _mm256_shuffle_epi8(parts[i], index));
        }
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at), found);
    }
    look_up_samples(row, at, samples, channels, tables, out);
}

}  // namespace

const TableKernels kTableAvx2{look_up, widen_limits};

}  // namespace penstock

#endif
