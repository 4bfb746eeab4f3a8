// Encodes one tile of Weir. Written once, for lanes; weir_encode_plain.cpp, _avx2.cpp and _avx512.cpp compile it with
// their own operations.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "codecs/weir_encode_cost.h"

namespace penstock::weir {
namespace {

class BitWriter {
  public:
    explicit BitWriter(std::uint8_t* out) noexcept : begin_(out), out_(out) {}

    /// Appends the low `count` bits, 0 to 64; the others must be 0.
    [[gnu::always_inline]] inline void put(std::uint64_t bits, std::uint32_t count) noexcept {
        pending_ |= bits << used_;
        const std::uint32_t used = used_ + count;
        if (used >= 64) {
            store_as(out_, pending_);
            out_ += 8;
            pending_ = used_ == 0 ? 0 : bits >> (64 - used_);
        }
        used_ = used % 64;
    }

    /// Fills up to a byte; gives the number of bytes.
    std::size_t finish() noexcept {
        store_as(out_, pending_);
        return static_cast<std::size_t>(out_ - begin_) + (used_ + 7) / 8;
    }

  private:
    std::uint8_t* begin_;
    std::uint8_t* out_;
    std::uint64_t pending_ = 0;
    std::uint32_t used_ = 0;
};

/// Appends one level of a unary code: for each lane still alive, whether it goes on.
template <typename Ops>
PENSTOCK_INLINE void put_level(BitWriter& stream, std::uint64_t alive, std::uint64_t still) noexcept {
    stream.put(Ops::gather_bits(still, alive), static_cast<std::uint32_t>(std::popcount(alive)));
}

template <typename Ops, typename Sample, Profile profile>
class TileEncoder {
  public:
    explicit TileEncoder(const EncodeJob& job) noexcept : shape_(job.shape), effort_(job.effort) { load_pixels(job); }

    /// Encodes the tile; gives its length.
    std::size_t run(std::uint8_t* out) noexcept {
        transform_ = shape_.channels < 3 ? 0 : choose_transform();
        make_planes();
        for (std::uint32_t g = 0; num_coded_ != 0 && g < shape_.groups(); ++g) {
            for (std::uint32_t i = 0; i < num_coded_; ++i) encode_group(i, g);
        }
        return write(out);
    }

  private:
    static constexpr bool kDense = profile == Profile::dense;
    static constexpr std::uint32_t kHighestCode = highest_code(profile, sizeof(Sample));

    [[nodiscard]] std::uint32_t rows_of(std::uint32_t group) const noexcept {
        return std::min(kGroupRows, shape_.height - group * kGroupRows);
    }

    // Pixels and planes ------------------------------------------------------------------------------------------

    void load_pixels(const EncodeJob& job) noexcept {
        for (std::uint32_t j = 0; j < kLanes; ++j) valid_[j] = j < shape_.width ? static_cast<Sample>(~0U) : 0;
        for (std::int32_t y = 0; y < shape_.height; ++y) {
            const std::uint8_t* from = job.pixels + static_cast<std::size_t>(y) * job.row_stride;
            switch (shape_.channels) {
                case 1: load_row<1>(from, y); break;
                case 2: load_row<2>(from, y); break;
                case 3: load_row<3>(from, y); break;
                default: load_row<4>(from, y); break;
            }
        }
    }

    // Lanes past the edge repeat the last pixel.
    template <std::uint32_t channels>
    void load_row(const std::uint8_t* from, std::int32_t y) noexcept {
        Sample pixels[kLanes * channels];
        std::memcpy(pixels, from, shape_.width * channels * sizeof(Sample));
        for (std::uint32_t x = shape_.width * channels; x < kLanes * channels; ++x) pixels[x] = pixels[x - channels];
        Sample* rows[channels];
        for (std::uint32_t c = 0; c < channels; ++c) rows[c] = source_[c].row(y);
        for (std::uint32_t x = 0; x < kLanes; ++x) {
            for (std::uint32_t c = 0; c < channels; ++c) rows[c][x] = pixels[x * channels + c];
        }
        for (std::uint32_t c = 0; c < channels; ++c) Plane<Sample>::repeat_edges(rows[c]);
    }

