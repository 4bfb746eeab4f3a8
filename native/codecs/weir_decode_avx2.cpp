// The vocabulary of weir_decode_simd.h in AVX2 and BMI2: a row of 64 samples is two registers, fields are spread by
// pdep.
#if defined(__x86_64__)

#include "codecs/weir_decode_simd.h"
#include "codecs/weir_decode_simd16.h"

namespace penstock::weir {
namespace {

struct Lookup {
    alignas(32) std::uint8_t byte_of[32];  // lane -> byte of a 32-bit mask
    alignas(32) std::uint8_t bit_of[32];   // lane -> its bit in that byte
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
        t.byte_of[i] = static_cast<std::uint8_t>(i / 8);
        t.bit_of[i] = static_cast<std::uint8_t>(1 << (i % 8));
        t.first_lane[i] = i == 0 ? 255 : 0;
        t.last_lane[i] = i == 31 ? 255 : 0;
        const int code = i % 16;
        t.dense_step[i] = static_cast<std::uint8_t>(code == 1 ? 1 : code >= 2 && code <= 8 ? 1 << (code - 2) : 0);
        t.dense_width[code] = static_cast<std::uint8_t>(code == 9 ? 8 : code >= 2 && code <= 8 ? code - 2 : 0);
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

/// 255 in the lanes whose bit is set.
PENSTOCK_INLINE Half lanes_of(std::uint32_t mask) {
    const Half bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(mask)), table(kLookup.byte_of));
    const Half bits = table(kLookup.bit_of);
    return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bits), bits);
}

struct Avx2 {
    struct Row {
        Half low;
        Half high;
    };
    using Worst = Half;

    template <typename Operation>
    static PENSTOCK_INLINE Row each(Row a, Operation&& operation) {
        return {operation(a.low), operation(a.high)};
    }
    template <typename Operation>
    static PENSTOCK_INLINE Row each(Row a, Row b, Operation&& operation) {
        return {operation(a.low, b.low), operation(a.high, b.high)};
    }

    static PENSTOCK_INLINE Row zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
    static PENSTOCK_INLINE Row fill(std::uint8_t value) { return {fill_half(value), fill_half(value)}; }
    static PENSTOCK_INLINE Row load(const std::uint8_t* row) {
        const auto* halves = reinterpret_cast<const Half*>(row);
        return {_mm256_load_si256(halves), _mm256_load_si256(halves + 1)};
    }
    static PENSTOCK_INLINE void store(std::uint8_t* row, Row value) {
        auto* halves = reinterpret_cast<Half*>(row);
        _mm256_store_si256(halves, value.low);
        _mm256_store_si256(halves + 1, value.high);
    }
    static PENSTOCK_INLINE Row add(Row a, Row b) {
        return {_mm256_add_epi8(a.low, b.low), _mm256_add_epi8(a.high, b.high)};
    }
    static PENSTOCK_INLINE Row sub(Row a, Row b) {
        return {_mm256_sub_epi8(a.low, b.low), _mm256_sub_epi8(a.high, b.high)};
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
        const Half lane = _mm256_broadcastb_epi8(_mm256_castsi256_si128(v.low));
        return {lane, lane};
    }
    static PENSTOCK_INLINE Row smooth(Row v) {
        const Half middle = _mm256_permute2x128_si256(v.low, v.high, 0x21);
        const Half before = _mm256_permute2x128_si256(v.low, v.low, 0x08);   // zero, v0
        const Half after = _mm256_permute2x128_si256(v.high, v.high, 0x81);  // v3, zero
        const Row left{
            _mm256_or_si256(_mm256_alignr_epi8(v.low, before, 15), _mm256_and_si256(v.low, table(kLookup.first_lane))),
            _mm256_alignr_epi8(v.high, middle, 15)};
        const Row right{
            _mm256_alignr_epi8(middle, v.low, 1),
            _mm256_or_si256(_mm256_alignr_epi8(after, v.high, 1), _mm256_and_si256(v.high, table(kLookup.last_lane)))};
        return each(mean(left, right), v, [](Half a, Half b) { return _mm256_avg_epu8(a, b); });
    }
    static PENSTOCK_INLINE Row unzigzag(Row z) {
        return each(z, [](Half h) {
            const Half sign = _mm256_sub_epi8(_mm256_setzero_si256(), _mm256_and_si256(h, fill_half(1)));
            return _mm256_xor_si256(_mm256_and_si256(_mm256_srli_epi16(h, 1), fill_half(0x7f)), sign);
        });
    }
    static PENSTOCK_INLINE Half running_sum_half(Half x) {
        x = _mm256_add_epi8(x, _mm256_slli_si256(x, 1));
        x = _mm256_add_epi8(x, _mm256_slli_si256(x, 2));
        x = _mm256_add_epi8(x, _mm256_slli_si256(x, 4));
        x = _mm256_add_epi8(x, _mm256_slli_si256(x, 8));
        const Half carry = _mm256_shuffle_epi8(_mm256_permute2x128_si256(x, x, 0x08), fill_half(15));
        return _mm256_add_epi8(x, carry);
    }
    static PENSTOCK_INLINE Row running_sum(Row x) {
        const Half low = running_sum_half(x.low);
        const Half carry = _mm256_shuffle_epi8(_mm256_permute4x64_epi64(low, 0xff), fill_half(7));
        return {low, _mm256_add_epi8(running_sum_half(x.high), carry)};
    }

