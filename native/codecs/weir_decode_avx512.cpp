// The vocabulary of weir_decode_simd.h in AVX-512 (F, BW, VL, VBMI, VBMI2, GFNI): a row of 64 samples is one register.
#if defined(__x86_64__)

#include "codecs/weir_decode_simd.h"
#include "codecs/weir_decode_simd16.h"

namespace penstock::weir {
namespace {

struct Lookup {
    alignas(64) std::uint8_t block_of[64];  // lane -> block
    alignas(64) std::uint8_t lane_in_block[64];
    alignas(64) std::uint8_t low_bytes[64];  // 255, 0, 255, 0 …
    alignas(64) std::uint8_t left[64];       // lane -> its left neighbour, the first lane itself
    alignas(64) std::uint8_t right[64];
    alignas(64) std::uint8_t block_total[64];    // every qword: the last byte of qwords 0 to 7
    alignas(64) std::uint8_t first_of_pair[64];  // the low byte of each qword, all over it
    alignas(64) std::uint8_t identity[64];
    alignas(64) std::uint8_t field_mask[64];   // width -> that many ones; repeated every 16 bytes
    alignas(64) std::uint8_t dense_width[64];  // dense code -> width of its fields
    alignas(64) std::uint8_t dense_step[64];   // dense code -> 2^k
    alignas(64) std::uint8_t rgb[3][64];       // by channel: lane -> sample whose place in 192 bytes is that, modulo 64
};

constexpr Lookup make_lookup() {
    Lookup t{};
    for (int i = 0; i < 64; ++i) {
        const auto lane = static_cast<std::uint8_t>(i);
        t.block_of[i] = lane / 8;
        t.lane_in_block[i] = lane % 8;
        t.low_bytes[i] = i % 2 == 0 ? 255 : 0;
        t.left[i] = static_cast<std::uint8_t>(i > 0 ? i - 1 : 0);
        t.right[i] = static_cast<std::uint8_t>(i < 63 ? i + 1 : 63);
        t.block_total[i] = static_cast<std::uint8_t>(i % 8 * 8 + 7);
        t.first_of_pair[i] = static_cast<std::uint8_t>(i % 16 < 8 ? 0 : 8);
        t.identity[i] = lane;
        const int code = i % 16;
        t.field_mask[i] = static_cast<std::uint8_t>(code <= 8 ? (1 << code) - 1 : 0);
        t.dense_width[i] = dense_width(code);
        t.dense_step[i] = dense_step(code);
    }
    for (int channel = 0; channel < 3; ++channel) {
        for (int i = 0; i < 64; ++i) t.rgb[channel][(3 * i + channel) % 64] = static_cast<std::uint8_t>(i);
    }
    return t;
}

constexpr Lookup kLookup = make_lookup();

PENSTOCK_INLINE __m512i table(const std::uint8_t (&bytes)[64]) { return _mm512_load_si512(bytes); }

// z -> (z >> 1) ^ -(z & 1) is linear over bits: one matrix for each byte. Row i makes bit i.
constexpr std::uint64_t unzigzag_matrix() {
    std::uint64_t matrix = 0;
    for (int bit = 0; bit < 8; ++bit) {
        const std::uint64_t row = bit == 7 ? 1 : (2U << bit) | 1;
        matrix |= row << (8 * (7 - bit));
    }
    return matrix;
}

/// Byte q of qword b: qword q lies before b.
constexpr __mmask64 kBlocksBefore = 0x7f3f1f0f07030100;

struct Avx512 {
    using Row = __m512i;
    using Worst = __mmask64;

    static PENSTOCK_INLINE Row zero() { return _mm512_setzero_si512(); }
    static PENSTOCK_INLINE Row fill(std::uint8_t value) { return _mm512_set1_epi8(static_cast<char>(value)); }
    static PENSTOCK_INLINE Row load(const std::uint8_t* row) { return _mm512_load_si512(row); }
    static PENSTOCK_INLINE void store(std::uint8_t* row, Row value) { _mm512_store_si512(row, value); }
    static PENSTOCK_INLINE void store_in_order(std::uint8_t* out, Row value) { store(out, value); }
    static PENSTOCK_INLINE Row add(Row a, Row b) { return _mm512_add_epi8(a, b); }
    static PENSTOCK_INLINE Row sub(Row a, Row b) { return _mm512_sub_epi8(a, b); }

