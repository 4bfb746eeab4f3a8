// The tile decoder that all vector paths share: the order of things in spec/weir.md, written once over a small
// vocabulary of row operations that each path brings (`Vector`). Included by weir_decode_avx2.cpp,
// weir_decode_avx512.cpp and weir_decode_neon.cpp only; everything here has internal linkage, so that no copy compiled
// for one instruction set can be linked into the other. Samples of 8 bits; 16 bits are in weir_decode_simd16.h.
#pragma once

#include "codecs/weir_decode_bits.h"
#include "codecs/weir_decode_unary.h"

namespace penstock::weir {
namespace {

/// Meaning of the code of a dense block, for the tables of the paths: the bits of a field, and the step that a quotient
/// counts (1 for a sparse block). 0 for codes without one.
constexpr std::uint8_t dense_width(int code) {
    return static_cast<std::uint8_t>(code == 9 ? 8 : code >= 2 && code <= 8 ? code - 2 : 0);
}
constexpr std::uint8_t dense_step(int code) {
    return static_cast<std::uint8_t>(code == 1 ? 1 : code >= 2 && code <= 8 ? 1 << (code - 2) : 0);
}

/// Codes of the planes that are not constant: [plane][line], one byte for each block.
struct Codes {
    alignas(64) std::uint64_t lines[kMaxPlanes][kTileSide];
};

/// The bits of control behind which the row masks begin, or `kBadControl`.
constexpr std::uint64_t kBadControl = ~std::uint64_t{0};

/// Reads the unary levels of all chunks. A chunk takes at most 34 levels x 4 planes x 8 bytes, which kTileSlack covers,
/// so that one check of the position for each chunk is enough.
template <typename Vector, int Planes>
PENSTOCK_INLINE std::uint64_t decode_control(ByteView control, std::uint32_t lines, std::uint32_t highest,
                                             Codes& codes) {
    using Row = typename Vector::Row;
    const std::uint8_t* stream = control.data();
    const std::uint64_t end = control.size() * 8;
    std::uint64_t position = 0;
    Row above[Planes];
    for (int p = 0; p < Planes; ++p) above[p] = Vector::fill(kFirstCode);
    typename Vector::Worst worst = Vector::no_worst();
    for (std::uint32_t chunk = 0; chunk * kChunkLines < lines; ++chunk) {
        if (position > end) return kBadControl;
        std::uint64_t alive[Planes];
        Row values[Planes];
        for (int p = 0; p < Planes; ++p) {
            alive[p] = bits_at(stream, position);
            position += 64;
            values[p] = Vector::zero();
        }
        for (std::uint32_t level = 1;; ++level) {
            std::uint64_t any = 0;
            for (int p = 0; p < Planes; ++p) any |= alive[p];
            if (any == 0) break;
            for (int p = 0; p < Planes; ++p) values[p] = Vector::add_one_where(values[p], alive[p]);
            if (level == 2 * highest) break;
            std::uint64_t bits[Planes];
            for (int p = 0; p < Planes; ++p) {
                const unsigned count = count_ones(alive[p]);
                bits[p] = next_bits(stream, position, count);
                position += count;
            }
            deposit_each(bits, alive, alive);
        }
        for (int p = 0; p < Planes; ++p) {
            const Row chunk_codes = Vector::running_lines(Vector::unzigzag(values[p]), above[p]);
            worst = Vector::worse(worst, chunk_codes, static_cast<std::uint8_t>(highest));
            above[p] = Vector::last_line(chunk_codes);
            Vector::store_in_order(reinterpret_cast<std::uint8_t*>(&codes.lines[p][chunk * kChunkLines]), chunk_codes);
        }
    }
    return Vector::is_bad(worst, static_cast<std::uint8_t>(highest)) ? kBadControl : position;
}

template <typename Vector>
PENSTOCK_INLINE std::uint64_t decode_control(std::uint32_t planes, ByteView control, std::uint32_t lines,
                                             std::uint32_t highest, Codes& codes) {
    switch (planes) {
        case 1: return decode_control<Vector, 1>(control, lines, highest, codes);
        case 2: return decode_control<Vector, 2>(control, lines, highest, codes);
        case 3: return decode_control<Vector, 3>(control, lines, highest, codes);
        default: return decode_control<Vector, 4>(control, lines, highest, codes);
    }
}

/// Rebuilds the four rows of a group: `residuals(r)` gives the zigzag residuals of row r, `above` goes on to the last
/// row.
template <typename Vector, typename Residuals, typename Row = typename Vector::Row>
PENSTOCK_INLINE void predict_rows(unsigned mode, Residuals&& residuals, Row& above, std::uint8_t (*out)[kLanes]) {
    Row t = above;
    const auto rebuild = [&](auto&& predict) {
#pragma GCC unroll 4
        for (std::uint32_t r = 0; r < kGroupRows; ++r) {
            t = predict(Vector::unzigzag(residuals(r)));
            Vector::store(out[r], t);
        }
    };
    const auto gradient = [&](auto&& weaken) {
        rebuild([&](Row e) {
            const Row f = weaken(t);
            return Vector::add(Vector::add(Vector::running_sum(e), f), Vector::first(Vector::sub(t, f)));
        });
    };
    switch (mode) {
        case 0: rebuild([&](Row e) { return Vector::add(e, t); }); break;
        case 1: rebuild([&](Row e) { return Vector::add(e, Vector::smooth(t)); }); break;
        case 2: rebuild([&](Row e) { return Vector::add(Vector::running_sum(e), Vector::first(t)); }); break;
        case 3: rebuild([&](Row e) { return Vector::add(Vector::running_sum(e), t); }); break;
        case 4: gradient([](Row v) { return Vector::half(v); }); break;
        case 5: gradient([](Row v) { return Vector::smooth(v); }); break;
        case 6: gradient([](Row v) { return Vector::half(Vector::smooth(v)); }); break;
        default:
            gradient([](Row v) {
                const Row a = Vector::smooth(v);
                return Vector::sub(a, Vector::quarter(a));
            });
            break;
    }
    above = t;
}

/// Undoes the colour transform: planes in, red, green and blue out.
template <typename Vector, typename Row = typename Vector::Row>
PENSTOCK_INLINE void undo_transform(unsigned transform, Row& red, Row& green, Row& blue) {
    const Row middle = Vector::fill(0x80);
    if (transform == 1) {
        const Row shifted = Vector::add(green, middle);
        red = Vector::add(red, shifted);
        blue = Vector::add(blue, shifted);
    } else if (transform == 2) {
        const Row orange = Vector::add(red, middle);
        const Row leaf = Vector::add(blue, middle);
        const Row t = Vector::sub(green, Vector::half_signed(leaf));
        green = Vector::add(leaf, t);
        blue = Vector::sub(t, Vector::half_signed(orange));
        red = Vector::add(blue, orange);
    } else if (transform == 3) {
        red = Vector::add(red, Vector::add(green, middle));
        blue = Vector::add(blue, Vector::add(Vector::mean(red, green), middle));
    }
}

/// State of a tile while its groups are decoded.
template <typename Vector>
struct TileState {
    using Row = typename Vector::Row;

