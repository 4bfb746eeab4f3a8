// The vocabulary of weir_decode_simd.h in NEON, which every 64-bit ARM has: a row of 64 samples is four registers.
#if defined(__aarch64__)

#include <arm_neon.h>

#include "codecs/weir_decode_simd.h"
#include "codecs/weir_decode_simd16.h"

namespace penstock::weir {
namespace {

using Part = uint8x16_t;

constexpr std::uint32_t kParts = 4;
constexpr std::uint32_t kPartLanes = 16;

struct Lookup {
    alignas(16) std::uint8_t block_of[kParts][16];  // lane -> its block, by part
    alignas(16) std::uint8_t bit_of[16];            // lane -> its bit in a byte that stands for a block
    alignas(16) std::uint8_t field_mask[16];        // width -> that many ones
    alignas(16) std::uint8_t dense_width[16];       // dense code -> width of its fields
    alignas(16) std::uint8_t dense_step[16];        // dense code -> 2^k
};

constexpr Lookup make_lookup() {
    Lookup t{};
    for (int i = 0; i < 16; ++i) {
        for (int part = 0; part < 4; ++part) t.block_of[part][i] = static_cast<std::uint8_t>(part * 2 + i / 8);
        t.bit_of[i] = static_cast<std::uint8_t>(1 << (i % 8));
        t.field_mask[i] = static_cast<std::uint8_t>(i <= 8 ? (1 << i) - 1 : 0);
        t.dense_width[i] = dense_width(i);
        t.dense_step[i] = dense_step(i);
    }
    return t;
}

constexpr Lookup kLookup = make_lookup();

PENSTOCK_INLINE Part table(const std::uint8_t (&bytes)[16]) { return vld1q_u8(bytes); }
PENSTOCK_INLINE Part in_every_qword(std::uint64_t value) { return vreinterpretq_u8_u64(vdupq_n_u64(value)); }

struct Neon {
    struct Row {
        Part parts[kParts];
    };
    using Worst = Part;

    template <typename Operation>
    static PENSTOCK_INLINE Row each(Row a, Operation&& operation) {
        return {{operation(a.parts[0]), operation(a.parts[1]), operation(a.parts[2]), operation(a.parts[3])}};
    }
    template <typename Operation>
    static PENSTOCK_INLINE Row each(Row a, Row b, Operation&& operation) {
        return {{operation(a.parts[0], b.parts[0]), operation(a.parts[1], b.parts[1]),
                 operation(a.parts[2], b.parts[2]), operation(a.parts[3], b.parts[3])}};
    }

    static PENSTOCK_INLINE Row fill(std::uint8_t value) {
        const Part part = vdupq_n_u8(value);
        return {{part, part, part, part}};
    }
    static PENSTOCK_INLINE Row zero() { return fill(0); }
    static PENSTOCK_INLINE Row load(const std::uint8_t* row) {
        return {{vld1q_u8(row), vld1q_u8(row + 16), vld1q_u8(row + 32), vld1q_u8(row + 48)}};
    }
    static PENSTOCK_INLINE void store(std::uint8_t* row, Row value) {
        for (std::uint32_t i = 0; i < kParts; ++i) vst1q_u8(row + i * kPartLanes, value.parts[i]);
    }
    static PENSTOCK_INLINE void store_in_order(std::uint8_t* out, Row value) { store(out, value); }
    static PENSTOCK_INLINE Row add(Row a, Row b) {
        return each(a, b, [](Part x, Part y) { return vaddq_u8(x, y); });
    }
    static PENSTOCK_INLINE Row sub(Row a, Row b) {
        return each(a, b, [](Part x, Part y) { return vsubq_u8(x, y); });
    }
    static PENSTOCK_INLINE Row half(Row v) {
        return each(v, [](Part x) { return vshrq_n_u8(x, 1); });
    }
    static PENSTOCK_INLINE Row quarter(Row v) {
        return each(v, [](Part x) { return vshrq_n_u8(x, 2); });
    }
    static PENSTOCK_INLINE Row half_signed(Row v) {
        return each(v, [](Part x) { return vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8(x), 1)); });
    }
    /// (a + b) >> 1
    static PENSTOCK_INLINE Row mean(Row a, Row b) {
        return each(a, b, [](Part x, Part y) { return vhaddq_u8(x, y); });
    }
    static PENSTOCK_INLINE Row first(Row v) {
        const Part lane = vdupq_laneq_u8(v.parts[0], 0);
        return {{lane, lane, lane, lane}};
    }
    static PENSTOCK_INLINE Row smooth(Row v) {
        const Part before = vdupq_laneq_u8(v.parts[0], 0);
        const Part after = vdupq_laneq_u8(v.parts[3], 15);
        Row result;
        for (std::uint32_t i = 0; i < kParts; ++i) {
            const Part left = vextq_u8(i == 0 ? before : v.parts[i - 1], v.parts[i], 15);
            const Part right = vextq_u8(v.parts[i], i == kParts - 1 ? after : v.parts[i + 1], 1);
            result.parts[i] = vrhaddq_u8(vhaddq_u8(left, right), v.parts[i]);
        }
        return result;
    }
    static PENSTOCK_INLINE Row unzigzag(Row z) {
        return each(z, [](Part x) { return veorq_u8(vshrq_n_u8(x, 1), vtstq_u8(x, vdupq_n_u8(1))); });
    }
    /// Sums of sixteen lanes each; then each sixteen adds the sum of those before it.
    static PENSTOCK_INLINE Row running_sum(Row x) {
        const Part none = vdupq_n_u8(0);
        Row sums = each(x, [&](Part v) {
            v = vaddq_u8(v, vextq_u8(none, v, 15));
            v = vaddq_u8(v, vextq_u8(none, v, 14));
            v = vaddq_u8(v, vextq_u8(none, v, 12));
            return vaddq_u8(v, vextq_u8(none, v, 8));
        });
        for (std::uint32_t i = 1; i < kParts; ++i) {
            sums.parts[i] = vaddq_u8(sums.parts[i], vdupq_laneq_u8(sums.parts[i - 1], 15));
        }
        return sums;
    }