    static PENSTOCK_INLINE Row half(Row v) { return _mm512_and_si512(_mm512_srli_epi16(v, 1), fill(0x7f)); }
    static PENSTOCK_INLINE Row quarter(Row v) { return _mm512_and_si512(_mm512_srli_epi16(v, 2), fill(0x3f)); }
    static PENSTOCK_INLINE Row half_signed(Row v) {
        return _mm512_sub_epi8(_mm512_xor_si512(half(v), fill(0x40)), fill(0x40));
    }
    /// (a + b) >> 1: the instruction rounds up, so one is taken back where the sum is odd.
    static PENSTOCK_INLINE Row mean(Row a, Row b) {
        return _mm512_sub_epi8(_mm512_avg_epu8(a, b), _mm512_and_si512(_mm512_xor_si512(a, b), fill(1)));
    }
    static PENSTOCK_INLINE Row first(Row v) { return _mm512_broadcastb_epi8(_mm512_castsi512_si128(v)); }
    static PENSTOCK_INLINE Row smooth(Row v) {
        const Row left = _mm512_permutexvar_epi8(table(kLookup.left), v);
        const Row right = _mm512_permutexvar_epi8(table(kLookup.right), v);
        return _mm512_avg_epu8(mean(left, right), v);
    }
    static PENSTOCK_INLINE Row unzigzag(Row z) {
        return _mm512_gf2p8affine_epi64_epi8(z, _mm512_set1_epi64(static_cast<long long>(unzigzag_matrix())), 0);
    }
    /// Sums inside the qwords, then every qword adds the totals of those before it (added up by one SAD).
    static PENSTOCK_INLINE Row running_sum(Row x) {
        x = _mm512_add_epi8(x, _mm512_slli_epi64(x, 8));
        x = _mm512_add_epi8(x, _mm512_slli_epi64(x, 16));
        x = _mm512_add_epi8(x, _mm512_slli_epi64(x, 32));
        Row totals = _mm512_maskz_permutexvar_epi8(kBlocksBefore, table(kLookup.block_total), x);
        totals = _mm512_sad_epu8(totals, zero());
        return _mm512_add_epi8(x, _mm512_shuffle_epi8(totals, table(kLookup.first_of_pair)));
    }

    static PENSTOCK_INLINE Row add_one_where(Row counters, std::uint64_t mask) {
        return _mm512_mask_add_epi8(counters, mask, counters, fill(1));
    }
    /// A line of codes is a qword; each one is the sum of all before it.
    static PENSTOCK_INLINE Row running_lines(Row deltas, Row above) {
        deltas = _mm512_add_epi8(deltas, _mm512_alignr_epi64(deltas, zero(), 7));
        deltas = _mm512_add_epi8(deltas, _mm512_alignr_epi64(deltas, zero(), 6));
        deltas = _mm512_add_epi8(deltas, _mm512_alignr_epi64(deltas, zero(), 4));
        return _mm512_add_epi8(deltas, above);
    }
    static PENSTOCK_INLINE Row last_line(Row codes) { return _mm512_permutexvar_epi64(_mm512_set1_epi64(7), codes); }
    static PENSTOCK_INLINE Worst no_worst() { return 0; }
    static PENSTOCK_INLINE Worst worse(Worst worst, Row codes, std::uint8_t highest) {
        return worst | _mm512_cmpgt_epu8_mask(codes, fill(highest));
    }
    static PENSTOCK_INLINE bool is_bad(Worst worst, std::uint8_t) { return worst != 0; }