    // One row of planes 0, 1, 2.
    template <int transform>
    void transform_row(std::int32_t y) noexcept {
        using V = Lanes<Ops, Sample>;
        for (std::uint32_t lane = 0; lane < kLanes; lane += kLanesPerPart<Ops, Sample>) {
            const auto part = [&](std::uint32_t c) { return load_as<V>(source_[c].row(y) + lane); };
            const Pqs<V> planes = from_rgb<transform, Sample>(part(0), part(1), part(2));
            store_as(colours_[0].row(y) + lane, planes.p);
            store_as(colours_[1].row(y) + lane, planes.q);
            store_as(colours_[2].row(y) + lane, planes.s);
        }
        for (Plane<Sample>& plane : colours_) Plane<Sample>::repeat_edges(plane.row(y));
    }

    void transform_row(std::uint32_t transform, std::int32_t y) noexcept {
        switch (transform) {
            case 0: transform_row<0>(y); break;
            case 1: transform_row<1>(y); break;
            case 2: transform_row<2>(y); break;
            default: transform_row<3>(y); break;
        }
    }

    // Compares the transforms on some groups.
    std::uint32_t choose_transform() noexcept {
        const std::uint32_t step = effort_ == 1 ? 8 : effort_ == 2 ? 4 : 1;
        std::array<std::uint64_t, 4> costs{};
        for (std::uint32_t g = std::min(step / 2, shape_.groups() - 1); g < shape_.groups(); g += step) {
            std::uint64_t green = 0;
            std::uint64_t red = 0;
            for (std::uint32_t transform = 0; transform < 4; ++transform) {
                transform_group(transform, g);
                // Transforms 1 and 3 share planes with those before them.
                if (transform == 0) green = plane_cost(0, g);
                if (transform == 1) red = plane_cost(1, g);
                const std::uint64_t first = transform == 2 ? plane_cost(0, g) : green;
                const std::uint64_t second = transform == 1 || transform == 3 ? red : plane_cost(1, g);
                costs[transform] += first + second + plane_cost(2, g);
            }
        }
        const auto best = std::min_element(costs.begin(), costs.end());
        return static_cast<std::uint32_t>(best - costs.begin());
    }

    // The rows of a group and the one above it.
    void transform_group(std::uint32_t transform, std::uint32_t group) noexcept {
        const auto top = static_cast<std::int32_t>(group * kGroupRows);
        for (std::int32_t y = std::max(top - 1, 0); y < top + static_cast<std::int32_t>(rows_of(group)); ++y) {
            transform_row(transform, y);
        }
        for (std::uint32_t p = 0; top == 0 && p < 3; ++p) colours_[p].fill_row(-1, colours_[p].row(0)[0]);
    }

    std::uint32_t plane_cost(std::uint32_t p, std::uint32_t group) const noexcept {
        const ModeCosts costs = mode_costs(colours_[p], group);
        return costs[cheapest(costs)];
    }

    // Decides which planes are constant and sets the bases.
    void make_planes() noexcept {
        for (std::int32_t y = 0; shape_.channels >= 3 && y < shape_.height; ++y) transform_row(transform_, y);
        for (std::uint32_t p = 0; p < shape_.channels; ++p) {
            planes_[p] = shape_.channels >= 3 && p < 3 ? &colours_[p] : &source_[p];
            Plane<Sample>& plane = *planes_[p];
            base_[p] = plane.row(0)[0];
            plane.fill_row(-1, base_[p]);
            if (is_constant(plane)) {
                constant_ |= 1U << p;
            } else {
                coded_[num_coded_++] = p;
            }
        }
    }

    // Lanes past the edge repeat others, or are made of ones that do.
    [[nodiscard]] bool is_constant(const Plane<Sample>& plane) const noexcept {
        Sample other = 0;
        for (std::int32_t y = 0; other == 0 && y < shape_.height; ++y) {
            const Sample* row = plane.row(y);
            for (std::uint32_t j = 0; j < kLanes; ++j) other = static_cast<Sample>(other | (row[j] ^ row[-1]));
            other = static_cast<Sample>(other | (row[0] ^ plane.row(-1)[0]));
        }
        return other == 0;
    }

    // Groups -----------------------------------------------------------------------------------------------------

    [[nodiscard]] ModeCosts mode_costs(const Plane<Sample>& plane, std::uint32_t group) const noexcept {
        using Estimator = ModeEstimator<Ops, Sample, profile>;
        constexpr std::make_integer_sequence<std::uint32_t, kNumModes> all_modes;
        constexpr std::integer_sequence<std::uint32_t, 1, 3, 5, 6> good_modes;
        const auto top = static_cast<std::int32_t>(group * kGroupRows);
        if (effort_ == 1) return Estimator::estimate(plane, top, rows_of(group), valid_, good_modes);
        return Estimator::estimate(plane, top, rows_of(group), valid_, all_modes);
    }

