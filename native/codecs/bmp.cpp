// `bmp`: read as a source. 1, 4 and 8 bits with a palette (run-length coded or not), 16, 24 and 32 bits, either way up.
// A palette of greys in order gives one channel, as Pillow's mode "L" does. Nothing is written.
#include <cstring>
#include <string>

#include "base/error.h"
#include "codecs/bmp_header.h"
#include "codecs/builtin.h"

namespace penstock {

namespace {

using Byte = std::uint8_t;

constexpr const char* kRestore = "the file is damaged: restore it from its source";

[[noreturn]] void throw_truncated(std::size_t size) {
    throw Error(ErrorCode::truncated, "bmp data ends before its last row", at_byte("bmp", size), kRestore);
}

// The indices of a run-length coded image, a byte each, rows bottom-up as stored. What the runs leave out is index 0.
class RunLengthReader {
  public:
    RunLengthReader(ByteView data, const bmp::Header& header, Byte* indices)
        : data_(data), at_(header.pixel_offset), header_(header), indices_(indices) {}

    void read() {
        std::memset(indices_, 0, std::size_t{header_.width} * header_.height);
        while (y_ < header_.height) {
            const Byte count = next();
            const Byte value = next();
            if (count > 0) {
                for (unsigned i = 0; i < count; ++i) put(nibble_or_byte(value, i));
            } else if (value == kEndOfRow) {
                x_ = 0;
                ++y_;
            } else if (value == kEndOfImage) {
                return;
            } else if (value == kMove) {
                x_ += next();
                y_ += next();
            } else {
                read_literals(value);
            }
        }
    }

  private:
    static constexpr Byte kEndOfRow = 0;
    static constexpr Byte kEndOfImage = 1;
    static constexpr Byte kMove = 2;

    Byte next() {
        if (at_ >= data_.size()) throw_truncated(data_.size());
        return data_[at_++];
    }

    [[nodiscard]] Byte nibble_or_byte(Byte value, unsigned i) const {
        if (header_.bits == 8) return value;
        return i % 2 == 0 ? value >> 4 : value & 15;
    }

    void read_literals(unsigned count) {
        const std::size_t num_bytes = header_.bits == 8 ? count : (count + 1) / 2;
        Byte value = 0;
        for (unsigned i = 0; i < count; ++i) {
            if (header_.bits == 8 || i % 2 == 0) value = next();
            put(nibble_or_byte(value, i));
        }
        if (num_bytes % 2 != 0) (void)next();  // literals fill whole 16-bit words
    }

    // What runs over the right edge is dropped.
    void put(Byte index) {
        if (x_ < header_.width && y_ < header_.height) indices_[y_ * header_.width + x_] = index;
        ++x_;
    }

    ByteView data_;
    std::size_t at_;
    const bmp::Header& header_;
    Byte* indices_;
    std::size_t x_ = 0;
    std::size_t y_ = 0;  // counted from the bottom
};

void convert_bgr(const Byte* row, std::size_t begin, std::size_t count, Byte* out) {
    for (std::size_t i = 0; i < count; ++i) {
        const Byte* bgr = row + 3 * (begin + i);
        out[3 * i] = bgr[2];
        out[3 * i + 1] = bgr[1];
        out[3 * i + 2] = bgr[0];
    }
}

void convert_fields(const bmp::Header& header, const Byte* row, std::size_t begin, std::size_t count, Byte* out) {
    const std::size_t stored_bytes = header.bits / 8;
    for (std::size_t i = 0; i < count; ++i) {
        const Byte* stored = row + (begin + i) * stored_bytes;
        std::uint32_t pixel = stored[0] | std::uint32_t{stored[1]} << 8;
        if (stored_bytes == 4) pixel |= std::uint32_t{stored[2]} << 16 | std::uint32_t{stored[3]} << 24;
        for (std::size_t c = 0; c < header.channels; ++c) out[i * header.channels + c] = header.fields[c].read(pixel);
    }
}

// Rows as stored, from the top of the image down.
class StoredRows {
  public:
    StoredRows(ByteView data, const bmp::Header& header, BufferPool& pool)
        : stride_(header.row_stride()), header_(header) {
        if (header.run_length) {
            indices_.emplace(std::size_t{header.width} * header.height, pool);
            RunLengthReader(data, header, indices_->data()).read();
            first_ = indices_->data();
            stride_ = header.width;
            return;
        }
        const std::size_t row_bytes = (std::size_t{header.width} * header.bits + 7) / 8;
        const std::size_t needed = stride_ * (header.height - std::size_t{1}) + row_bytes;
        if (header.pixel_offset > data.size() || data.size() - header.pixel_offset < needed) {
            throw_truncated(data.size());
        }
        first_ = data.data() + header.pixel_offset;
    }