    static PENSTOCK_INLINE Row add_one_where(Row counters, std::uint64_t mask) {
        // The lanes are 255, which is -1.
        return {_mm256_sub_epi8(counters.low, lanes_of(static_cast<std::uint32_t>(mask))),
                _mm256_sub_epi8(counters.high, lanes_of(static_cast<std::uint32_t>(mask >> 32)))};
    }
    static PENSTOCK_INLINE Half running_lines_half(Half x) {
        x = _mm256_add_epi8(x, _mm256_slli_si256(x, 8));
        const Half carry = _mm256_permute4x64_epi64(_mm256_permute2x128_si256(x, x, 0x08), 0xf5);
        return _mm256_add_epi8(x, carry);
    }
    /// A line of codes is a qword; each one is the sum of all before it.
    static PENSTOCK_INLINE Row running_lines(Row deltas, Row above) {
        const Half low = _mm256_add_epi8(running_lines_half(deltas.low), above.low);
        const Half carry = _mm256_permute4x64_epi64(low, 0xff);
        return {low, _mm256_add_epi8(running_lines_half(deltas.high), carry)};
    }
    static PENSTOCK_INLINE Row last_line(Row codes) {
        const Half line = _mm256_permute4x64_epi64(codes.high, 0xff);
        return {line, line};
    }
    static PENSTOCK_INLINE Worst no_worst() { return _mm256_setzero_si256(); }
    static PENSTOCK_INLINE Worst worse(Worst worst, Row codes, std::uint8_t) {
        return _mm256_max_epu8(worst, _mm256_max_epu8(codes.low, codes.high));
    }
    static PENSTOCK_INLINE bool is_bad(Worst worst, std::uint8_t highest) {
        const Half above = _mm256_subs_epu8(worst, fill_half(highest));
        return _mm256_testz_si256(above, above) == 0;
    }

