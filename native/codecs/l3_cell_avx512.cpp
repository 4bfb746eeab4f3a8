// `l3_cell.h` with 64 pixels a register: a row is one or two registers and never leaves them between rows.
#include "codecs/l3_cell.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstring>

namespace penstock::l3 {

namespace {

using Bytes64 = std::array<std::uint8_t, 64>;

// Eight w-bit fields are w bytes. kGather[w] moves those w bytes (and what follows) into the g-th word, kFieldBits[w]
// then takes the eight fields out of it.
constexpr std::array<Bytes64, kMaxWidth + 1> make_gather() {
    std::array<Bytes64, kMaxWidth + 1> gather{};
    for (std::size_t width = 0; width <= kMaxWidth; ++width) {
        for (std::size_t i = 0; i < 64; ++i) gather[width][i] = static_cast<std::uint8_t>((i / 8 * width + i % 8) % 64);
    }
    return gather;
}

constexpr std::array<std::uint64_t, kMaxWidth + 1> make_field_bits() {
    std::array<std::uint64_t, kMaxWidth + 1> bits{};
    for (std::uint64_t width = 0; width <= kMaxWidth; ++width) {
        for (std::uint64_t field = 0; field < 8; ++field) bits[width] |= (field * width) << (8 * field);
    }
    return bits;
}

constexpr Bytes64 make_sequence(std::uint8_t first) {
    Bytes64 sequence{};
    for (std::size_t i = 0; i < 64; ++i) sequence[i] = static_cast<std::uint8_t>((first + i) % 128);
    return sequence;
}

alignas(64) constexpr auto kGather = make_gather();
constexpr auto kFieldBits = make_field_bits();
alignas(64) constexpr Bytes64 kOneLeft = make_sequence(63);  // of two registers: the last byte of the first on
alignas(64) constexpr Bytes64 kOneRight = make_sequence(1);

__m512i load(const Bytes64& bytes) { return _mm512_load_si512(bytes.data()); }

__mmask64 first_lanes(std::size_t count) { return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1; }

__m512i distance(__m512i x, __m512i y) { return _mm512_sub_epi8(_mm512_max_epu8(x, y), _mm512_min_epu8(x, y)); }

// See predict_row in l3_cell.cpp.
template <Version kVersion>
__m512i predict(__m512i top_left, __m512i top, __m512i top_right) {
    const __m512i a = distance(top_right, top);
    const __m512i c = distance(top_left, top);
    const __mmask64 beside =
        _kxnor_mask64(_mm512_cmpgt_epu8_mask(top_right, top), _mm512_cmpgt_epu8_mask(top_left, top));
    const __m512i b_between = distance(a, c);
    const __m512i b_above_c = _mm512_mask_blend_epi8(beside, _mm512_subs_epu8(b_between, c), a);
    const __mmask64 a_le_b = _kor_mask64(beside, _mm512_cmple_epu8_mask(a, b_between));
    const __mmask64 a_le_c = _mm512_cmple_epu8_mask(a, c);
    const __m512i top_or_right = _mm512_mask_mov_epi8(top_right, _mm512_testn_epi8_mask(b_above_c, b_above_c), top);
    const __m512i left_or_top = _mm512_mask_blend_epi8(a_le_b, top, top_left);
    __m512i choice = kVersion == Version::published ? _mm512_mask_blend_epi8(a_le_c, top_right, top) : top_or_right;
    choice = _mm512_mask_mov_epi8(choice, _kand_mask64(a_le_b, a_le_c), top_left);
    choice = _mm512_mask_mov_epi8(choice, _mm512_testn_epi8_mask(top_right, top_right), left_or_top);
    return _mm512_mask_mov_epi8(choice, _mm512_testn_epi8_mask(top_left, top_left), top_or_right);
}

// 64 deltas of `width` bits, from the middle of the first byte on; `available` bytes may be read.
__m512i unpack(const std::uint8_t* fields, std::size_t available, std::uint32_t width) {
    const __m512i low = _mm512_maskz_loadu_epi8(first_lanes(available), fields);
    const __m512i high = _mm512_maskz_loadu_epi8(first_lanes(available - 1), fields + 1);
    constexpr int low_where_mask_else_high = 0xCA;
    const __m512i aligned = _mm512_ternarylogic_epi64(_mm512_set1_epi8(0x0F), _mm512_srli_epi16(low, 4),
                                                      _mm512_slli_epi16(high, 4), low_where_mask_else_high);
    const __m512i words = _mm512_permutexvar_epi8(load(kGather[width]), aligned);
    const __m512i shifted =
        _mm512_multishift_epi64_epi8(_mm512_set1_epi64(static_cast<long long>(kFieldBits[width])), words);
    return _mm512_and_si512(shifted, _mm512_set1_epi8(static_cast<char>((1 << width) - 1)));
}

template <Version kVersion, std::size_t kRegisters>
CellFault decode_rows(CellBytes bytes, CellShape shape, std::uint8_t* out) {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i first = _mm512_set1_epi8(static_cast<char>(kVersion == Version::published ? 0 : 128));
    __m512i top[2] = {zero, zero};  // lanes past the columns stay zero: they are the missing top right
    const std::uint8_t* row = bytes.begin;
    for (std::uint32_t r = 0; r < shape.rows; ++r) {
        if (bytes.end - row < 2) return CellFault::rows_too_long;
        const std::uint32_t head = row[0] | (row[1] << 8);
        const std::uint32_t width = head & 15;
        if (width > kMaxWidth) return CellFault::width_above_8;
        const std::size_t size = row_bytes(shape.columns, width);
        if (static_cast<std::size_t>(bytes.end - row) < size) return CellFault::rows_too_long;

        const __m512i base = _mm512_set1_epi8(static_cast<char>(head >> 4));
        const __m512i left[2] = {_mm512_permutex2var_epi8(zero, load(kOneLeft), top[0]),
                                 _mm512_permutex2var_epi8(top[0], load(kOneLeft), top[1])};
        const __m512i right[2] = {_mm512_permutex2var_epi8(top[0], load(kOneRight), top[1]),
                                  _mm512_permutex2var_epi8(top[1], load(kOneRight), zero)};
        for (std::size_t i = 0; i < kRegisters; ++i) {
            const __m512i prediction = r == 0 ? first : predict<kVersion>(left[i], top[i], right[i]);
            const __m512i deltas = unpack(row + 1 + 8 * i * width, size - 1 - 8 * i * width, width);
            top[i] =
                _mm512_maskz_add_epi8(first_lanes(shape.columns - 64 * i), prediction, _mm512_add_epi8(deltas, base));
            _mm512_store_si512(out + r * kCellStride + 64 * i, top[i]);
        }
        row += size;
    }
    return row == bytes.end ? CellFault::none : CellFault::rows_too_short;
}

template <Version kVersion>
CellFault decode_cell(CellBytes bytes, CellShape shape, std::uint8_t* out) {
    return shape.columns <= 64 ? decode_rows<kVersion, 1>(bytes, shape, out)
                               : decode_rows<kVersion, 2>(bytes, shape, out);
}

// The k-th register of 64 pixels of n interleaved channels: where each byte comes from in planes 0 and 1 (or, where
// `upper` says so, 2 and 3) put side by side.
struct Weave {
    alignas(64) Bytes64 from{};
    std::uint64_t upper = 0;
};

template <std::size_t kChannels>
constexpr std::array<Weave, kChannels> make_weave() {
    std::array<Weave, kChannels> weave{};
    for (std::size_t byte = 0; byte < 64 * kChannels; ++byte) {
        const std::size_t channel = byte % kChannels;
        Weave& target = weave[byte / 64];
        target.from[byte % 64] = static_cast<std::uint8_t>(byte / kChannels + channel % 2 * 64);
        target.upper |= static_cast<std::uint64_t>(channel / 2) << (byte % 64);
    }
    return weave;
}

template <std::size_t kChannels>
void interleave(const std::uint8_t* planes, std::uint32_t count, std::uint8_t* out) {
    static constexpr auto weave = make_weave<kChannels>();
    for (std::uint32_t k = 0; k < count; k += 64) {
        const __mmask64 lanes = first_lanes(count - k);
        __m512i plane[4] = {};
        for (std::size_t c = 0; c < kChannels; ++c) {
            plane[c] = _mm512_maskz_loadu_epi8(lanes, planes + c * kCellPixels + k);
        }
        const std::size_t size = (count - k) * kChannels;
        for (std::size_t i = 0; i < kChannels && 64 * i < size; ++i) {
            const __m512i from = load(weave[i].from);
            const __m512i bytes =
                _mm512_mask_blend_epi8(weave[i].upper, _mm512_permutex2var_epi8(plane[0], from, plane[1]),
                                       _mm512_permutex2var_epi8(plane[2], from, plane[3]));
            _mm512_mask_storeu_epi8(out + k * kChannels + 64 * i, first_lanes(size - 64 * i), bytes);
        }
    }
}

}  // namespace

CellFault decode_cell_avx512(CellBytes bytes, CellShape shape, Version version, std::uint8_t* out) {
    return version == Version::published ? decode_cell<Version::published>(bytes, shape, out)
                                         : decode_cell<Version::repaired>(bytes, shape, out);
}

void interleave_avx512(const std::uint8_t* planes, std::uint32_t channels, std::uint32_t count, std::uint8_t* out) {
    switch (channels) {
        case 2: return interleave<2>(planes, count, out);
        case 3: return interleave<3>(planes, count, out);
        default: return interleave<4>(planes, count, out);
    }
}

}  // namespace penstock::l3

#endif