    // Residuals of a group. In a narrow tile this sets the lanes past the edge, too.
    void set_residuals(Plane<Sample>& plane, std::uint32_t group, std::uint32_t mode) noexcept {
        const auto top = static_cast<std::int32_t>(group * kGroupRows);
        for (std::uint32_t r = 0; r < rows_of(group); ++r) {
            const std::int32_t y = top + static_cast<std::int32_t>(r);
            if (shape_.width < kLanes) pad_row(mode, plane.row(y - 1), shape_.width, plane.row(y));
            make_residuals<Ops>(mode, plane.row(y - 1), plane.row(y), residuals_[r]);
        }
    }

    // Sets the codes of a group; gives the bits that it then takes.
    std::uint32_t set_codes(std::uint32_t i, std::uint32_t group) noexcept {
        if constexpr (kDense) {
            return CodeChooser<Ops, Sample>::choose(residuals_, rows_of(group), codes_above(i, group),
                                                    codes_[i][group]);
        } else {
            std::uint32_t bits = 0;
            for (std::uint32_t r = 0; r < rows_of(group); ++r) {
                const std::uint32_t y = group * kGroupRows + r;
                bits += set_widths<Ops>(residuals_[r], codes_above(i, y), codes_[i][y]);
            }
            return bits;
        }
    }

    [[nodiscard]] const std::uint8_t* codes_above(std::uint32_t i, std::uint32_t line) const noexcept {
        static constexpr std::uint8_t first[kBlocks] = {kFirstCode, kFirstCode, kFirstCode, kFirstCode,
                                                        kFirstCode, kFirstCode, kFirstCode, kFirstCode};
        return line == 0 ? first : codes_[i][line - 1];
    }

    std::uint32_t choose_mode(Plane<Sample>& plane, std::uint32_t i, std::uint32_t group) noexcept {
        if (effort_ < 3) return cheapest(mode_costs(plane, group));
        ModeCosts costs;
        for (std::uint32_t mode = 0; mode < kNumModes; ++mode) {
            set_residuals(plane, group, mode);
            costs[mode] = set_codes(i, group);
        }
        return cheapest(costs);
    }

    void encode_group(std::uint32_t i, std::uint32_t group) noexcept {
        Plane<Sample>& plane = *planes_[coded_[i]];
        const std::uint32_t mode = choose_mode(plane, i, group);
        modes_[group * num_coded_ + i] = static_cast<std::uint8_t>(mode);
        set_residuals(plane, group, mode);
        set_codes(i, group);
        for (std::uint32_t r = 0; r < rows_of(group); ++r) {
            const std::uint8_t* codes = codes_[i][kDense ? group : group * kGroupRows + r];
            for (std::uint32_t b = 0; b < kBlocks; ++b) put_fields(residuals_[r] + b * kBlockLanes, width_of(codes[b]));
        }
        if constexpr (kDense) put_quotients(i, group);
    }

    // Payload and unary streams ----------------------------------------------------------------------------------

    static std::uint32_t width_of(std::uint32_t code) noexcept {
        if (!kDense) return code;
        if (code == kHighestCode) return kBits<Sample>;
        return code < 2 ? 0 : code - 2;
    }

    // A block of a row as fields of `width` bits.
    [[gnu::always_inline]] inline void put_fields(const Sample* block, std::uint32_t width) noexcept {
        if constexpr (sizeof(Sample) == 1) {
            store_as(payload_end_, Ops::pack_bytes(load_as<std::uint64_t>(block), width));
        } else {
            const std::uint64_t low = Ops::pack_words(load_as<std::uint64_t>(block), width);
            const std::uint64_t high = Ops::pack_words(load_as<std::uint64_t>(block + 4), width);
            // The second half begins at bit 4 x width; at 64 nothing of it fits into the first word.
            store_as(payload_end_, width == 16 ? low : low | high << (4 * width));
            store_as(payload_end_ + 8, width == 0 ? 0 : high >> (64 - 4 * width));
        }
        payload_end_ += width;
    }

    // Bytes of quotients (at most 15) of a row; 0 in zero and raw blocks.
    void quotients_of(const Sample* row, const std::uint8_t* codes, std::uint8_t* quotients) const noexcept {
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            const bool has = codes[b] != 0 && codes[b] != kHighestCode;
            const std::uint32_t k = codes[b] < 2 || !has ? 0 : codes[b] - 2U;
            if constexpr (sizeof(Sample) == 1) {
                const std::uint64_t keep = has ? (0xffU >> k & 15) * 0x0101010101010101 : 0;
                store_as(quotients + 8 * b, load_as<std::uint64_t>(row + 8 * b) >> k & keep);
            } else {
                for (std::uint32_t j = 0; j < 8; ++j) {
                    quotients[8 * b + j] = has ? static_cast<std::uint8_t>(row[8 * b + j] >> k) : std::uint8_t{0};
                }
            }
        }
    }

