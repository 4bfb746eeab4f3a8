#include "codecs/l3_cell.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace penstock::l3 {

namespace {

static_assert(std::endian::native == std::endian::little, "eight deltas are packed in one little-endian word");

// A row with a zero on either side, so that the first and last column need no case of their own.
class PaddedRow {
  public:
    [[nodiscard]] std::uint8_t* pixels() { return storage_.data() + 1; }
    [[nodiscard]] const std::uint8_t* pixels() const { return storage_.data() + 1; }

  private:
    std::array<std::uint8_t, kMaxPatch + 2> storage_{};
};

std::uint64_t load_word(const std::uint8_t* bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, 8);
    return word;
}

// Deltas travel eight at a time: eight w-bit fields are exactly w bytes. Packing closes the gaps between fields in
// three steps, from eight fields of w bits to four of 2w, two of 4w, one of 8w; spreading opens them again.
std::uint64_t pack_deltas(std::uint64_t bytes, std::uint32_t width) {
    constexpr std::uint64_t even_bytes = 0x00FF00FF00FF00FF;
    constexpr std::uint64_t even_pairs = 0x0000FFFF0000FFFF;
    bytes = (bytes & even_bytes) | ((bytes & ~even_bytes) >> (8 - width));
    bytes = (bytes & even_pairs) | ((bytes & ~even_pairs) >> (16 - 2 * width));
    return (bytes & 0xFFFFFFFF) | ((bytes >> 32) << (4 * width));
}

std::uint64_t spread_deltas(std::uint64_t packed, std::uint32_t width) {
    const std::uint64_t field = (std::uint64_t{1} << width) - 1;
    const std::uint64_t two = (std::uint64_t{1} << (2 * width)) - 1;
    const std::uint64_t four = (std::uint64_t{1} << (4 * width)) - 1;
    packed = (packed & four) | (((packed >> (4 * width)) & four) << 32);
    packed = (packed & (two * 0x0000000100000001)) | (((packed >> (2 * width)) & (two * 0x0000000100000001)) << 16);
    return (packed & (field * 0x0001000100010001)) | (((packed >> width) & (field * 0x0001000100010001)) << 8);
}

std::uint8_t distance(std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>(std::max(x, y) - std::min(x, y));
}

// Section 3, in bytes only so that it vectorises sixteen wide. T lies between TL and TR, and then b = |a - c|, or
// beside both, and then b = a + c, which need not fit a byte: but then a <= b for certain, and b <= c only if a is 0.
template <Version kVersion>
void predict_row(const std::uint8_t* __restrict above, std::uint32_t columns, std::uint8_t* __restrict prediction) {
    for (std::uint32_t k = 0; k < columns; ++k) {
        const std::uint8_t top_left = above[std::ptrdiff_t{k} - 1];
        const std::uint8_t top = above[k];
        const std::uint8_t top_right = above[k + 1];
        const std::uint8_t a = distance(top_right, top);
        const std::uint8_t c = distance(top_left, top);
        const std::uint8_t beside = (top_right > top) == (top_left > top) ? 255 : 0;
        const std::uint8_t b_between = distance(a, c);
        const std::uint8_t b_or_more = b_between | beside;
        const std::uint8_t b_above_c = (beside & a) | (~beside & (b_between - std::min(b_between, c)));
        const std::uint8_t top_or_right = b_above_c == 0 ? top : top_right;
        const std::uint8_t left_or_top = a <= b_or_more ? top_left : top;
        const std::uint8_t not_left = kVersion == Version::published ? (a <= c ? top : top_right) : top_or_right;
        std::uint8_t choice = a <= std::min(b_or_more, c) ? top_left : not_left;
        choice = top_right == 0 ? left_or_top : choice;
        prediction[k] = top_left == 0 ? top_or_right : choice;
    }
}

// Adds the row's deltas and base to `pixels`, which holds the predictions. May read 9 bytes past the row's fields.
void add_deltas(const std::uint8_t* row, std::uint32_t width, std::uint8_t base, std::uint32_t columns,
                std::uint8_t* pixels) {
    std::array<std::uint8_t, kMaxPatch> deltas;
    for (std::uint32_t k = 0; k < columns; k += 8) {
        // Eight deltas start in the middle of a byte; their last nibble may lie in a ninth one.
        const std::uint8_t* fields = row + 1 + k / 8 * width;
        const std::uint64_t packed = (load_word(fields) >> 4) | (std::uint64_t{fields[8]} << 60);
        const std::uint64_t spread = spread_deltas(packed, width);
        std::memcpy(&deltas[k], &spread, 8);
    }
    for (std::uint32_t k = 0; k < columns; ++k) pixels[k] = static_cast<std::uint8_t>(pixels[k] + deltas[k] + base);
}