    Codes codes;
    typename Vector::Lines lines;  ///< fast: what the path makes of the codes before it unpacks rows
    Row above[kMaxPlanes];         ///< by coded plane
    alignas(64) std::uint8_t residuals[kMaxPlanes][kGroupRows][kLanes];  ///< dense, by coded plane: the group's fields
    alignas(64) std::uint8_t rows[kMaxPlanes][kGroupRows][kLanes];       ///< by plane: the group's samples
    std::uint8_t plane_of[kMaxPlanes];                                   ///< coded plane -> plane
    std::uint32_t num_coded = 0;
    const std::uint8_t* masks = nullptr;  ///< dense: the row masks
    std::uint32_t num_masks = 0;          ///< dense: of them used so far
    std::uint64_t unary_position[kMaxPlanes] = {};
};

template <typename Vector>
PENSTOCK_INLINE void start_tile(const TileJob& job, TileState<Vector>& state) {
    for (std::uint8_t plane = 0; plane < job.shape.channels && plane < kMaxPlanes; ++plane) {
        const auto base = static_cast<std::uint8_t>(job.parts.base[plane]);
        if ((job.parts.constant >> plane & 1) != 0) {
            std::memset(state.rows[plane], base, sizeof state.rows[plane]);
            continue;
        }
        state.above[state.num_coded] = Vector::fill(base);
        state.plane_of[state.num_coded++] = plane;
    }
}

/// Lets `write` put 64 pixels to `out`, by way of a scratch row where fewer are wanted.
template <std::size_t Channels, typename Write>
PENSTOCK_INLINE void store_width(std::uint8_t* out, std::uint32_t width, Write&& write) {
    if (width == kLanes) {
        write(out);
        return;
    }
    std::uint8_t scratch[kLanes * Channels];
    write(scratch);
    std::memcpy(out, scratch, std::size_t{width} * Channels);
}

/// Asks for the memory that a row of pixels will be written to. Stores go out in order, and where the output is in no
/// cache, each one would wait for its line.
template <std::uint32_t Channels>
PENSTOCK_INLINE void prefetch_output(std::uint8_t* out) {
    for (std::uint32_t i = 0; i < Channels; ++i) __builtin_prefetch(out + std::size_t{i} * 64, 1);
}

/// Writes the rows of a group as pixels. What the loop needs is copied to locals first: stores of bytes may alias
/// everything, so that members would be loaded again for every row.
template <typename Vector, std::uint32_t Channels>
PENSTOCK_INLINE void store_rows(const TileJob& job, const TileState<Vector>& state, std::uint8_t* out,
                                std::uint32_t num_rows, std::uint32_t width) {
    using Row = typename Vector::Row;
    const std::size_t stride = job.row_stride;
    const unsigned transform = job.parts.transform;
    const auto& rows = state.rows;
    for (std::uint32_t r = 0; r < num_rows; ++r, out += stride) {
        prefetch_output<Channels>(out + kGroupRows * stride);
        const Row first = Vector::load(rows[0][r]);
        if constexpr (Channels == 1) {
            Vector::store_pixels(out, width, first);
        } else if constexpr (Channels == 2) {
            Vector::store_pixels(out, width, first, Vector::load(rows[1][r]));
        } else {
            Row green = first;
            Row red = Vector::load(rows[1][r]);
            Row blue = Vector::load(rows[2][r]);
            undo_transform<Vector>(transform, red, green, blue);
            if constexpr (Channels == 3) Vector::store_pixels(out, width, red, green, blue);
            if constexpr (Channels == 4) Vector::store_pixels(out, width, red, green, blue, Vector::load(rows[3][r]));
        }
    }
}

template <typename Vector, std::uint32_t Channels>
PENSTOCK_INLINE void store_rows(const TileJob& job, const TileState<Vector>& state, std::uint8_t* out,
                                std::uint32_t num_rows) {
    if (job.shape.width == kLanes) {  // nearly always: known while compiling, the width costs nothing
        store_rows<Vector, Channels>(job, state, out, num_rows, kLanes);
    } else {
        store_rows<Vector, Channels>(job, state, out, num_rows, job.shape.width);
    }
}

template <typename Vector>
PENSTOCK_INLINE void store_group(const TileJob& job, const TileState<Vector>& state, std::uint32_t group) {
    const std::uint32_t num_rows = job.rows_to_write(group);
    std::uint8_t* out = job.out + std::size_t{group} * kGroupRows * job.row_stride;
    switch (job.shape.channels) {
        case 1: store_rows<Vector, 1>(job, state, out, num_rows); break;
        case 2: store_rows<Vector, 2>(job, state, out, num_rows); break;
        case 3: store_rows<Vector, 3>(job, state, out, num_rows); break;
        default: store_rows<Vector, 4>(job, state, out, num_rows); break;
    }
}

PENSTOCK_INLINE std::uint32_t rows_of_group(const TileJob& job, std::uint32_t group) {
    const std::uint32_t left = job.shape.height - group * kGroupRows;
    return left < kGroupRows ? left : kGroupRows;
}

PENSTOCK_INLINE unsigned mode_at(const TileJob& job, std::uint32_t index) {
    return (job.parts.modes[index >> 1] >> ((index & 1) * 4)) & 7;
}

template <typename Vector>
using GroupFields = typename Vector::Fields[kGroupRows];

/// Unpacks the fields of a plane's group; gives where the next ones begin.
template <typename Vector>
PENSTOCK_INLINE const std::uint8_t* unpack_group(const TileState<Vector>& state, std::uint32_t group,
                                                 std::uint32_t num_rows, std::uint32_t c, const std::uint8_t* payload,
                                                 GroupFields<Vector>& fields) {
    for (std::uint32_t r = 0; r < kGroupRows; ++r) {
        if (r >= num_rows) {
            Vector::clear(fields[r]);  // lines past the bottom have codes, but no fields
            continue;
        }
        payload = Vector::unpack_row(payload, state.codes, state.lines, c, group * kGroupRows + r, fields[r]);
    }
    return payload;
}

template <typename Vector, typename Residuals>
PENSTOCK_INLINE void predict_group(const TileJob& job, TileState<Vector>& state, std::uint32_t group, std::uint32_t c,
                                   Residuals&& residuals) {
    predict_rows<Vector>(mode_at(job, group * state.num_coded + c), residuals, state.above[c],
                         state.rows[state.plane_of[c]]);
}

/// A plane's payload in a group is at most 4 rows x 64 bytes, which kTileSlack covers: one check for each of them.
/// Fields that a path stores piece by piece are not loaded before those of all planes are there: a vector that is
/// loaded soon after the narrower stores it consists of would wait for them. Others go on in registers.
template <typename Vector>
PENSTOCK_INLINE TileFault decode_fast(const TileJob& job, TileState<Vector>& state) {
    const std::uint64_t end = decode_control<Vector>(state.num_coded, job.parts.control, job.shape.height,
                                                     highest_code(Profile::fast, 1), state.codes);
    if (end == kBadControl) return TileFault::code;
    if ((end + 7) / 8 != job.parts.control.size()) return TileFault::control;
    Vector::prepare_lines(state.codes, state.num_coded, job.shape.height, state.lines);
    const std::uint8_t* payload = job.parts.payload.data();
    const std::uint8_t* payload_end = payload + job.parts.payload.size();
    const std::uint32_t groups = job.wanted_groups();
    for (std::uint32_t group = 0; group < groups; ++group) {
        const std::uint32_t num_rows = rows_of_group(job, group);
        [[maybe_unused]] GroupFields<Vector> stored[Vector::kFieldsInMemory ? kMaxPlanes : 1];
        for (std::uint32_t c = 0; c < state.num_coded; ++c) {
            if (payload > payload_end) return TileFault::payload;
            if constexpr (Vector::kFieldsInMemory) {
                payload = unpack_group(state, group, num_rows, c, payload, stored[c]);
            } else {
                GroupFields<Vector> fields;
                payload = unpack_group(state, group, num_rows, c, payload, fields);
                predict_group(job, state, group, c, [&](std::uint32_t r) { return Vector::row_of(fields[r]); });
            }
        }
        for (std::uint32_t c = 0; Vector::kFieldsInMemory && c < state.num_coded; ++c) {
            predict_group(job, state, group, c, [&](std::uint32_t r) { return Vector::row_of(stored[c][r]); });
        }
        store_group(job, state, group);
    }
    return payload == payload_end || !job.wants_all() ? TileFault::none : TileFault::payload;
}

/// The blocks whose code is at least `n`, one bit in the lowest place of each byte. Codes are at most 17: adding 32 - n
/// carries into bit 5 of the byte and no further.
PENSTOCK_INLINE std::uint64_t at_least(std::uint64_t codes, std::uint64_t n) {
    return ((codes + (32 - n) * kOnes) >> 5) & kOnes;
}

/// Blocks that have a byte of level 0, for each row of a group: one bit in the lowest place of each block's byte.
struct LevelBlocks {
    std::uint64_t rows[kGroupRows];
};

template <typename State>
PENSTOCK_INLINE LevelBlocks level_blocks(std::uint64_t codes, std::uint64_t raw_code, std::uint32_t num_rows,
                                         State& state) {
    const std::uint64_t not_sparse = at_least(codes, 2);
    const std::uint64_t rice = not_sparse & ~at_least(codes, raw_code);
    const std::uint64_t sparse = at_least(codes, 1) & ~not_sparse;
    LevelBlocks blocks{{rice, rice, rice, rice}};
    if (sparse != 0) {
        const std::uint64_t bits = load_u64(state.masks + (state.num_masks >> 1)) >> ((state.num_masks & 1) * 4);
        state.num_masks += count_ones(sparse);
        const std::uint64_t rows = deposit(bits, sparse * 15);
        for (unsigned r = 0; r < kGroupRows; ++r) blocks.rows[r] |= (rows >> r) & sparse;
    }
    for (std::uint32_t r = num_rows; r < kGroupRows; ++r) blocks.rows[r] = 0;
    return blocks;
}

PENSTOCK_INLINE std::uint32_t count_sparse(const Codes& codes, std::uint32_t planes, std::uint32_t groups) {
    std::uint32_t count = 0;
    for (std::uint32_t c = 0; c < planes; ++c) {
        for (std::uint32_t g = 0; g < groups; ++g) {
            const std::uint64_t line = codes.lines[c][g];
            count += count_ones(at_least(line, 1) & ~at_least(line, 2));
        }
    }
    return count;
}

/// Adds quotient x step to each lane of row r.
template <typename Vector, typename Row = typename Vector::Row>
PENSTOCK_INLINE Row add_quotients(Row row, const Quotients& quotients, std::uint32_t r, Row step) {
    for (const auto& digit : quotients.digits) {
        row = Vector::add_where(row, digit[r], step);
        step = Vector::add(step, step);
    }
    return row;
}

/// A group's payload and its unary levels (14 x 256 bits) stay within kTileSlack of a position that was checked.
template <typename Vector>
PENSTOCK_INLINE TileFault decode_dense(const TileJob& job, TileState<Vector>& state) {
    using Row = typename Vector::Row;
    const std::uint32_t groups = job.shape.groups();
    const std::uint64_t end = decode_control<Vector>(state.num_coded, job.parts.control, groups,
                                                     highest_code(Profile::dense, 1), state.codes);
    if (end == kBadControl) return TileFault::code;
    const std::uint64_t mask_bytes = (count_sparse(state.codes, state.num_coded, groups) + 1) / 2;
    if ((end + 7) / 8 + mask_bytes != job.parts.control.size()) return TileFault::control;
    state.masks = job.parts.control.data() + (end + 7) / 8;
    const std::uint8_t* payload = job.parts.payload.data();
    const std::uint8_t* payload_end = payload + job.parts.payload.size();
    const std::uint32_t wanted_groups = job.wanted_groups();
    for (std::uint32_t group = 0; group < wanted_groups; ++group) {
        const std::uint32_t num_rows = rows_of_group(job, group);
        UnaryGroup unary[kMaxPlanes];
        bool is_long = false;
        for (std::uint32_t c = 0; c < state.num_coded; ++c) {
            if (payload > payload_end) return TileFault::payload;
            if (state.unary_position[c] > job.parts.unary[state.plane_of[c]].size() * 8) return TileFault::unary;
            const std::uint64_t codes = state.codes.lines[c][group];
            const LevelBlocks blocks = level_blocks(codes, highest_code(Profile::dense, 1), num_rows, state);
            payload = Vector::unpack_low_bits(payload, codes, num_rows, state.residuals[c]);
            std::uint64_t alive[kGroupRows];
            for (std::uint32_t r = 0; r < kGroupRows; ++r) {
                alive[r] = deposit_bytes(load_u64(payload), blocks.rows[r]);
                payload += count_ones(blocks.rows[r]);
            }
            is_long |=
                start_quotients(unary[c], alive, job.parts.unary[state.plane_of[c]].data(), state.unary_position[c]);
        }
        for (std::uint32_t c = 0; is_long && c < state.num_coded; ++c) read_long_quotients(unary[c]);
        for (std::uint32_t c = 0; c < state.num_coded; ++c) {
            const Quotients quotients = finish_quotients(unary[c], state.unary_position[c]);
            const Row step = Vector::rice_steps(state.codes.lines[c][group]);
            const auto residuals = [&](std::uint32_t r) {
                return add_quotients<Vector>(Vector::load(state.residuals[c][r]), quotients, r, step);
            };
            predict_group(job, state, group, c, residuals);
        }
        store_group(job, state, group);
    }
    if (!job.wants_all()) return TileFault::none;
    for (std::uint32_t c = 0; c < state.num_coded; ++c) {
        if ((state.unary_position[c] + 7) / 8 != job.parts.unary[state.plane_of[c]].size()) return TileFault::unary;
    }
    return payload == payload_end ? TileFault::none : TileFault::payload;
}

template <typename Vector>
PENSTOCK_INLINE TileFault decode_tile_with(const TileJob& job) {
    TileState<Vector> state;
    start_tile(job, state);
    return job.shape.profile == Profile::fast ? decode_fast(job, state) : decode_dense(job, state);
}

}  // namespace
}  // namespace penstock::weir