    /// How to pick the fields of a row whose eight blocks have these widths: any mix, no branch.
    struct Picks {
        Row bytes;   // lane -> byte its block begins at, and the lane's number
        Row shifts;  // lane -> bit inside the block
        Row masks;
    };
    /// From eight widths, and eight begins, in every qword.
    static PENSTOCK_INLINE Picks picks(Row widths, Row begins) {
        const Row lane_widths = _mm512_shuffle_epi8(widths, table(kLookup.block_of));
        const Row lane_begins = _mm512_shuffle_epi8(begins, table(kLookup.block_of));
        return {
            _mm512_add_epi8(lane_begins, table(kLookup.lane_in_block)),
            _mm512_mullo_epi16(_mm512_and_si512(lane_widths, table(kLookup.low_bytes)), table(kLookup.lane_in_block)),
            _mm512_shuffle_epi8(table(kLookup.field_mask), lane_widths)};
    }
    static PENSTOCK_INLINE Row pick(const Picks& f, const std::uint8_t* payload) {
        const Row blocks = _mm512_permutexvar_epi8(f.bytes, _mm512_loadu_si512(payload));
        return _mm512_and_si512(_mm512_multishift_epi64_epi8(f.shifts, blocks), f.masks);
    }
    /// Where the blocks of each line begin in its payload, and where the line ends: running sums of its widths, eight
    /// lines at a time, so that a row loads what it needs instead of computing it.
    struct Lines {
        alignas(64) std::uint64_t begins[kMaxPlanes][kTileSide];
        alignas(64) std::uint64_t ends[kMaxPlanes][kTileSide];
    };
    static PENSTOCK_INLINE void prepare_lines(const Codes& codes, std::uint32_t planes, std::uint32_t height,
                                              Lines& lines) {
        for (std::uint32_t c = 0; c < planes; ++c) {
            for (std::uint32_t y = 0; y < height; y += kChunkLines) {
                Row sums = _mm512_load_si512(&codes.lines[c][y]);
                sums = _mm512_add_epi8(sums, _mm512_slli_epi64(sums, 8));
                sums = _mm512_add_epi8(sums, _mm512_slli_epi64(sums, 16));
                sums = _mm512_add_epi8(sums, _mm512_slli_epi64(sums, 32));
                _mm512_store_si512(&lines.begins[c][y], _mm512_slli_epi64(sums, 8));
                _mm512_store_si512(&lines.ends[c][y], _mm512_srli_epi64(sums, 56));
            }
        }
    }
    static constexpr bool kFieldsInMemory = false;
    using Fields = Row;
    static PENSTOCK_INLINE void clear(Fields& fields) { fields = zero(); }
    static PENSTOCK_INLINE Row row_of(Fields fields) { return fields; }
    static PENSTOCK_INLINE const std::uint8_t* unpack_row(const std::uint8_t* payload, const Codes& codes,
                                                          const Lines& lines, std::uint32_t c, std::uint32_t y,
                                                          Fields& row) {
        const Row widths = _mm512_set1_epi64(static_cast<long long>(codes.lines[c][y]));
        const Row begins = _mm512_set1_epi64(static_cast<long long>(lines.begins[c][y]));
        row = pick(picks(widths, begins), payload);
        return payload + lines.ends[c][y];
    }
    static PENSTOCK_INLINE const std::uint8_t* unpack_low_bits(const std::uint8_t* payload, std::uint64_t codes,
                                                               std::uint32_t num_rows,
                                                               std::uint8_t (&rows)[kGroupRows][kLanes]) {
        const __m128i widths = _mm_shuffle_epi8(_mm_load_si128(reinterpret_cast<const __m128i*>(kLookup.dense_width)),
                                                _mm_cvtsi64_si128(static_cast<long long>(codes)));
        const std::uint64_t ends = static_cast<std::uint64_t>(_mm_cvtsi128_si64(widths)) * kOnes;  // running sums
        const Picks f = picks(_mm512_broadcastq_epi64(widths), _mm512_set1_epi64(static_cast<long long>(ends << 8)));
        for (std::uint32_t r = 0; r < num_rows; ++r, payload += ends >> 56) store(rows[r], pick(f, payload));
        return payload;
    }
    static PENSTOCK_INLINE Row rice_steps(std::uint64_t codes) {
        const Row lane_codes =
            _mm512_shuffle_epi8(_mm512_set1_epi64(static_cast<long long>(codes)), table(kLookup.block_of));
        return _mm512_shuffle_epi8(table(kLookup.dense_step), lane_codes);
    }