    void put_quotients(std::uint32_t i, std::uint32_t group) noexcept {
        const std::uint32_t num_rows = rows_of(group);
        const std::uint8_t* codes = codes_[i][group];
        std::uint64_t rice = 0;
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            if (codes[b] >= 2 && codes[b] < kHighestCode) rice |= std::uint64_t{0xff} << (8 * b);
        }
        std::uint8_t quotients[kGroupRows][kLanes];
        std::uint64_t alive[kGroupRows] = {};
        std::uint64_t any = 0;
        // All rows first: a load that waits for eight stores would cost more.
        for (std::uint32_t r = 0; r < num_rows; ++r) quotients_of(residuals_[r], codes, quotients[r]);
        for (std::uint32_t r = 0; r < num_rows; ++r) {
            alive[r] = Ops::at_least(quotients[r], 1);
            any |= alive[r];
            std::uint64_t present = rice;
            for (std::uint32_t b = 0; b < kBlocks; ++b) {
                const std::uint64_t block = std::uint64_t{0xff} << (8 * b);
                if (codes[b] == 1 && (alive[r] & block) != 0) present |= block;
            }
            store_as(payload_end_, Ops::gather_bits(alive[r], present));
            payload_end_ += std::popcount(present) / 8;
        }
        put_masks(codes, alive);
        BitWriter& unary = unary_[coded_[i]];
        for (std::uint32_t level = 1; any != 0 && level < kMaxQuotient; ++level) {
            any = 0;
            for (std::uint32_t r = 0; r < num_rows; ++r) {
                const std::uint64_t still = Ops::at_least(quotients[r], level + 1);
                put_level<Ops>(unary, alive[r], still);
                alive[r] = still;
                any |= still;
            }
        }
    }

