// The vocabulary of weir_decode_simd.h in AVX2 and BMI2: a row of 64 samples is two registers, fields are spread by
// pdep.
#if defined(__x86_64__)

#include "codecs/weir_decode_simd.h"
#include "codecs/weir_decode_simd16.h"

namespace penstock::weir {
namespace {

struct Lookup {
    alignas(32) std::uint8_t even_blocks[32];  // lane of `even` -> its block
    alignas(32) std::uint8_t odd_blocks[32];
    alignas(32) std::uint8_t bit_of[32];  // lane -> its bit in a byte that stands for a block
    alignas(32) std::uint8_t first_lane[32];
    alignas(32) std::uint8_t last_lane[32];
    alignas(32) std::uint8_t dense_step[32];  // dense code -> 2^k, twice
    alignas(32) std::uint8_t rgb[3][3][32];   // [piece of 16 bytes][channel], twice: which pixel, 0x80 for none
    std::uint64_t spread[9];                  // width -> pdep mask of eight fields
    std::uint8_t dense_width[16];
};

constexpr Lookup make_lookup() {
    Lookup t{};
    for (int i = 0; i < 32; ++i) {
        t.even_blocks[i] = static_cast<std::uint8_t>(i / 16 * 4 + i % 16 / 8);
        t.odd_blocks[i] = static_cast<std::uint8_t>(t.even_blocks[i] + 2);
        t.bit_of[i] = static_cast<std::uint8_t>(1 << (i % 8));
        t.first_lane[i] = i == 0 ? 255 : 0;
        t.last_lane[i] = i == 31 ? 255 : 0;
        const int code = i % 16;
        t.dense_step[i] = dense_step(code);
        t.dense_width[code] = dense_width(code);
    }
    for (int piece = 0; piece < 3; ++piece) {
        for (int channel = 0; channel < 3; ++channel) {
            for (int i = 0; i < 32; ++i) {
                const int byte = piece * 16 + i % 16;
                t.rgb[piece][channel][i] = static_cast<std::uint8_t>(byte % 3 == channel ? byte / 3 : 0x80);
            }
        }
    }
    for (int width = 0; width <= 8; ++width) t.spread[width] = kOnes * ((std::uint64_t{1} << width) - 1);
    return t;
}

constexpr Lookup kLookup = make_lookup();

using Half = __m256i;

PENSTOCK_INLINE Half table(const std::uint8_t (&bytes)[32]) {
    return _mm256_load_si256(reinterpret_cast<const Half*>(bytes));
}
PENSTOCK_INLINE Half fill_half(std::uint8_t value) { return _mm256_set1_epi8(static_cast<char>(value)); }

/// 255 in the lanes whose bit is set: `blocks` says in which byte of `mask` that is.
PENSTOCK_INLINE Half lanes_of(Half mask, Half blocks) {
    const Half bits = table(kLookup.bit_of);
    return _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(mask, blocks), bits), bits);
}
PENSTOCK_INLINE Half in_every_qword(std::uint64_t value) { return _mm256_set1_epi64x(static_cast<long long>(value)); }

struct Avx2 {
    /// Lanes 0-15 and 32-47, lanes 16-31 and 48-63: what crosses from one sixteen lanes to the next mostly stays in the
    /// same half of a register.
    struct Row {
        Half even;
        Half odd;
    };
    using Worst = Half;

    template <typename Operation>
    static PENSTOCK_INLINE Row each(Row a, Operation&& operation) {
        return {operation(a.even), operation(a.odd)};
    }
    template <typename Operation>
    static PENSTOCK_INLINE Row each(Row a, Row b, Operation&& operation) {
        return {operation(a.even, b.even), operation(a.odd, b.odd)};
    }