    [[nodiscard]] const Byte* row(std::uint32_t y) const {
        return first_ + stride_ * (header_.top_down ? y : header_.height - 1 - y);
    }
    [[nodiscard]] unsigned bits() const { return indices_ ? 8 : header_.bits; }

  private:
    std::optional<PoolBlock> indices_;
    const Byte* first_ = nullptr;
    std::size_t stride_;
    const bmp::Header& header_;
};

// What each index decodes to: a colour, a grey, or itself.
PixelTable table_of(const bmp::Header& header, bool keep_indices) {
    PixelTable table = header.palette;
    if (keep_indices || (header.grey && header.bits == 8)) {
        for (std::size_t i = 0; i < table.size(); ++i) table[i][0] = static_cast<Byte>(i);
    }
    return table;
}

ImageInfo describe(const bmp::Header& header) {
    ImageInfo info;
    info.shape = {header.height, header.width, header.channels, 1};
    info.palette = header.layout == bmp::Layout::indices && !header.grey;
    info.depth = header.layout == bmp::Layout::indices ? header.bits : std::uint8_t{8};
    info.color = info.palette ? "palette" : header.grey ? "grey" : header.channels == 4 ? "rgb+alpha" : "rgb";
    info.variant = header.run_length ? "run-length" : "";
    return info;
}

class BmpCodec final : public Codec {
  public:
    std::string_view name() const noexcept override { return "bmp"; }

    bool sniff(ByteView data) const noexcept override { return bmp::is_bmp(data); }

    ImageInfo inspect(ByteView data) const override { return describe(bmp::read_header(data)); }

    [[nodiscard]] std::size_t working_bytes(const ImageInfo& info) const noexcept override {
        return std::size_t{info.shape.width} * info.shape.height + Codec::working_bytes(info);  // indices
    }

    void decode(ByteView data, const ImageInfo& info, const DecodeOptions& options, ImageView out) const override {
        const bmp::Header header = bmp::read_header(data);
        check_same_image(name(), describe(header), info);
        const StoredRows rows(data, header, options.working_pool());
        const bool keep_indices = options.palette_indices && info.palette;
        const PixelTable table = table_of(header, keep_indices);
        const Region region = options.region.value_or(Region{0, 0, header.height, header.width});
        for (std::uint32_t y = 0; y < region.height; ++y) {
            const Byte* row = rows.row(region.y + y);
            switch (header.layout) {
                case bmp::Layout::bgr: convert_bgr(row, region.x, region.width, out.row(y)); break;
                case bmp::Layout::fields: convert_fields(header, row, region.x, region.width, out.row(y)); break;
                case bmp::Layout::indices:
                    look_up_pixels(table, out.shape.channels, row, rows.bits(), region.x, region.width, out.row(y));
                    break;
            }
        }
        if (options.counters != nullptr) {
            *options.counters = {header.height, header.run_length ? header.height : region.height};
        }
    }

    ByteBuffer encode(ConstImageView, const Parameters&) const override {
        throw Error(ErrorCode::unsupported, "codec 'bmp' is read-only", "encode", "choose png or weir");
    }
};

}  // namespace

const Codec& bmp_codec() noexcept {
    static const BmpCodec codec;
    return codec;
}

}  // namespace penstock
