// Decodes one tile of Weir in plain C++, in the order of spec/weir.md: the one to read, and the twin every SIMD path is
// compared with.
#include <algorithm>
#include <bit>
#include <cstring>

#include "codecs/weir.h"
#include "codecs/weir_pixels.h"

namespace penstock::weir {

namespace {

// A bit stream. Past its end it gives zeros; `exact` tells afterwards whether that happened.
class BitReader {
  public:
    explicit BitReader(ByteView bytes) noexcept : bytes_(bytes) {}

    // The next `count` bits, 0 to 64.
    std::uint64_t take(std::uint32_t count) noexcept {
        const std::size_t at = position_ / 8;
        const std::uint32_t shift = position_ % 8;
        position_ += count;
        if (at >= bytes_.size() || count == 0) return 0;
        std::uint64_t bits = 0;
        std::memcpy(&bits, bytes_.data() + at, 8);  // may reach into the slack behind the tile
        bits >>= shift;
        if (shift != 0) bits |= std::uint64_t{bytes_.data()[at + 8]} << (64 - shift);
        return count == 64 ? bits : bits & ((std::uint64_t{1} << count) - 1);
    }

    [[nodiscard]] std::size_t bytes_used() const noexcept { return (position_ + 7) / 8; }
    [[nodiscard]] bool exact() const noexcept { return bytes_used() == bytes_.size(); }