    static PENSTOCK_INLINE Row zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
    static PENSTOCK_INLINE Row fill(std::uint8_t value) { return {fill_half(value), fill_half(value)}; }
    static PENSTOCK_INLINE Row load(const std::uint8_t* row) {
        const auto* halves = reinterpret_cast<const Half*>(row);
        return {_mm256_load_si256(halves), _mm256_load_si256(halves + 1)};
    }
    static PENSTOCK_INLINE void store(std::uint8_t* row, Row value) {
        auto* halves = reinterpret_cast<Half*>(row);
        _mm256_store_si256(halves, value.even);
        _mm256_store_si256(halves + 1, value.odd);
    }
    /// Writes lanes 0 to 63; `load` and `store` keep the order of a register.
    static PENSTOCK_INLINE void store_in_order(std::uint8_t* out, Row value) {
        store_half(out, _mm256_permute2x128_si256(value.even, value.odd, 0x20));
        store_half(out + 32, _mm256_permute2x128_si256(value.even, value.odd, 0x31));
    }
    static PENSTOCK_INLINE Row add(Row a, Row b) {
        return {_mm256_add_epi8(a.even, b.even), _mm256_add_epi8(a.odd, b.odd)};
    }
    static PENSTOCK_INLINE Row sub(Row a, Row b) {
        return {_mm256_sub_epi8(a.even, b.even), _mm256_sub_epi8(a.odd, b.odd)};
    }
    static PENSTOCK_INLINE Row half(Row v) {
        return each(v, [](Half h) { return _mm256_and_si256(_mm256_srli_epi16(h, 1), fill_half(0x7f)); });
    }
    static PENSTOCK_INLINE Row quarter(Row v) {
        return each(v, [](Half h) { return _mm256_and_si256(_mm256_srli_epi16(h, 2), fill_half(0x3f)); });
    }
    static PENSTOCK_INLINE Row half_signed(Row v) {
        return each(half(v),
                    [](Half h) { return _mm256_sub_epi8(_mm256_xor_si256(h, fill_half(0x40)), fill_half(0x40)); });
    }
    static PENSTOCK_INLINE Half mean_half(Half a, Half b) {
        return _mm256_sub_epi8(_mm256_avg_epu8(a, b), _mm256_and_si256(_mm256_xor_si256(a, b), fill_half(1)));
    }
    /// (a + b) >> 1: the instruction rounds up, so one is taken back where the sum is odd.
    static PENSTOCK_INLINE Row mean(Row a, Row b) { return each(a, b, mean_half); }
    static PENSTOCK_INLINE Row first(Row v) {
        const Half lane = _mm256_broadcastb_epi8(_mm256_castsi256_si128(v.even));
        return {lane, lane};
    }
    /// The instruction for a mean rounds up; of complements, it rounds down.
    static PENSTOCK_INLINE Row smooth(Row v) {
        const Half all = fill_half(255);
        const Half even = _mm256_xor_si256(v.even, all);
        const Half odd = _mm256_xor_si256(v.odd, all);
        const Half before = _mm256_permute2x128_si256(odd, odd, 0x08);   // zero, lanes 16-31
        const Half after = _mm256_permute2x128_si256(even, even, 0x81);  // lanes 32-47, zero
        const Half first = _mm256_and_si256(even, table(kLookup.first_lane));
        const Half last = _mm256_and_si256(odd, table(kLookup.last_lane));
        const Row left{_mm256_or_si256(_mm256_alignr_epi8(even, before, 15), first), _mm256_alignr_epi8(odd, even, 15)};
        const Row right{_mm256_alignr_epi8(odd, even, 1), _mm256_or_si256(_mm256_alignr_epi8(after, odd, 1), last)};
        const Row sides =
            each(left, right, [&](Half a, Half b) { return _mm256_xor_si256(_mm256_avg_epu8(a, b), all); });
        return each(sides, v, [](Half a, Half b) { return _mm256_avg_epu8(a, b); });
    }
    /// Half of z, rounded up; negative where z is odd.
    static PENSTOCK_INLINE Row unzigzag(Row z) {
        return each(z, [](Half h) {
            const Half sign = _mm256_or_si256(_mm256_slli_epi16(h, 7), fill_half(1));
            return _mm256_sign_epi8(_mm256_avg_epu8(h, _mm256_setzero_si256()), sign);
        });
    }
    static PENSTOCK_INLINE Half running_sum_of_16(Half x) {
        x = _mm256_add_epi8(x, _mm256_slli_si256(x, 1));
        x = _mm256_add_epi8(x, _mm256_slli_si256(x, 2));
        x = _mm256_add_epi8(x, _mm256_slli_si256(x, 4));
        return _mm256_add_epi8(x, _mm256_slli_si256(x, 8));
    }
    /// Sums of sixteen lanes each; the odd ones add those before them, then the upper halves the sum of the lower ones.
    static PENSTOCK_INLINE Row running_sum(Row x) {
        const Half even = running_sum_of_16(x.even);
        const Half odd = _mm256_add_epi8(running_sum_of_16(x.odd), _mm256_shuffle_epi8(even, fill_half(15)));
        const Half total = _mm256_shuffle_epi8(odd, fill_half(15));
        const Half carry = _mm256_permute2x128_si256(total, total, 0x08);
        return {_mm256_add_epi8(even, carry), _mm256_add_epi8(odd, carry)};
    }