    void put_masks(const std::uint8_t* codes, const std::uint64_t* alive) noexcept {
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            if (codes[b] != 1) continue;
            std::uint8_t mask = 0;
            for (std::uint32_t r = 0; r < kGroupRows; ++r) {
                if ((alive[r] >> (8 * b) & 0xff) != 0) mask |= static_cast<std::uint8_t>(1U << r);
            }
            masks_[num_masks_++] = mask;
        }
    }

    // Output -----------------------------------------------------------------------------------------------------

    std::size_t put_control(std::uint8_t* out) const noexcept {
        BitWriter stream(out);
        std::uint8_t above[kMaxPlanes][kBlocks];
        std::memset(above, kFirstCode, sizeof above);
        const std::uint32_t lines = shape_.lines();
        for (std::uint32_t first = 0; first < lines; first += kChunkLines) {
            std::uint8_t values[kMaxPlanes][kChunkLines * kBlocks] = {};
            for (std::uint32_t i = 0; i < num_coded_; ++i) {
                for (std::uint32_t line = first; line < std::min(lines, first + kChunkLines); ++line) {
                    for (std::uint32_t b = 0; b < kBlocks; ++b) {
                        const int up = codes_[i][line][b] - above[i][b];
                        values[i][(line - first) * kBlocks + b] = static_cast<std::uint8_t>((up * 2) ^ (up >> 31));
                        above[i][b] = codes_[i][line][b];
                    }
                }
            }
            put_chunk(stream, values);
        }
        std::size_t size = stream.finish();
        for (std::uint32_t m = 0; m < num_masks_; m += 2) {
            const std::uint32_t second = m + 1 < num_masks_ ? masks_[m + 1] : 0U;
            out[size++] = static_cast<std::uint8_t>(masks_[m] | second << 4);
        }
        return size;
    }

    void put_chunk(BitWriter& stream, const std::uint8_t (*values)[kChunkLines * kBlocks]) const noexcept {
        std::uint64_t alive[kMaxPlanes] = {};
        for (std::uint32_t i = 0; i < num_coded_; ++i) {
            alive[i] = Ops::at_least(values[i], 1);
            stream.put(alive[i], 64);
        }
        for (std::uint32_t level = 1; level < 2 * kHighestCode; ++level) {
            if ((alive[0] | alive[1] | alive[2] | alive[3]) == 0) break;
            for (std::uint32_t i = 0; i < num_coded_; ++i) {
                const std::uint64_t still = Ops::at_least(values[i], level + 1);
                put_level<Ops>(stream, alive[i], still);
                alive[i] = still;
            }
        }
    }

    static void put_number(std::uint8_t*& out, std::size_t value, std::size_t size) noexcept {
        for (std::size_t i = 0; i < size; ++i) *out++ = static_cast<std::uint8_t>(value >> (8 * i));
    }

    std::size_t write(std::uint8_t* begin) noexcept {
        std::uint8_t* out = begin;
        put_number(out, transform_ | constant_ << 4, 1);
        for (std::uint32_t p = 0; p < shape_.channels; ++p) put_number(out, base_[p], sizeof(Sample));
        if (num_coded_ == 0) return static_cast<std::size_t>(out - begin);
        std::uint8_t control[kMaxControlBytes];
        const std::size_t control_bytes = put_control(control);
        const auto payload_bytes = static_cast<std::size_t>(payload_end_ - payload_);
        std::array<std::size_t, kMaxPlanes> unary_bytes{};
        put_number(out, control_bytes, 2);
        if constexpr (kDense) {
            put_number(out, payload_bytes, 2);
            for (std::uint32_t p = 0; p < shape_.channels; ++p) {
                unary_bytes[p] = unary_[p].finish();
                if (p + 1U < shape_.channels) put_number(out, unary_bytes[p], 2);
            }
        }
        const std::uint32_t num_modes = shape_.groups() * num_coded_;
        modes_[num_modes] = 0;
        for (std::uint32_t m = 0; m < num_modes; m += 2) put_number(out, modes_[m] | modes_[m + 1] << 4, 1);
        const auto append = [&out](const std::uint8_t* bytes, std::size_t size) {
            std::memcpy(out, bytes, size);
            out += size;
        };
        append(control, control_bytes);
        append(payload_, payload_bytes);
        for (std::uint32_t p = 0; kDense && p < shape_.channels; ++p) append(unary_bits_[p], unary_bytes[p]);
        return static_cast<std::size_t>(out - begin);
    }

    static constexpr std::size_t kMaxControlBytes = 9 * 1024;
    static constexpr std::size_t kMaxPayloadBytes = std::size_t{kMaxPlanes} * kTileSide * kLanes * sizeof(Sample);
    static constexpr std::size_t kMaxUnaryBytes = kTileSide * kLanes * (kMaxQuotient - 1) / 8;

    TileShape shape_;
    int effort_;
    std::uint32_t transform_ = 0;
    std::uint32_t constant_ = 0;
    std::uint32_t num_coded_ = 0;
    std::uint32_t coded_[kMaxPlanes] = {};
    Sample base_[kMaxPlanes] = {};
    alignas(64) Sample valid_[kLanes];
    Plane<Sample> source_[kMaxPlanes];
    Plane<Sample> colours_[3];
    Plane<Sample>* planes_[kMaxPlanes] = {};
    std::uint8_t modes_[kMaxGroups * kMaxPlanes + 1];
    std::uint8_t codes_[kMaxPlanes][kTileSide][kBlocks];
    std::uint8_t masks_[kMaxPlanes * kMaxGroups * kBlocks];
    std::uint32_t num_masks_ = 0;
    alignas(64) Sample residuals_[kGroupRows][kLanes];
    std::uint8_t payload_[kMaxPayloadBytes + 64];
    std::uint8_t* payload_end_ = payload_;
    std::uint8_t unary_bits_[kMaxPlanes][kMaxUnaryBytes + 64];
    BitWriter unary_[kMaxPlanes] = {BitWriter(unary_bits_[0]), BitWriter(unary_bits_[1]), BitWriter(unary_bits_[2]),
                                    BitWriter(unary_bits_[3])};
};

template <typename Ops>
PENSTOCK_INLINE std::size_t encode_tile_with(const EncodeJob& job, std::uint8_t* out) noexcept {
    const bool dense = job.shape.profile == Profile::dense;
    if (job.shape.sample_bytes == 1) {
        if (dense) return TileEncoder<Ops, std::uint8_t, Profile::dense>(job).run(out);
        return TileEncoder<Ops, std::uint8_t, Profile::fast>(job).run(out);
    }
    if (dense) return TileEncoder<Ops, std::uint16_t, Profile::dense>(job).run(out);
    return TileEncoder<Ops, std::uint16_t, Profile::fast>(job).run(out);
}

}  // namespace
}  // namespace penstock::weir
