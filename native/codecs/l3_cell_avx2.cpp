// `l3_cell.h` with 32 pixels a register, one to four of them a row; deltas are taken out of their bytes by `pdep`.
#include "codecs/l3_cell.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstring>

namespace penstock::l3 {

namespace {

__m256i distance(__m256i x, __m256i y) { return _mm256_sub_epi8(_mm256_max_epu8(x, y), _mm256_min_epu8(x, y)); }

__m256i less_equal(__m256i x, __m256i y) { return _mm256_cmpeq_epi8(_mm256_min_epu8(x, y), x); }

__m256i choose(__m256i mask, __m256i yes, __m256i no) { return _mm256_blendv_epi8(no, yes, mask); }

// See predict_row in l3_cell.cpp.
template <Version kVersion>
__m256i predict(__m256i top_left, __m256i top, __m256i top_right) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i ones = _mm256_set1_epi8(-1);
    const __m256i a = distance(top_right, top);
    const __m256i c = distance(top_left, top);
    const __m256i between = _mm256_xor_si256(less_equal(top_right, top), less_equal(top_left, top));
    const __m256i b_between = distance(a, c);
    const __m256i b_above_c = choose(between, _mm256_subs_epu8(b_between, c), a);
    const __m256i a_le_b = _mm256_or_si256(_mm256_andnot_si256(between, ones), less_equal(a, b_between));
    const __m256i a_le_c = less_equal(a, c);
    const __m256i top_or_right = choose(_mm256_cmpeq_epi8(b_above_c, zero), top, top_right);
    const __m256i left_or_top = choose(a_le_b, top_left, top);
    __m256i choice = kVersion == Version::published ? choose(a_le_c, top, top_right) : top_or_right;
    choice = choose(_mm256_and_si256(a_le_b, a_le_c), top_left, choice);
    choice = choose(_mm256_cmpeq_epi8(top_right, zero), left_or_top, choice);
    return choose(_mm256_cmpeq_epi8(top_left, zero), top_or_right, choice);
}

// The 32 bytes one to the left of `now`, of which `before` is the register to the left.
__m256i one_left(__m256i before, __m256i now) {
    return _mm256_alignr_epi8(now, _mm256_permute2x128_si256(before, now, 0x21), 15);
}

__m256i one_right(__m256i now, __m256i after) {
    return _mm256_alignr_epi8(_mm256_permute2x128_si256(now, after, 0x21), now, 1);
}

// Eight deltas from the middle of the first byte on; their last nibble may lie in the ninth.
long long unpack_8(const std::uint8_t* fields, std::uint64_t field_mask) {
    std::uint64_t word = 0;
    std::memcpy(&word, fields, 8);
    const std::uint64_t packed = (word >> 4) | (std::uint64_t{fields[8]} << 60);
    return static_cast<long long>(_pdep_u64(packed, field_mask));
}

__m256i unpack_32(const std::uint8_t* fields, std::uint32_t width) {
    const std::uint64_t field_mask = ((std::uint64_t{1} << width) - 1) * 0x0101010101010101;
    return _mm256_set_epi64x(unpack_8(fields + 3 * width, field_mask), unpack_8(fields + 2 * width, field_mask),
                             unpack_8(fields + width, field_mask), unpack_8(fields, field_mask));
}

// All ones in the lanes of register `index` that are columns.
__m256i column_lanes(std::uint32_t columns, std::size_t index) {
    alignas(32) std::array<std::uint8_t, 32> lanes;
    for (std::size_t i = 0; i < 32; ++i) lanes[i] = 32 * index + i < columns ? 255 : 0;
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes.data()));
}