    static PENSTOCK_INLINE Row lanes_of_mask(std::uint64_t mask) {
        const Half bits = in_every_qword(mask);
        return {lanes_of(bits, table(kLookup.even_blocks)), lanes_of(bits, table(kLookup.odd_blocks))};
    }
    static PENSTOCK_INLINE Row add_one_where(Row counters, std::uint64_t mask) {
        return sub(counters, lanes_of_mask(mask));  // 255 is -1
    }
    /// A line of codes is a qword; each one is the sum of all before it.
    static PENSTOCK_INLINE Row running_lines(Row deltas, Row above) {
        const Half even = _mm256_add_epi8(deltas.even, _mm256_slli_si256(deltas.even, 8));
        Half odd = _mm256_add_epi8(deltas.odd, _mm256_slli_si256(deltas.odd, 8));
        odd = _mm256_add_epi8(odd, _mm256_unpackhi_epi64(even, even));
        const Half total = _mm256_unpackhi_epi64(odd, odd);
        const Half carry = _mm256_permute2x128_si256(total, total, 0x08);
        return add({_mm256_add_epi8(even, carry), _mm256_add_epi8(odd, carry)}, above);
    }
    static PENSTOCK_INLINE Row last_line(Row codes) {
        const Half line = _mm256_permute4x64_epi64(codes.odd, 0xff);
        return {line, line};
    }
    static PENSTOCK_INLINE Worst no_worst() { return _mm256_setzero_si256(); }
    static PENSTOCK_INLINE Worst worse(Worst worst, Row codes, std::uint8_t) {
        return _mm256_max_epu8(worst, _mm256_max_epu8(codes.even, codes.odd));
    }
    static PENSTOCK_INLINE bool is_bad(Worst worst, std::uint8_t highest) {
        const Half above = _mm256_subs_epu8(worst, fill_half(highest));
        return _mm256_testz_si256(above, above) == 0;
    }

