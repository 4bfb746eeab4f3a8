// The tile decoder for samples of 16 bits, shared by the vector paths like weir_decode_simd.h, which it builds on.
// Bit streams go through the same vocabulary; rows are loops over 64 lanes that the compiler turns into the vectors of
// the instruction set this is compiled for.
#pragma once

#include "codecs/weir_decode_simd.h"

namespace penstock::weir {
namespace {

struct Row16 {
    alignas(64) std::uint16_t lanes[kLanes];
};

struct TileState16 {
    Codes codes;
    Row16 above[kMaxPlanes];             ///< by coded plane
    Row16 rows[kMaxPlanes][kGroupRows];  ///< by plane: the group's samples
    std::uint8_t plane_of[kMaxPlanes];
    std::uint32_t num_coded = 0;
    const std::uint8_t* payload = nullptr;
    const std::uint8_t* masks = nullptr;
    std::uint32_t num_masks = 0;
    std::uint64_t unary_position[kMaxPlanes] = {};
};

PENSTOCK_INLINE void fill_row(Row16& row, std::uint16_t value) {
    for (std::uint16_t& lane : row.lanes) lane = value;
}

/// A block of eight fields is `width` bytes; the upper four begin in its middle, at a half byte if the width is odd.
PENSTOCK_INLINE void unpack_block(const std::uint8_t* block, std::uint32_t width, std::uint16_t* lanes) {
    const std::uint64_t low = spread_fields(load_u64(block), width);
    const std::uint64_t high = spread_fields(load_u64(block + width / 2) >> ((width & 1) * 4), width);
    std::memcpy(lanes, &low, 8);
    std::memcpy(lanes + 4, &high, 8);
}

PENSTOCK_INLINE const std::uint8_t* unpack_row16(const std::uint8_t* payload, std::uint64_t widths, Row16& row) {
    for (std::uint32_t b = 0; b < kBlocks; ++b) {
        const std::uint32_t width = (widths >> (8 * b)) & 255;
        unpack_block(payload, width, row.lanes + b * kBlockLanes);
        payload += width;
    }
    return payload;
}

/// Widths of the fields of dense blocks: k of Rice, 16 of raw, 0 of zero and sparse.
PENSTOCK_INLINE std::uint64_t dense_widths16(std::uint64_t codes) {
    const std::uint64_t two = at_least(codes, 2);
    const std::uint64_t raw = at_least(codes, highest_code(Profile::dense, 2));
    return ((codes & (two * 255)) - 2 * two) + raw;  // 17 - 2 + 1 = 16
}

PENSTOCK_INLINE void unzigzag_row(Row16& row) {
    for (std::uint16_t& z : row.lanes) z = static_cast<std::uint16_t>((z >> 1) ^ -(z & 1));
}

PENSTOCK_INLINE void running_sum_row(Row16& row) {
    std::uint16_t sum = 0;
    for (std::uint16_t& lane : row.lanes) lane = sum = static_cast<std::uint16_t>(sum + lane);
}

PENSTOCK_INLINE void smooth_row(const Row16& t, Row16& a) {
    std::uint16_t padded[kLanes + 2];
    padded[0] = t.lanes[0];
    std::memcpy(padded + 1, t.lanes, sizeof t.lanes);
    padded[kLanes + 1] = t.lanes[kLanes - 1];
    for (std::uint32_t j = 0; j < kLanes; ++j) {
        const std::uint32_t sides = (std::uint32_t{padded[j]} + padded[j + 2]) >> 1;
        a.lanes[j] = static_cast<std::uint16_t>((sides + padded[j + 1] + 1) >> 1);
    }
}

/// f of the specification for the modes that sum up; mode 3 is f = T.
PENSTOCK_INLINE void weaken_row(unsigned mode, const Row16& t, Row16& f) {
    if (mode >= 5) {
        smooth_row(t, f);
    } else {
        f = t;
    }
    if (mode == 4 || mode == 6) {
        for (std::uint16_t& lane : f.lanes) lane >>= 1;
    } else if (mode == 7) {
        for (std::uint16_t& lane : f.lanes) lane = static_cast<std::uint16_t>(lane - (lane >> 2));
    } else if (mode == 2) {
        fill_row(f, 0);
    }
}

PENSTOCK_INLINE void predict_row16(unsigned mode, Row16& row, Row16& above) {
    unzigzag_row(row);
    Row16 f;
    std::uint16_t offset = 0;
    if (mode == 0) {
        f = above;
    } else if (mode == 1) {
        smooth_row(above, f);
    } else {
        running_sum_row(row);
        weaken_row(mode, above, f);
        offset = static_cast<std::uint16_t>(above.lanes[0] - f.lanes[0]);
    }
    for (std::uint32_t j = 0; j < kLanes; ++j) {
        row.lanes[j] = static_cast<std::uint16_t>(row.lanes[j] + f.lanes[j] + offset);
    }
    above = row;
}

/// Adds quotient x 2^k to each lane of a group.
template <typename Vector>
PENSTOCK_INLINE std::uint64_t add_quotients16(Row16 (&rows)[kGroupRows], const std::uint64_t (&alive)[kGroupRows],
                                              std::uint64_t widths, const std::uint8_t* stream,
                                              std::uint64_t position) {
    UnaryGroup unary;
    if (start_quotients(unary, alive, stream, position)) read_long_quotients(unary);
    const Quotients digits = finish_quotients(unary, position);
    typename Vector::Row counts[kGroupRows];
    for (auto& row : counts) row = Vector::zero();
    for (std::uint32_t k = 0; k < kDigits; ++k) {
        const auto step = Vector::fill(static_cast<std::uint8_t>(1U << k));
        for (std::uint32_t r = 0; r < kGroupRows; ++r) {
            counts[r] = Vector::add_where(counts[r], digits.digits[k][r], step);
        }
    }
    for (std::uint32_t r = 0; r < kGroupRows; ++r) {
        alignas(64) std::uint8_t quotients[kLanes];
        Vector::store_in_order(quotients, counts[r]);
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            const std::uint32_t k = (widths >> (8 * b)) & 15;  // raw blocks have no quotients: 16 may read as 0
            for (std::uint32_t j = b * kBlockLanes; j < (b + 1) * kBlockLanes; ++j) {
                rows[r].lanes[j] = static_cast<std::uint16_t>(rows[r].lanes[j] + (std::uint32_t{quotients[j]} << k));
            }
        }
    }
    return position;
}

PENSTOCK_INLINE std::uint16_t half_signed16(std::uint16_t v) {
    return static_cast<std::uint16_t>(static_cast<std::int16_t>(v) >> 1);
}

PENSTOCK_INLINE void undo_transform16(unsigned transform, Row16& red, Row16& green, Row16& blue) {
    constexpr std::uint16_t half = 0x8000;
    for (std::uint32_t j = 0; j < kLanes; ++j) {
        std::uint16_t r = red.lanes[j];
        std::uint16_t g = green.lanes[j];
        std::uint16_t b = blue.lanes[j];
        if (transform == 1) {
            r = static_cast<std::uint16_t>(r + g - half);
            b = static_cast<std::uint16_t>(b + g - half);
        } else if (transform == 2) {
            const auto orange = static_cast<std::uint16_t>(r - half);
            const auto leaf = static_cast<std::uint16_t>(b - half);
            const auto t = static_cast<std::uint16_t>(g - half_signed16(leaf));
            g = static_cast<std::uint16_t>(leaf + t);
            b = static_cast<std::uint16_t>(t - half_signed16(orange));
            r = static_cast<std::uint16_t>(b + orange);
        } else if (transform == 3) {
            r = static_cast<std::uint16_t>(r + g - half);
            b = static_cast<std::uint16_t>(b + ((std::uint32_t{r} + g) >> 1) - half);
        }
        red.lanes[j] = r;
        green.lanes[j] = g;
        blue.lanes[j] = b;
    }
}

template <std::uint32_t Channels>
PENSTOCK_INLINE void store_pixels16(std::uint8_t* out, std::uint32_t width, const Row16* (&channels)[kMaxPlanes]) {
    std::uint16_t pixels[kLanes * Channels];
    for (std::uint32_t j = 0; j < kLanes; ++j) {
        for (std::uint32_t c = 0; c < Channels; ++c) pixels[j * Channels + c] = channels[c]->lanes[j];
    }
    std::memcpy(out, pixels, std::size_t{width} * Channels * 2);
}

PENSTOCK_INLINE void store_group16(const TileJob& job, TileState16& state, std::uint32_t group) {
    const std::uint32_t num_rows = job.rows_to_write(group);
    std::uint8_t* out = job.out + std::size_t{group} * kGroupRows * job.row_stride;
    for (std::uint32_t r = 0; r < num_rows; ++r, out += job.row_stride) {
        Row16 color[3];
        const Row16* channels[kMaxPlanes] = {&state.rows[0][r], &state.rows[1][r], &state.rows[2][r],
                                             &state.rows[3][r]};
        if (job.shape.channels >= 3) {
            for (std::uint32_t p = 0; p < 3; ++p) color[p] = state.rows[p][r];
            undo_transform16(job.parts.transform, color[1], color[0], color[2]);
            channels[0] = &color[1];
            channels[1] = &color[0];
            channels[2] = &color[2];
        }
        switch (job.shape.channels) {
            case 1: store_pixels16<1>(out, job.shape.width, channels); break;
            case 2: store_pixels16<2>(out, job.shape.width, channels); break;
            case 3: store_pixels16<3>(out, job.shape.width, channels); break;
            default: store_pixels16<4>(out, job.shape.width, channels); break;
        }
    }
}

PENSTOCK_INLINE void start_tile16(const TileJob& job, TileState16& state) {
    for (std::uint8_t plane = 0; plane < job.shape.channels && plane < kMaxPlanes; ++plane) {
        if ((job.parts.constant >> plane & 1) != 0) {
            for (Row16& row : state.rows[plane]) fill_row(row, job.parts.base[plane]);
            continue;
        }
        fill_row(state.above[state.num_coded], job.parts.base[plane]);
        state.plane_of[state.num_coded++] = plane;
    }
    state.payload = job.parts.payload.data();
}

/// Residuals of one plane of a group, zigzag.
template <typename Vector>
PENSTOCK_INLINE void read_group16(const TileJob& job, TileState16& state, std::uint32_t group, std::uint32_t c,
                                  Row16 (&rows)[kGroupRows]) {
    const std::uint32_t num_rows = rows_of_group(job, group);
    const bool dense = job.shape.profile == Profile::dense;
    const std::uint64_t* lines = &state.codes.lines[c][dense ? group : group * kGroupRows];
    const std::uint64_t widths = dense ? dense_widths16(lines[0]) : 0;
    for (std::uint32_t r = 0; r < kGroupRows; ++r) {
        const std::uint64_t row_widths = r >= num_rows ? 0 : dense ? widths : lines[r];
        state.payload = unpack_row16(state.payload, row_widths, rows[r]);
    }
    if (!dense) return;
    const LevelBlocks blocks = level_blocks(lines[0], highest_code(Profile::dense, 2), num_rows, state);
    std::uint64_t alive[kGroupRows];
    for (std::uint32_t r = 0; r < kGroupRows; ++r) {
        alive[r] = deposit_bytes(load_u64(state.payload), blocks.rows[r]);
        state.payload += count_ones(blocks.rows[r]);
    }
    state.unary_position[c] = add_quotients16<Vector>(rows, alive, widths, job.parts.unary[state.plane_of[c]].data(),
                                                      state.unary_position[c]);
}

template <typename Vector>
PENSTOCK_INLINE TileFault read_control16(const TileJob& job, TileState16& state) {
    const Profile profile = job.shape.profile;
    const std::uint64_t end = decode_control<Vector>(state.num_coded, job.parts.control, job.shape.lines(),
                                                     highest_code(profile, 2), state.codes);
    if (end == kBadControl) return TileFault::code;
    std::uint64_t bytes = (end + 7) / 8;
    state.masks = job.parts.control.data() + bytes;
    if (profile == Profile::dense) bytes += (count_sparse(state.codes, state.num_coded, job.shape.groups()) + 1) / 2;
    return bytes == job.parts.control.size() ? TileFault::none : TileFault::control;
}

template <typename Vector>
PENSTOCK_INLINE TileFault decode_tile16(const TileJob& job) {
    TileState16 state;
    start_tile16(job, state);
    if (const TileFault fault = read_control16<Vector>(job, state); fault != TileFault::none) return fault;
    const std::uint8_t* payload_end = job.parts.payload.data() + job.parts.payload.size();
    const std::uint32_t groups = job.wanted_groups();
    for (std::uint32_t group = 0; group < groups; ++group) {
        for (std::uint32_t c = 0; c < state.num_coded; ++c) {
            const std::uint8_t plane = state.plane_of[c];
            if (state.payload > payload_end) return TileFault::payload;
            if (state.unary_position[c] > job.parts.unary[plane].size() * 8) return TileFault::unary;
            read_group16<Vector>(job, state, group, c, state.rows[plane]);
            const unsigned mode = mode_at(job, group * state.num_coded + c);
            for (Row16& row : state.rows[plane]) predict_row16(mode, row, state.above[c]);
        }
        store_group16(job, state, group);
    }
    if (!job.wants_all()) return TileFault::none;
    for (std::uint32_t c = 0; c < state.num_coded; ++c) {
        if ((state.unary_position[c] + 7) / 8 != job.parts.unary[state.plane_of[c]].size()) return TileFault::unary;
    }
    return state.payload == payload_end ? TileFault::none : TileFault::payload;
}

}  // namespace
}  // namespace penstock::weir