    static PENSTOCK_INLINE Row add_where(Row row, std::uint64_t mask, Row step) {
        return _mm512_mask_add_epi8(row, mask, row, step);
    }

    static PENSTOCK_INLINE void store_bytes(std::uint8_t* out, std::size_t size, Row value) {
        if (size >= 64) {
            _mm512_storeu_si512(out, value);
        } else {
            _mm512_mask_storeu_epi8(out, _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(size)), value);
        }
    }
    template <std::size_t Count>
    static PENSTOCK_INLINE void store_all(std::uint8_t* out, std::size_t size, const Row (&values)[Count]) {
        for (std::size_t i = 0; i < Count && size > i * 64; ++i) store_bytes(out + i * 64, size - i * 64, values[i]);
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row grey) {
        store_bytes(out, width, grey);
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row grey, Row alpha) {
        const Row low = _mm512_unpacklo_epi8(grey, alpha);
        const Row high = _mm512_unpackhi_epi8(grey, alpha);
        const Row from_low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
        const Row from_high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
        store_all(out, std::size_t{width} * 2,
                  {_mm512_permutex2var_epi64(low, from_low, high), _mm512_permutex2var_epi64(low, from_high, high)});
    }
    static PENSTOCK_INLINE Row choose(Row rest, __mmask64 where_a, Row a, __mmask64 where_b, Row b) {
        return _mm512_mask_blend_epi8(where_b, _mm512_mask_blend_epi8(where_a, rest, a), b);
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row red, Row green, Row blue) {
        // 3 has an inverse modulo 64: one permutation puts all samples of a channel where they belong in one of the
        // three registers, and no two of them in the same lane. What is left is to choose.
        const Row reds = _mm512_permutexvar_epi8(table(kLookup.rgb[0]), red);
        const Row greens = _mm512_permutexvar_epi8(table(kLookup.rgb[1]), green);
        const Row blues = _mm512_permutexvar_epi8(table(kLookup.rgb[2]), blue);
        constexpr __mmask64 third = 0x9249249249249249;  // lanes 0, 3, 6 …
        const Row values[3] = {choose(reds, third << 1, greens, third << 2, blues),
                               choose(blues, third, greens, third << 2, reds),
                               choose(greens, third, blues, third << 1, reds)};
        store_all(out, std::size_t{width} * 3, values);
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row red, Row green, Row blue,
                                             Row alpha) {
        const Row red_green_low = _mm512_unpacklo_epi8(red, green);
        const Row red_green_high = _mm512_unpackhi_epi8(red, green);
        const Row blue_alpha_low = _mm512_unpacklo_epi8(blue, alpha);
        const Row blue_alpha_high = _mm512_unpackhi_epi8(blue, alpha);
        // Four pixels in each 128-bit piece: pieces 0 4 8 12, 1 5 …; put them in order.
        const Row a = _mm512_unpacklo_epi16(red_green_low, blue_alpha_low);
        const Row b = _mm512_unpackhi_epi16(red_green_low, blue_alpha_low);
        const Row c = _mm512_unpacklo_epi16(red_green_high, blue_alpha_high);
        const Row d = _mm512_unpackhi_epi16(red_green_high, blue_alpha_high);
        const Row ab_low = _mm512_shuffle_i64x2(a, b, 0x44);
        const Row ab_high = _mm512_shuffle_i64x2(a, b, 0xee);
        const Row cd_low = _mm512_shuffle_i64x2(c, d, 0x44);
        const Row cd_high = _mm512_shuffle_i64x2(c, d, 0xee);
        store_all(out, std::size_t{width} * 4,
                  {_mm512_shuffle_i64x2(ab_low, cd_low, 0x88), _mm512_shuffle_i64x2(ab_low, cd_low, 0xdd),
                   _mm512_shuffle_i64x2(ab_high, cd_high, 0x88), _mm512_shuffle_i64x2(ab_high, cd_high, 0xdd)});
    }
};

}  // namespace

TileFault decode_tile_avx512(const TileJob& job) noexcept {
    return job.shape.sample_bytes == 2 ? decode_tile16<Avx512>(job) : decode_tile_with<Avx512>(job);
}

}  // namespace penstock::weir

#endif