    /// Eight bytes, one for each block, all over the lanes of their blocks.
    static PENSTOCK_INLINE Row over_blocks(std::uint64_t bytes) {
        const Part all = in_every_qword(bytes);
        return {{vqtbl1q_u8(all, table(kLookup.block_of[0])), vqtbl1q_u8(all, table(kLookup.block_of[1])),
                 vqtbl1q_u8(all, table(kLookup.block_of[2])), vqtbl1q_u8(all, table(kLookup.block_of[3]))}};
    }
    /// 255 in the lanes whose bit is set.
    static PENSTOCK_INLINE Row lanes_of_mask(std::uint64_t mask) {
        const Part bits = table(kLookup.bit_of);
        return each(over_blocks(mask), [&](Part x) { return vtstq_u8(x, bits); });
    }
    static PENSTOCK_INLINE Row add_one_where(Row counters, std::uint64_t mask) {
        return sub(counters, lanes_of_mask(mask));  // 255 is -1
    }
    static PENSTOCK_INLINE Row add_where(Row row, std::uint64_t mask, Row step) {
        return add(row, each(lanes_of_mask(mask), step, [](Part x, Part y) { return vandq_u8(x, y); }));
    }
    static PENSTOCK_INLINE Part second_line(Part two) {
        return vreinterpretq_u8_u64(vdupq_laneq_u64(vreinterpretq_u64_u8(two), 1));
    }
    /// A line of codes is a qword; each one is the sum of all before it.
    static PENSTOCK_INLINE Row running_lines(Row deltas, Row above) {
        const Part none = vdupq_n_u8(0);
        Row lines = each(deltas, [&](Part v) { return vaddq_u8(v, vextq_u8(none, v, 8)); });
        lines.parts[0] = vaddq_u8(lines.parts[0], above.parts[0]);
        for (std::uint32_t i = 1; i < kParts; ++i) {
            lines.parts[i] = vaddq_u8(lines.parts[i], second_line(lines.parts[i - 1]));
        }
        return lines;
    }
    static PENSTOCK_INLINE Row last_line(Row codes) {
        const Part line = second_line(codes.parts[3]);
        return {{line, line, line, line}};
    }
    static PENSTOCK_INLINE Worst no_worst() { return vdupq_n_u8(0); }
    static PENSTOCK_INLINE Worst worse(Worst worst, Row codes, std::uint8_t) {
        for (const Part part : codes.parts) worst = vmaxq_u8(worst, part);
        return worst;
    }
    static PENSTOCK_INLINE bool is_bad(Worst worst, std::uint8_t highest) { return vmaxvq_u8(worst) > highest; }