    static PENSTOCK_INLINE void store_block(std::uint8_t* row, std::uint32_t b, std::uint64_t fields) {
        std::memcpy(row + std::size_t{b} * kBlockLanes, &fields, 8);
    }
    static PENSTOCK_INLINE Half four_blocks(const std::uint64_t* blocks) {
        return _mm256_set_epi64x(static_cast<long long>(blocks[3]), static_cast<long long>(blocks[2]),
                                 static_cast<long long>(blocks[1]), static_cast<long long>(blocks[0]));
    }
    static PENSTOCK_INLINE Row from_blocks(const std::uint64_t (&blocks)[kBlocks]) {
        return {four_blocks(blocks), four_blocks(blocks + 4)};
    }
    struct Lines {};
    static PENSTOCK_INLINE void prepare_lines(const Codes&, std::uint32_t, std::uint32_t, Lines&) {}
    static PENSTOCK_INLINE const std::uint8_t* unpack_row(const std::uint8_t* payload, const Codes& codes, const Lines&,
                                                          std::uint32_t c, std::uint32_t y, Row& row) {
        const auto* widths = reinterpret_cast<const std::uint8_t*>(&codes.lines[c][y]);
        std::uint64_t blocks[kBlocks];
#pragma GCC unroll 8
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            const std::uint64_t width = widths[b];
            blocks[b] = _pdep_u64(load_u64(payload), kLookup.spread[width]);
            payload += width;
        }
        row = from_blocks(blocks);
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
        const Half low = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(codes)), table(kLookup.byte_of));
        const Half high = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(codes >> 32)), table(kLookup.byte_of));
        return {_mm256_shuffle_epi8(steps, low), _mm256_shuffle_epi8(steps, high)};
    }

    static PENSTOCK_INLINE Row add_where(Row row, std::uint64_t mask, Row step) {
        const auto low = static_cast<std::uint32_t>(mask);
        const auto high = static_cast<std::uint32_t>(mask >> 32);
        return {_mm256_add_epi8(row.low, _mm256_and_si256(lanes_of(low), step.low)),
                _mm256_add_epi8(row.high, _mm256_and_si256(lanes_of(high), step.high))};
    }

    /// Writes 64 pixels, by way of a scratch row where fewer are wanted.
    template <std::size_t Channels, typename Write>
    static PENSTOCK_INLINE void store_width(std::uint8_t* out, std::uint32_t width, Write&& write) {
        if (width == kLanes) {
            write(out);
            return;
        }
        std::uint8_t scratch[kLanes * Channels];
        write(scratch);
        std::memcpy(out, scratch, std::size_t{width} * Channels);
    }
    static PENSTOCK_INLINE void store_half(std::uint8_t* out, Half value) {
        _mm256_storeu_si256(reinterpret_cast<Half*>(out), value);
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row grey) {
        store_width<1>(out, width, [&](std::uint8_t* to) {
            store_half(to, grey.low);
            store_half(to + 32, grey.high);
        });
    }
    /// Interleaves bytes; `out` gets the 64 bytes of 32 pairs.
    static PENSTOCK_INLINE void store_pairs(std::uint8_t* out, Half a, Half b) {
        const Half low = _mm256_unpacklo_epi8(a, b);
        const Half high = _mm256_unpackhi_epi8(a, b);
        store_half(out, _mm256_permute2x128_si256(low, high, 0x20));
        store_half(out + 32, _mm256_permute2x128_si256(low, high, 0x31));
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row grey, Row alpha) {
        store_width<2>(out, width, [&](std::uint8_t* to) {
            store_pairs(to, grey.low, alpha.low);
            store_pairs(to + 64, grey.high, alpha.high);
        });
    }
    static PENSTOCK_INLINE void store_triples(std::uint8_t* out, Half red, Half green, Half blue) {
        Half pieces[3];
        for (int i = 0; i < 3; ++i) {
            pieces[i] = _mm256_or_si256(_mm256_or_si256(_mm256_shuffle_epi8(red, table(kLookup.rgb[i][0])),
                                                        _mm256_shuffle_epi8(green, table(kLookup.rgb[i][1]))),
                                        _mm256_shuffle_epi8(blue, table(kLookup.rgb[i][2])));
        }
        store_half(out, _mm256_permute2x128_si256(pieces[0], pieces[1], 0x20));
        store_half(out + 32, _mm256_permute2x128_si256(pieces[2], pieces[0], 0x30));
        store_half(out + 64, _mm256_permute2x128_si256(pieces[1], pieces[2], 0x31));
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row red, Row green, Row blue) {
        store_width<3>(out, width, [&](std::uint8_t* to) {
            store_triples(to, red.low, green.low, blue.low);
            store_triples(to + 96, red.high, green.high, blue.high);
        });
    }
    static PENSTOCK_INLINE void store_quads(std::uint8_t* out, Half red, Half green, Half blue, Half alpha) {
        const Half red_green[2] = {_mm256_unpacklo_epi8(red, green), _mm256_unpackhi_epi8(red, green)};
        const Half blue_alpha[2] = {_mm256_unpacklo_epi8(blue, alpha), _mm256_unpackhi_epi8(blue, alpha)};
        for (int i = 0; i < 2; ++i) {
            const Half low = _mm256_unpacklo_epi16(red_green[i], blue_alpha[i]);
            const Half high = _mm256_unpackhi_epi16(red_green[i], blue_alpha[i]);
            store_half(out + 32 * i, _mm256_permute2x128_si256(low, high, 0x20));
            store_half(out + 64 + 32 * i, _mm256_permute2x128_si256(low, high, 0x31));
        }
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row red, Row green, Row blue,
                                             Row alpha) {
        store_width<4>(out, width, [&](std::uint8_t* to) {
            store_quads(to, red.low, green.low, blue.low, alpha.low);
            store_quads(to + 128, red.high, green.high, blue.high, alpha.high);
        });
    }
};

}  // namespace

TileFault decode_tile_avx2(const TileJob& job) noexcept {
    return job.shape.sample_bytes == 2 ? decode_tile16<Avx2>(job) : decode_tile_with<Avx2>(job);
}

}  // namespace penstock::weir

#endif