template <Version kVersion, std::size_t kRegisters>
CellFault decode_rows(CellBytes bytes, CellShape shape, std::uint8_t* out) {
    // Whole registers are unpacked: up to 31 deltas that are not columns, and the ninth byte of the last eight.
    constexpr std::size_t read_beyond = 48;
    std::array<std::uint8_t, kMaxRowBytes + read_beyond> tail;
    const __m256i last_lanes = column_lanes(shape.columns, kRegisters - 1);
    const __m256i first = _mm256_set1_epi8(static_cast<char>(kVersion == Version::published ? 0 : 128));
    // top[1 + i] is register i; the zeros around them, and past the columns, are the missing neighbours.
    __m256i top[kRegisters + 2];
    for (__m256i& pixels : top) pixels = _mm256_setzero_si256();
    const std::uint8_t* row = bytes.begin;
    for (std::uint32_t r = 0; r < shape.rows; ++r) {
        if (bytes.end - row < 2) return CellFault::rows_too_long;
        const std::uint32_t head = row[0] | (row[1] << 8);
        const std::uint32_t width = head & 15;
        if (width > kMaxWidth) return CellFault::width_above_8;
        const std::size_t size = row_bytes(shape.columns, width);
        if (static_cast<std::size_t>(bytes.end - row) < size) return CellFault::rows_too_long;

        const std::uint8_t* source = row;
        if (static_cast<std::size_t>(bytes.readable_end - row) < size + read_beyond) {
            std::memcpy(tail.data(), row, size);
            std::memset(tail.data() + size, 0, read_beyond);
            source = tail.data();
        }
        const __m256i base = _mm256_set1_epi8(static_cast<char>(head >> 4));
        __m256i before = top[0];
        for (std::size_t i = 1; i <= kRegisters; ++i) {
            const __m256i now = top[i];
            const __m256i prediction =
                r == 0 ? first : predict<kVersion>(one_left(before, now), now, one_right(now, top[i + 1]));
            const __m256i residual = _mm256_add_epi8(unpack_32(source + 1 + 4 * (i - 1) * width, width), base);
            top[i] = _mm256_add_epi8(prediction, residual);
            if (i == kRegisters) top[i] = _mm256_and_si256(top[i], last_lanes);
            _mm256_store_si256(reinterpret_cast<__m256i*>(out + r * kCellStride + 32 * (i - 1)), top[i]);
            before = now;
        }
        row += size;
    }
    return row == bytes.end ? CellFault::none : CellFault::rows_too_short;
}

template <Version kVersion>
CellFault decode_cell(CellBytes bytes, CellShape shape, std::uint8_t* out) {
    switch ((shape.columns + 31) / 32) {
        case 1: return decode_rows<kVersion, 1>(bytes, shape, out);
        case 2: return decode_rows<kVersion, 2>(bytes, shape, out);
        case 3: return decode_rows<kVersion, 3>(bytes, shape, out);
        default: return decode_rows<kVersion, 4>(bytes, shape, out);
    }
}

// kWeave[k][c] moves plane c's share of the k-th 16 of 48 interleaved bytes to its place; 128 leaves a zero.
constexpr auto make_weave() {
    std::array<std::array<std::array<std::uint8_t, 16>, 3>, 3> weave{};
    for (std::size_t byte = 0; byte < 48; ++byte) {
        for (std::size_t c = 0; c < 3; ++c) {
            weave[byte / 16][c][byte % 16] = static_cast<std::uint8_t>(byte % 3 == c ? byte / 3 : 128);
        }
    }
    return weave;
}

void interleave_three(const std::uint8_t* planes, std::uint32_t count, std::uint8_t* out) {
    alignas(16) static constexpr auto weave = make_weave();
    const auto load = [](const std::uint8_t* bytes) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    };
    std::uint32_t k = 0;
    for (; k + 16 <= count; k += 16) {
        const __m128i plane[3] = {load(planes + k), load(planes + kCellPixels + k), load(planes + 2 * kCellPixels + k)};
        for (std::size_t i = 0; i < 3; ++i) {
            __m128i bytes = _mm_shuffle_epi8(plane[0], load(weave[i][0].data()));
            bytes = _mm_or_si128(bytes, _mm_shuffle_epi8(plane[1], load(weave[i][1].data())));
            bytes = _mm_or_si128(bytes, _mm_shuffle_epi8(plane[2], load(weave[i][2].data())));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * k + 16 * i), bytes);
        }
    }
    if (k < count) interleave_plain(planes + k, 3, count - k, out + 3 * k);
}

}  // namespace

CellFault decode_cell_avx2(CellBytes bytes, CellShape shape, Version version, std::uint8_t* out) {
    return version == Version::published ? decode_cell<Version::published>(bytes, shape, out)
                                         : decode_cell<Version::repaired>(bytes, shape, out);
}

void interleave_avx2(const std::uint8_t* planes, std::uint32_t channels, std::uint32_t count, std::uint8_t* out) {
    // Two and four channels vectorise by themselves.
    return channels == 3 ? interleave_three(planes, count, out) : interleave_plain(planes, channels, count, out);
}

}  // namespace penstock::l3

#endif