  private:
    ByteView bytes_;
    std::size_t position_ = 0;
};

// Calls `visit` with the index of each bit that is set.
template <typename Visit>
void for_each_bit(std::uint64_t mask, Visit visit) noexcept {
    for (; mask != 0; mask &= mask - 1) visit(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

// The next level of a unary code: takes one bit for each bit of `alive` and keeps those that are followed by a 1.
std::uint64_t next_level(BitReader& stream, std::uint64_t alive) noexcept {
    std::uint64_t bits = stream.take(static_cast<std::uint32_t>(std::popcount(alive)));
    std::uint64_t still = 0;
    for (; alive != 0; alive &= alive - 1, bits >>= 1) {
        if ((bits & 1) != 0) still |= alive & (0 - alive);
    }
    return still;
}

template <typename Sample>
class TileDecoder {
  public:
    explicit TileDecoder(const TileJob& job) noexcept : job_(job) {
        for (std::uint32_t p = 0; p < job.shape.channels; ++p) {
            if ((job.parts.constant >> p & 1) == 0) coded_[num_coded_++] = p;
        }
    }

    TileFault run() noexcept {
        TileFault fault = read_control();
        if (fault == TileFault::none && payload_bytes() != job_.parts.payload.size()) fault = TileFault::payload;
        if (fault == TileFault::none) fault = read_rows();
        return fault;
    }

    // A tile all of whose planes are constant.
    void fill() noexcept {
        start_rows();
        for (std::uint32_t group = 0; group < job_.wanted_groups(); ++group) write_group(group);
    }

  private:
    [[nodiscard]] bool dense() const noexcept { return job_.shape.profile == Profile::dense; }
    [[nodiscard]] std::uint32_t rows_of(std::uint32_t group) const noexcept {
        return std::min(kGroupRows, job_.shape.height - group * kGroupRows);
    }
    [[nodiscard]] Sample base(std::uint32_t plane) const noexcept {
        return static_cast<Sample>(job_.parts.base[plane]);
    }

    // Control ----------------------------------------------------------------------------------------------------

    TileFault read_control() noexcept {
        const std::uint32_t highest = highest_code(job_.shape.profile, sizeof(Sample));
        BitReader stream(job_.parts.control);
        std::uint8_t above[kMaxPlanes][kBlocks];
        std::memset(above, kFirstCode, sizeof above);
        for (std::uint32_t line = 0; line < job_.shape.lines(); line += kChunkLines) {
            std::uint8_t values[kMaxPlanes][kChunkLines * kBlocks] = {};
            read_chunk(stream, 2 * highest, values);
            for (std::uint32_t i = 0; i < num_coded_; ++i) {
                if (!sum_codes(values[i], highest, above[i], codes_[i] + line)) return TileFault::code;
            }
        }
        if (!dense()) return stream.exact() ? TileFault::none : TileFault::control;
        return read_masks(stream.bytes_used()) ? TileFault::none : TileFault::control;
    }

    // Values of eight lines of codes, level by level.
    void read_chunk(BitReader& stream, std::uint32_t max_value, std::uint8_t (*values)[64]) const noexcept {
        std::uint64_t alive[kMaxPlanes] = {};
        for (std::uint32_t i = 0; i < num_coded_; ++i) alive[i] = stream.take(64);
        for (std::uint32_t level = 1; (alive[0] | alive[1] | alive[2] | alive[3]) != 0; ++level) {
            for (std::uint32_t i = 0; i < num_coded_; ++i) {
                for_each_bit(alive[i], [&](std::uint32_t block) { ++values[i][block]; });
                alive[i] = level < max_value ? next_level(stream, alive[i]) : 0;
            }
        }
    }

    // Undoes zigzag and the differences to the line above; false if a code does not exist.
    static bool sum_codes(const std::uint8_t* values, std::uint32_t highest, std::uint8_t* above,
                          std::uint8_t (*codes)[kBlocks]) noexcept {
        std::uint8_t worst = 0;
        for (std::uint32_t line = 0; line < kChunkLines; ++line) {
            for (std::uint32_t block = 0; block < kBlocks; ++block) {
                above[block] = static_cast<std::uint8_t>(above[block] + unzigzag(values[line * kBlocks + block]));
                worst = std::max(worst, above[block]);
            }
            std::memcpy(codes[line], above, kBlocks);
        }
        return worst <= highest;
    }

    // The row masks of sparse blocks, behind the first `used` bytes of control; false if control has another length.
    bool read_masks(std::size_t used) noexcept {
        const ByteView control = job_.parts.control;
        std::uint32_t count = 0;
        for (std::uint32_t group = 0; group < job_.shape.groups(); ++group) {
            for (std::uint32_t i = 0; i < num_coded_; ++i) {
                for (std::uint32_t block = 0; block < kBlocks; ++block) {
                    if (codes_[i][group][block] != 1) continue;
                    const std::size_t at = used + count / 2;
                    if (at >= control.size()) return false;
                    masks_[i][group][block] = control[at] >> (count % 2 * 4) & 15;
                    ++count;
                }
            }
        }
        return used + (count + 1) / 2 == control.size();
    }

    // Payload ----------------------------------------------------------------------------------------------------

    // Low bits of a dense block (or the width of a fast one).
    [[nodiscard]] std::uint32_t width_of(std::uint32_t code) const noexcept {
        if (!dense()) return code;
        if (code == kBits<Sample> + 1) return kBits<Sample>;
        return code < 2 ? 0 : code - 2;
    }
    // Whether this row of a dense block has a byte of quotient bits.
    [[nodiscard]] bool has_quotients(std::uint32_t i, std::uint32_t group, std::uint32_t block,
                                     std::uint32_t row) const noexcept {
        const std::uint32_t code = codes_[i][group][block];
        if (code == 1) return (masks_[i][group][block] >> row & 1) != 0;
        return code >= 2 && code <= kBits<Sample>;
    }

    // Bytes of payload that the codes and masks ask for.
    [[nodiscard]] std::size_t payload_bytes() const noexcept {
        std::size_t total = 0;
        for (std::uint32_t i = 0; i < num_coded_; ++i) {
            for (std::uint32_t y = 0; y < job_.shape.height; ++y) {
                const std::uint32_t group = y / kGroupRows;
                for (std::uint32_t block = 0; block < kBlocks; ++block) {
                    total += width_of(codes_[i][dense() ? group : y][block]);
                    if (dense()) total += has_quotients(i, group, block, y % kGroupRows);
                }
            }
        }
        return total;
    }

    // Eight fields of `width` bits. May look at the bytes behind them, never past the slack.
    void read_fields(std::uint32_t width, Sample* out) noexcept {
        const std::uint32_t mask = (1U << width) - 1;
        for (std::uint32_t lane = 0; lane < kBlockLanes; ++lane) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, payload_ + lane * width / 8, 4);
            out[lane] = static_cast<Sample>(bits >> (lane * width % 8) & mask);
        }
        payload_ += width;
    }

    void read_row_fields(const std::uint8_t* codes, Sample* out) noexcept {
        for (std::uint32_t block = 0; block < kBlocks; ++block) {
            read_fields(width_of(codes[block]), out + block * kBlockLanes);
        }
    }

    void read_quotients(std::uint32_t i, std::uint32_t group, BitReader& unary) noexcept {
        std::uint64_t alive[kGroupRows] = {};
        for (std::uint32_t row = 0; row < rows_of(group); ++row) {
            for (std::uint32_t block = 0; block < kBlocks; ++block) {
                if (has_quotients(i, group, block, row)) alive[row] |= std::uint64_t{*payload_++} << (8 * block);
            }
        }
        for (std::uint32_t level = 1; (alive[0] | alive[1] | alive[2] | alive[3]) != 0; ++level) {
            for (std::uint32_t row = 0; row < rows_of(group); ++row) {
                for_each_bit(alive[row], [&](std::uint32_t lane) {
                    const std::uint32_t step = 1U << width_of(codes_[i][group][lane / kBlockLanes]);
                    residuals_[row][lane] = static_cast<Sample>(residuals_[row][lane] + step);
                });
                alive[row] = level < kMaxQuotient ? next_level(unary, alive[row]) : 0;
            }
        }
    }

    // Residuals of one group of one coded plane.
    void read_group(std::uint32_t i, std::uint32_t group, BitReader& unary) noexcept {
        for (std::uint32_t row = 0; row < rows_of(group); ++row) {
            read_row_fields(codes_[i][dense() ? group : group * kGroupRows + row], residuals_[row]);
        }
        if (dense()) read_quotients(i, group, unary);
    }

    // Rows -------------------------------------------------------------------------------------------------------

    // Above the first row, and everywhere in a constant plane, samples equal the base.
    void start_rows() noexcept {
        for (std::uint32_t p = 0; p < job_.shape.channels; ++p) {
            for (std::uint32_t row = 0; row <= kGroupRows; ++row) std::fill_n(samples_[p][row], kLanes, base(p));
        }
    }

    TileFault read_rows() noexcept {
        BitReader unary[kMaxPlanes] = {BitReader(job_.parts.unary[0]), BitReader(job_.parts.unary[1]),
                                       BitReader(job_.parts.unary[2]), BitReader(job_.parts.unary[3])};
        payload_ = job_.parts.payload.data();
        start_rows();
        std::uint32_t mode_index = 0;
        for (std::uint32_t group = 0; group < job_.wanted_groups(); ++group) {
            for (std::uint32_t i = 0; i < num_coded_; ++i, ++mode_index) {
                read_group(i, group, unary[coded_[i]]);
                const std::uint32_t mode = job_.parts.modes[mode_index / 2] >> (mode_index % 2 * 4) & 7;
                Sample(*rows)[kLanes] = samples_[coded_[i]];
                std::memcpy(rows[0], rows[kGroupRows], sizeof rows[0]);
                rebuild_group(mode, rows_of(group), rows);
            }
            write_group(group);
        }
        if (!job_.wants_all()) return TileFault::none;
        for (std::uint32_t p = 0; dense() && p < job_.shape.channels; ++p) {
            if (!unary[p].exact()) return TileFault::unary;
        }
        return TileFault::none;
    }

    // Rows 1.. of `rows` from the residuals; row 0 is the row above.
    void rebuild_group(std::uint32_t mode, std::uint32_t num_rows, Sample (*rows)[kLanes]) const noexcept {
        for (std::uint32_t row = 0; row < num_rows; ++row) rebuild_row(mode, rows[row], residuals_[row], rows[row + 1]);
    }

    static void rebuild_row(std::uint32_t mode, const Sample* above, const Sample* residuals, Sample* out) noexcept {
        Sample f[kLanes];
        Sample e[kLanes];
        predict_row(mode, above, f);
        for (std::uint32_t j = 0; j < kLanes; ++j) e[j] = unzigzag(residuals[j]);
        if (mode >= 2) {
            e[0] = static_cast<Sample>(e[0] + above[0] - f[0]);
            for (std::uint32_t j = 1; j < kLanes; ++j) e[j] = static_cast<Sample>(e[j] + e[j - 1]);
        }
        for (std::uint32_t j = 0; j < kLanes; ++j) out[j] = static_cast<Sample>(f[j] + e[j]);
    }

    // Pixels -----------------------------------------------------------------------------------------------------

    void write_group(std::uint32_t group) noexcept {
        for (std::uint32_t row = 0; row < job_.rows_to_write(group); ++row) {
            const std::uint32_t y = group * kGroupRows + row;
            write_row(row + 1, job_.out + y * job_.row_stride);
        }
    }

    void write_row(std::uint32_t row, std::uint8_t* out) noexcept {
        const std::uint32_t channels = job_.shape.channels;
        Sample line[kLanes * kMaxPlanes];
        if (channels < 3) {
            for (std::uint32_t p = 0; p < channels; ++p) place(samples_[p][row], p, line);
        } else {
            switch (job_.parts.transform) {
                case 0: place_rgb<0>(row, line); break;
                case 1: place_rgb<1>(row, line); break;
                case 2: place_rgb<2>(row, line); break;
                default: place_rgb<3>(row, line); break;
            }
            if (channels == 4) place(samples_[3][row], 3, line);
        }
        std::memcpy(out, line, job_.shape.width * job_.shape.pixel_bytes());
    }

    void place(const Sample* plane, std::uint32_t channel, Sample* line) const noexcept {
        const std::uint32_t channels = job_.shape.channels;
        for (std::uint32_t x = 0; x < kLanes; ++x) line[x * channels + channel] = plane[x];
    }

    template <int transform>
    void place_rgb(std::uint32_t row, Sample* line) const noexcept {
        const std::uint32_t channels = job_.shape.channels;
        for (std::uint32_t x = 0; x < kLanes; ++x) {
            const Rgb<Sample> pixel =
                to_rgb<transform>(Pqs<Sample>{samples_[0][row][x], samples_[1][row][x], samples_[2][row][x]});
            line[x * channels] = pixel.r;
            line[x * channels + 1] = pixel.g;
            line[x * channels + 2] = pixel.b;
        }
    }

    const TileJob& job_;
    std::uint32_t num_coded_ = 0;
    std::uint32_t coded_[kMaxPlanes] = {};  // planes that are not constant
    const std::uint8_t* payload_ = nullptr;
    std::uint8_t codes_[kMaxPlanes][kTileSide][kBlocks];
    std::uint8_t masks_[kMaxPlanes][kMaxGroups][kBlocks];
    Sample residuals_[kGroupRows][kLanes];
    Sample samples_[kMaxPlanes][kGroupRows + 1][kLanes];  // the row above, then the rows of a group
};

}  // namespace

TileFault decode_tile_plain(const TileJob& job) noexcept {
    return job.shape.sample_bytes == 1 ? TileDecoder<std::uint8_t>(job).run() : TileDecoder<std::uint16_t>(job).run();
}

void fill_tile(const TileJob& job) noexcept {
    if (job.shape.sample_bytes == 1) {
        TileDecoder<std::uint8_t>(job).fill();
    } else {
        TileDecoder<std::uint16_t>(job).fill();
    }
}

}  // namespace penstock::weir