template <Version kVersion>
CellFault decode_cell(CellBytes bytes, CellShape shape, std::uint8_t* out) {
    constexpr std::size_t read_beyond = 16;
    PaddedRow above;
    std::array<std::uint8_t, kMaxRowBytes + read_beyond> tail;
    const std::uint8_t* row = bytes.begin;
    for (std::uint32_t r = 0; r < shape.rows; ++r) {
        if (bytes.end - row < 2) return CellFault::rows_too_long;
        const std::uint32_t width = row[0] & 15;
        const auto base = static_cast<std::uint8_t>((row[0] >> 4) | (row[1] << 4));
        if (width > kMaxWidth) return CellFault::width_above_8;
        const std::size_t size = row_bytes(shape.columns, width);
        if (static_cast<std::size_t>(bytes.end - row) < size) return CellFault::rows_too_long;

        std::uint8_t* pixels = out + r * kCellStride;
        if (r == 0) {
            std::memset(pixels, kVersion == Version::published ? 0 : 128, shape.columns);
        } else {
            predict_row<kVersion>(above.pixels(), shape.columns, pixels);
        }
        const std::uint8_t* source = row;
        if (static_cast<std::size_t>(bytes.readable_end - row) < size + read_beyond) {
            std::memcpy(tail.data(), row, size);
            std::memset(tail.data() + size, 0, read_beyond);
            source = tail.data();
        }
        add_deltas(source, width, base, shape.columns, pixels);
        std::memcpy(above.pixels(), pixels, shape.columns);
        row += size;
    }
    return row == bytes.end ? CellFault::none : CellFault::rows_too_short;
}

// Writes a row's head and deltas; `deltas` is zero from `columns` to the next multiple of eight.
std::uint8_t* write_row(const std::uint8_t* deltas, std::uint32_t columns, std::uint32_t width, std::uint8_t base,
                        std::uint8_t* out) {
    std::uint8_t* const end = out + row_bytes(columns, width);
    *out++ = static_cast<std::uint8_t>(width | (base << 4));
    std::uint64_t carry = base >> 4;  // the nibble that the next byte begins with
    for (std::uint32_t k = 0; width > 0 && k < columns; k += 8) {
        const std::uint64_t packed = pack_deltas(load_word(deltas + k), width);
        const std::uint64_t word = carry | (packed << 4);
        std::memcpy(out, &word, 8);
        out += width;
        carry = packed >> (8 * width - 4);
    }
    if (out < end) *out = static_cast<std::uint8_t>(carry);
    return end;
}

std::uint8_t* encode_row(const std::uint8_t* pixels, const std::uint8_t* prediction, std::uint32_t columns,
                         std::uint8_t* out) {
    std::array<std::uint8_t, kMaxPatch> deltas;
    // A residual and its offset by 128 order alike, the one as signed, the other as unsigned bytes.
    std::uint8_t least = 255;
    std::uint8_t greatest = 0;
    for (std::uint32_t k = 0; k < columns; ++k) {
        const auto offset = static_cast<std::uint8_t>(pixels[k] - prediction[k] + 128);
        deltas[k] = offset;
        least = std::min(least, offset);
        greatest = std::max(greatest, offset);
    }
    for (std::uint32_t k = 0; k < columns; ++k) deltas[k] = static_cast<std::uint8_t>(deltas[k] - least);
    for (std::uint32_t k = columns; k % 8 != 0; ++k) deltas[k] = 0;
    const auto width = static_cast<std::uint32_t>(std::bit_width(static_cast<unsigned>(greatest - least)));
    return write_row(deltas.data(), columns, width, static_cast<std::uint8_t>(least - 128), out);
}

template <std::uint32_t kChannels>
void interleave(const std::uint8_t* __restrict planes, std::uint32_t count, std::uint8_t* __restrict out) {
    for (std::uint32_t k = 0; k < count; ++k) {
        for (std::uint32_t c = 0; c < kChannels; ++c) out[k * kChannels + c] = planes[c * kCellPixels + k];
    }
}

void take_plane(const std::uint8_t* samples, std::uint32_t channels, std::uint32_t columns, std::uint8_t* out) {
    for (std::uint32_t k = 0; k < columns; ++k) out[k] = samples[std::size_t{k} * channels];
}

}  // namespace

CellFault decode_cell_plain(CellBytes bytes, CellShape shape, Version version, std::uint8_t* out) {
    return version == Version::published ? decode_cell<Version::published>(bytes, shape, out)
                                         : decode_cell<Version::repaired>(bytes, shape, out);
}

void interleave_plain(const std::uint8_t* planes, std::uint32_t channels, std::uint32_t count, std::uint8_t* out) {
    switch (channels) {
        case 2: return interleave<2>(planes, count, out);
        case 3: return interleave<3>(planes, count, out);
        default: return interleave<4>(planes, count, out);
    }
}

std::uint8_t* encode_cell(ConstImageView patch, std::uint32_t plane, std::uint8_t* out) {
    const std::uint32_t columns = patch.shape.width;
    std::array<std::uint8_t, kMaxPatch> prediction;
    prediction.fill(128);
    PaddedRow row;
    for (std::uint32_t r = 0; r < patch.shape.height; ++r) {
        if (r > 0) predict_row<Version::repaired>(row.pixels(), columns, prediction.data());
        take_plane(patch.row(r) + plane, patch.shape.channels, columns, row.pixels());
        out = encode_row(row.pixels(), prediction.data(), columns, out);
    }
    return out;
}

}  // namespace penstock::l3