    /// How to pick the fields of a row whose eight blocks have these widths: as weir_deposit_neon.h deals bits by
    /// halves, eight fields are dealt to two times four, four times two, and eight.
    struct Picks {
        int8x16_t by_field[kParts];  // minus the width, all over a block
        Part masks[kParts];
        std::uint64_t ends;  // byte b: where block b ends in the row's payload
    };
    static PENSTOCK_INLINE Picks picks(std::uint64_t widths) {
        const Row lane_widths = over_blocks(widths);
        Picks result;
        for (std::uint32_t i = 0; i < kParts; ++i) {
            result.by_field[i] = vnegq_s8(vreinterpretq_s8_u8(lane_widths.parts[i]));
            result.masks[i] = vqtbl1q_u8(table(kLookup.field_mask), lane_widths.parts[i]);
        }
        result.ends = widths * kOnes;  // running sums
        return result;
    }
    static PENSTOCK_INLINE Row pick(const Picks& f, const std::uint8_t* payload) {
        Row row;
        for (std::uint32_t i = 0; i < kParts; ++i) {
            const std::uint64_t first = i == 0 ? 0 : (f.ends >> (16 * i - 8)) & 255;
            const std::uint64_t second = (f.ends >> (16 * i)) & 255;
            const uint64x2_t two = vcombine_u64(vreinterpret_u64_u8(vld1_u8(payload + first)),
                                                vreinterpret_u64_u8(vld1_u8(payload + second)));
            const int8x16_t by_field = f.by_field[i];
            row.parts[i] =
                vandq_u8(deal_to_bytes(two, by_field, vshlq_n_s8(by_field, 1), vshlq_n_s8(by_field, 2)), f.masks[i]);
        }
        return row;
    }
    struct Lines {};
    static PENSTOCK_INLINE void prepare_lines(const Codes&, std::uint32_t, std::uint32_t, Lines&) {}
    static constexpr bool kFieldsInMemory = false;
    using Fields = Row;
    static PENSTOCK_INLINE void clear(Fields& fields) { fields = zero(); }
    static PENSTOCK_INLINE Row row_of(const Fields& fields) { return fields; }
    static PENSTOCK_INLINE const std::uint8_t* unpack_row(const std::uint8_t* payload, const Codes& codes, const Lines&,
                                                          std::uint32_t c, std::uint32_t y, Fields& fields) {
        const Picks f = picks(codes.lines[c][y]);
        fields = pick(f, payload);
        return payload + (f.ends >> 56);
    }
    static PENSTOCK_INLINE const std::uint8_t* unpack_low_bits(const std::uint8_t* payload, std::uint64_t codes,
                                                               std::uint32_t num_rows,
                                                               std::uint8_t (&rows)[kGroupRows][kLanes]) {
        const uint8x8_t widths = vqtbl1_u8(table(kLookup.dense_width), vcreate_u8(codes));
        const Picks f = picks(vget_lane_u64(vreinterpret_u64_u8(widths), 0));
        for (std::uint32_t r = 0; r < num_rows; ++r, payload += f.ends >> 56) store(rows[r], pick(f, payload));
        return payload;
    }
    static PENSTOCK_INLINE Row rice_steps(std::uint64_t codes) {
        const Part steps = table(kLookup.dense_step);
        return each(over_blocks(codes), [&](Part x) { return vqtbl1q_u8(steps, x); });
    }

    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row grey) {
        store_width<1>(out, width, [&](std::uint8_t* to) { store_in_order(to, grey); });
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row grey, Row alpha) {
        store_width<2>(out, width, [&](std::uint8_t* to) {
            for (std::uint32_t i = 0; i < kParts; ++i, to += 2 * kPartLanes) {
                vst2q_u8(to, {{grey.parts[i], alpha.parts[i]}});
            }
        });
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row red, Row green, Row blue) {
        store_width<3>(out, width, [&](std::uint8_t* to) {
            for (std::uint32_t i = 0; i < kParts; ++i, to += 3 * kPartLanes) {
                vst3q_u8(to, {{red.parts[i], green.parts[i], blue.parts[i]}});
            }
        });
    }
    static PENSTOCK_INLINE void store_pixels(std::uint8_t* out, std::uint32_t width, Row red, Row green, Row blue,
                                             Row alpha) {
        store_width<4>(out, width, [&](std::uint8_t* to) {
            for (std::uint32_t i = 0; i < kParts; ++i, to += 4 * kPartLanes) {
                vst4q_u8(to, {{red.parts[i], green.parts[i], blue.parts[i], alpha.parts[i]}});
            }
        });
    }
};

}  // namespace

TileFault decode_tile_neon(const TileJob& job) noexcept {
    return job.shape.sample_bytes == 2 ? decode_tile16<Neon>(job) : decode_tile_with<Neon>(job);
}

}  // namespace penstock::weir

#endif