    static PENSTOCK_INLINE void store_block(std::uint8_t* row, std::uint32_t b, std::uint64_t fields) {
        const std::uint32_t sixteen = b / 2;
        std::memcpy(row + sixteen % 2 * 32 + sixteen / 2 * 16 + b % 2 * 8, &fields, 8);
    }
    struct Lines {};
    static PENSTOCK_INLINE void prepare_lines(const Codes&, std::uint32_t, std::uint32_t, Lines&) {}
    /// Fields of a row, stored block by block.
    static constexpr bool kFieldsInMemory = true;
    struct Fields {
        alignas(32) std::uint8_t lanes[kLanes];
    };
    static PENSTOCK_INLINE void clear(Fields& fields) { store(fields.lanes, zero()); }
    static PENSTOCK_INLINE Row row_of(const Fields& fields) { return load(fields.lanes); }
    static PENSTOCK_INLINE const std::uint8_t* unpack_row(const std::uint8_t* payload, const Codes& codes, const Lines&,
                                                          std::uint32_t c, std::uint32_t y, Fields& fields) {
        const auto* widths = reinterpret_cast<const std::uint8_t*>(&codes.lines[c][y]);
#pragma GCC unroll 8
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            const std::uint64_t width = widths[b];
            store_block(fields.lanes, b, _pdep_u64(load_u64(payload), kLookup.spread[width]));
            payload += width;
        }
        return payload;
    }
    static PENSTOCK_INLINE const std::uint8_t* unpack_low_bits(const std::uint8_t* payload, std::uint64_t codes,
                                                               std::uint32_t num_rows,
                                                               std::uint8_t (&rows)[kGroupRows][kLanes]) {
        std::uint64_t begins[kBlocks];
        std::uint64_t spread[kBlocks];
        std::uint64_t row_bytes = 0;
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            const std::uint8_t width = kLookup.dense_width[(codes >> (8 * b)) & 15];
            begins[b] = row_bytes;
            spread[b] = kLookup.spread[width];
            row_bytes += width;
        }
        for (std::uint32_t r = 0; r < num_rows; ++r, payload += row_bytes) {
            for (std::uint32_t b = 0; b < kBlocks; ++b) {
                store_block(rows[r], b, _pdep_u64(load_u64(payload + begins[b]), spread[b]));
            }
        }
        return payload;
    }
    static PENSTOCK_INLINE Row rice_steps(std::uint64_t codes) {
        const Half steps = table(kLookup.dense_step);
        const Half lines = in_every_qword(codes);
        return {_mm256_shuffle_epi8(steps, _mm256_shuffle_epi8(lines, table(kLookup.even_blocks))),
                _mm256_shuffle_epi8(steps, _mm256_shuffle_epi8(lines, table(kLookup.odd_blocks)))};
    }
    static PENSTOCK_INLINE Row add_where(Row row, std::uint64_t mask, Row step) {
        return add(row, each(lanes_of_mask(mask), step, [](Half a, Half b) { return _mm256_and_si256(a, b); }));
    }

    static PENSTOCK_INLINE void store_half(std::uint8_t* out, Half value) {
        _mm256_storeu_si256(reinterpret_cast<Half*>(out), value);
    }
    /// The lower halves of two registers, the upper ones `distance` bytes further.
    static PENSTOCK_INLINE void store_two(std::uint8_t* out, std::size_t distance, Half a, Half b) {
        store_half(out, _mm256_permute2x128_si256(a, b, 0x20));
        store_half(out + distance, _mm256_permute2x128_si256(a, b, 0x31));
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row grey) {
        store_width<1>(out, width, [&](std::uint8_t* to) { store_in_order(to, grey); });
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row grey, Row alpha) {
        store_width<2>(out, width, [&](std::uint8_t* to) {
            store_two(to, 64, _mm256_unpacklo_epi8(grey.even, alpha.even), _mm256_unpackhi_epi8(grey.even, alpha.even));
            store_two(to + 32, 64, _mm256_unpacklo_epi8(grey.odd, alpha.odd),
                      _mm256_unpackhi_epi8(grey.odd, alpha.odd));
        });
    }
    /// Twice sixteen pixels as three registers of twice sixteen bytes.
    static PENSTOCK_INLINE void triples(Half red, Half green, Half blue, Half (&pieces)[3]) {
        for (int i = 0; i < 3; ++i) {
            pieces[i] = _mm256_or_si256(_mm256_or_si256(_mm256_shuffle_epi8(red, table(kLookup.rgb[i][0])),
                                                        _mm256_shuffle_epi8(green, table(kLookup.rgb[i][1]))),
                                        _mm256_shuffle_epi8(blue, table(kLookup.rgb[i][2])));
        }
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row red, Row green, Row blue) {
        store_width<3>(out, width, [&](std::uint8_t* to) {
            Half even[3];
            Half odd[3];
            triples(red.even, green.even, blue.even, even);
            triples(red.odd, green.odd, blue.odd, odd);
            store_two(to, 96, even[0], even[1]);
            store_two(to + 32, 96, even[2], odd[0]);
            store_two(to + 64, 96, odd[1], odd[2]);
        });
    }
    static PENSTOCK_INLINE void store_quads(std::uint8_t* out, Half red, Half green, Half blue, Half alpha) {
        const Half red_green[2] = {_mm256_unpacklo_epi8(red, green), _mm256_unpackhi_epi8(red, green)};
        const Half blue_alpha[2] = {_mm256_unpacklo_epi8(blue, alpha), _mm256_unpackhi_epi8(blue, alpha)};
        for (int i = 0; i < 2; ++i) {
            store_two(out + 32 * i, 128, _mm256_unpacklo_epi16(red_green[i], blue_alpha[i]),
                      _mm256_unpackhi_epi16(red_green[i], blue_alpha[i]));
        }
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row red, Row green, Row blue,
                                             Row alpha) {
        store_width<4>(out, width, [&](std::uint8_t* to) {
            store_quads(to, red.even, green.even, blue.even, alpha.even);
            store_quads(to + 64, red.odd, green.odd, blue.odd, alpha.odd);
        });
    }
};

}  // namespace

TileFault decode_tile_avx2(const TileJob& job) noexcept {
    return job.shape.sample_bytes == 2 ? decode_tile16<Avx2>(job) : decode_tile_with<Avx2>(job);
}

}  // namespace penstock::weir

#endif
