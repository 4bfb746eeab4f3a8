// `l3`: patches that do not depend on each other, rows that decode at once. The file is spec/l3.md section 1; what is
// inside a cell (one plane of one patch) is in `l3_cell.h`. Reads the published version 0, writes version 1.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "base/cpu.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/builtin.h"
#include "codecs/l3_cell.h"

namespace penstock {

namespace {

using namespace l3;

static_assert(std::endian::native == std::endian::little, "numbers are stored as they lie in memory");

constexpr std::array<std::uint8_t, 4> kMagic{'L', 'L', 'L', '.'};
constexpr std::size_t kPublishedHeaderBytes = 13;
constexpr std::size_t kHeaderBytes = 20;
constexpr std::size_t kChecksumOffset = 16;
constexpr std::uint32_t kMaxSide = 0x7FFFFFFF;
constexpr std::uint32_t kMaxChannels = 4;
constexpr std::uint32_t kDefaultPatch = 64;

template <typename Number>
Number load(const std::uint8_t* bytes) {
    Number value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

template <typename Number>
void store(std::uint8_t* bytes, Number value) {
    std::memcpy(bytes, &value, sizeof value);
}

const char* const kRestore = "the file is damaged: restore it from its source";

struct Header {
    std::uint32_t version = 1;
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::uint32_t patch = 0;
    std::uint32_t channels = 0;

    [[nodiscard]] bool published() const { return version == 0; }
    [[nodiscard]] std::uint64_t patch_columns() const { return (std::uint64_t{width} + patch - 1) / patch; }
    [[nodiscard]] std::uint64_t patch_rows() const { return (std::uint64_t{height} + patch - 1) / patch; }
    [[nodiscard]] std::uint64_t num_patches() const { return patch_columns() * patch_rows(); }

    [[nodiscard]] std::uint64_t sizes_offset() const { return published() ? kPublishedHeaderBytes : kHeaderBytes; }
    [[nodiscard]] std::uint64_t checksums_offset() const { return sizes_offset() + 2 * channels * num_patches(); }
    [[nodiscard]] std::uint64_t cells_offset() const {
        return checksums_offset() + (published() ? 0 : 4 * num_patches());
    }
};

[[noreturn]] void throw_truncated(ByteView data, const std::string& inside) {
    throw Error(ErrorCode::truncated, "l3 data of " + std::to_string(data.size()) + " bytes ends inside " + inside,
                at_byte("l3", data.size()), "the file is cut off: restore it from its source");
}

void check_header(const Header& header) {
    const bool valid = header.version <= 1 && header.width >= 1 && header.width <= kMaxSide && header.height >= 1 &&
                       header.height <= kMaxSide && header.patch >= kMinPatch && header.patch <= kMaxPatch &&
                       header.channels >= 1 && header.channels <= kMaxChannels;
    if (!valid) {
        throw Error(ErrorCode::corrupt,
                    "l3 header is not valid (version " + std::to_string(header.version) + ", width " +
                        std::to_string(header.width) + ", height " + std::to_string(header.height) + ", patch " +
                        std::to_string(header.patch) + ", channels " + std::to_string(header.channels) + ")",
                    at_byte("l3", 4), "the file is damaged or newer than this version of penstock");
    }
    const bool whole = header.width % header.patch == 0 && header.height % header.patch == 0;
    if (header.published() && !whole) {
        throw Error(ErrorCode::unsupported,
                    "published l3 image of " + std::to_string(header.width) + "x" + std::to_string(header.height) +
                        " pixels is not made of whole patches of " + std::to_string(header.patch) +
                        ": its encoder dropped the rest",
                    at_byte("l3", 4), "encode the image again from its source");
    }
}

bool has_magic(ByteView data) {
    return data.size() >= kMagic.size() && std::memcmp(data.data(), kMagic.data(), kMagic.size()) == 0;
}

Header read_header(ByteView data) {
    if (data.size() < kPublishedHeaderBytes) throw_truncated(data, "its header");
    if (!has_magic(data)) {
        throw Error(ErrorCode::unknown_format, "data does not start with \"LLL.\"", at_byte("l3", 0),
                    "this is not an l3 image");
    }
    Header header{0, load<std::uint32_t>(&data[4]), load<std::uint32_t>(&data[8]), data[12], 3};
    if (header.patch == 0) {  // never so in a published file
        if (data.size() < kHeaderBytes) throw_truncated(data, "its header");
        header.version = data[13] == 0 ? 256 : data[13];
        header.patch = data[14];
        header.channels = data[15];
    }
    check_header(header);
    return header;
}

std::uint32_t tables_crc(ByteView data, const Header& header) {
    const std::uint32_t start = crc32c(data.first(kChecksumOffset));
    return crc32c(data.subspan(kHeaderBytes, header.cells_offset() - kHeaderBytes), start);
}

// The cells of one patch after the other, in the order of the file: a running offset per plane, no table of offsets.
class CellWalk {
  public:
    /// Throws unless the cells fill the file exactly.
    CellWalk(ByteView data, const Header& header) : data_(data), num_patches_(header.num_patches()) {
        if (data.size() < header.cells_offset()) throw_truncated(data, "its tables");
        std::uint64_t offset = header.cells_offset();
        for (std::uint32_t plane = 0; plane < header.channels; ++plane) {
            sizes_[plane] = data.data() + header.sizes_offset() + 2 * plane * num_patches_;
            begin_[plane] = offset;
            for (std::uint64_t i = 0; i < num_patches_; ++i) offset += load<std::uint16_t>(sizes_[plane] + 2 * i);
        }
        if (offset > data.size()) throw_truncated(data, "its patches, which need " + std::to_string(offset));
        if (offset < data.size()) {
            throw Error(ErrorCode::corrupt,
                        "l3 data of " + std::to_string(data.size()) +
                            " bytes is longer than its patches, which end at " + std::to_string(offset),
                        at_byte("l3", offset), kRestore);
        }
    }

    /// The cell of this plane of the current patch. It lies inside `data`, even if that was written to since.
    [[nodiscard]] ByteView cell(std::uint32_t plane) const {
        const std::size_t size = load<std::uint16_t>(sizes_[plane] + 2 * index_);
        if (begin_[plane] > data_.size() || size > data_.size() - begin_[plane]) throw_truncated(data_, "a patch");
        return data_.subspan(begin_[plane], size);
    }

    void next(std::uint32_t channels) {
        for (std::uint32_t plane = 0; plane < channels; ++plane) {
            begin_[plane] += load<std::uint16_t>(sizes_[plane] + 2 * index_);
        }
        ++index_;
    }

    [[nodiscard]] std::uint64_t index() const { return index_; }

  private:
    ByteView data_;
    std::uint64_t num_patches_;
    std::uint64_t index_ = 0;
    std::array<const std::uint8_t*, kMaxChannels> sizes_{};
    std::array<std::uint64_t, kMaxChannels> begin_{};
};

std::uint32_t patch_crc(const CellWalk& walk, const Header& header) {
    std::uint32_t crc = 0;
    for (std::uint32_t plane = 0; plane < header.channels; ++plane) crc = crc32c(walk.cell(plane), crc);
    return crc;
}

struct Kernels {
    DecodeCell decode_cell;
    Interleave interleave;
};

Kernels active_kernels() {
#if defined(__x86_64__)
    switch (active_simd_path()) {
        case SimdPath::avx512: return {decode_cell_avx512, interleave_avx512};
        case SimdPath::avx2: return {decode_cell_avx2, interleave_avx2};
        default: break;
    }
#endif
    return {decode_cell_plain, interleave_plain};
}

class PatchDecoder {
  public:
    PatchDecoder(ByteView data, const Header& header, const Region& region, bool verify, ImageView out)
        : data_(data),
          header_(header),
          region_(region),
          verify_(verify),
          out_(out),
          kernels_(active_kernels()),
          version_(header.published() ? Version::published : Version::repaired) {}

    /// Decodes the current patch of `walk`, whose top left pixel is (y, x), into what the region keeps of it.
    void decode(const CellWalk& walk, std::uint32_t y, std::uint32_t x) {
        if (verify_) check_crc(walk);
        const CellShape shape{std::min(header_.patch, header_.height - y), std::min(header_.patch, header_.width - x)};
        for (std::uint32_t plane = 0; plane < header_.channels; ++plane) {
            const ByteView cell = walk.cell(plane);
            const CellBytes bytes{cell.data(), cell.data() + cell.size(), data_.data() + data_.size()};
            const CellFault fault = kernels_.decode_cell(bytes, shape, version_, planes_.data() + plane * kCellPixels);
            if (fault != CellFault::none) throw_fault(fault, walk, plane);
        }
        copy_out(shape, y, x);
    }

  private:
    [[nodiscard]] std::string patch_name(const CellWalk& walk) const {
        return "patch " + std::to_string(walk.index()) + " (row " +
               std::to_string(walk.index() / header_.patch_columns()) + ", column " +
               std::to_string(walk.index() % header_.patch_columns()) + ")";
    }

    void check_crc(const CellWalk& walk) const {
        if (patch_crc(walk, header_) ==
            load<std::uint32_t>(data_.data() + header_.checksums_offset() + 4 * walk.index()))
            return;
        throw Error(ErrorCode::checksum, "the bytes of " + patch_name(walk) + " do not match their checksum",
                    at_byte("l3", static_cast<std::size_t>(walk.cell(0).data() - data_.data())), kRestore);
    }

    [[noreturn]] void throw_fault(CellFault fault, const CellWalk& walk, std::uint32_t plane) const {
        const std::string what = fault == CellFault::width_above_8   ? " has a row of more than 8 bits a pixel"
                                 : fault == CellFault::rows_too_long ? " is shorter than its rows"
                                                                     : " is longer than its rows";
        throw Error(ErrorCode::corrupt, "plane " + std::to_string(plane) + " of " + patch_name(walk) + what,
                    at_byte("l3", static_cast<std::size_t>(walk.cell(plane).data() - data_.data())),
                    !header_.published()
                        ? kRestore
                        : "encode the image again: the published encoder damages rows of 0, 6 or 8 bits a pixel");
    }

    void copy_out(CellShape shape, std::uint32_t y, std::uint32_t x) {
        const std::uint32_t y_begin = std::max(y, region_.y);
        const std::uint32_t y_end = std::min(y + shape.rows, region_.y + region_.height);
        const std::uint32_t x_begin = std::max(x, region_.x);
        const std::uint32_t x_end = std::min(x + shape.columns, region_.x + region_.width);
        const std::uint32_t count = x_end - x_begin;
        for (std::uint32_t row = y_begin; row < y_end; ++row) {
            const std::uint8_t* pixels = planes_.data() + (row - y) * kCellStride + (x_begin - x);
            std::uint8_t* target = out_.row(row - region_.y) + std::size_t{x_begin - region_.x} * header_.channels;
            if (header_.channels == 1) {
                std::memcpy(target, pixels, count);
            } else {
                kernels_.interleave(pixels, header_.channels, count, target);
            }
        }
    }

    ByteView data_;
    const Header& header_;
    Region region_;
    bool verify_;
    ImageView out_;
    Kernels kernels_;
    Version version_;
    alignas(64) std::array<std::uint8_t, kMaxChannels * kCellPixels> planes_;
};

ImageInfo describe(const Header& header) {
    static constexpr std::array<std::string_view, 5> colors{"", "grey", "grey+alpha", "rgb", "rgb+alpha"};
    ImageInfo info;
    info.shape = {header.height, header.width, static_cast<std::uint8_t>(header.channels), 1};
    info.color = colors[header.channels];
    info.variant = header.published() ? "published" : "";
    return info;
}

class L3Codec final : public Codec {
  public:
    std::string_view name() const noexcept override { return "l3"; }

    bool sniff(ByteView data) const noexcept override { return has_magic(data); }

    ImageInfo inspect(ByteView data) const override { return describe(read_header(data)); }

    void decode(ByteView data, const ImageInfo& info, const DecodeOptions& options, ImageView out) const override {
        const Header header = read_header(data);
        check_same_image(name(), describe(header), info);
        CellWalk walk(data, header);
        const bool verify = options.verify && !header.published();
        if (verify) check_tables(data, header);
        const Region region = options.region.value_or(Region{0, 0, info.shape.height, info.shape.width});
        const std::uint64_t first_column = region.x / header.patch;
        const std::uint64_t last_column = (region.x + region.width - 1) / header.patch;
        const std::uint64_t first_row = region.y / header.patch;
        const std::uint64_t last_row = (region.y + region.height - 1) / header.patch;
        PatchDecoder decoder(data, header, region, verify, out);
        for (std::uint64_t row = 0; row <= last_row; ++row) {
            for (std::uint64_t column = 0; column < header.patch_columns(); ++column) {
                const bool touched = row >= first_row && column >= first_column && column <= last_column;
                if (touched) {
                    decoder.decode(walk, static_cast<std::uint32_t>(row * header.patch),
                                   static_cast<std::uint32_t>(column * header.patch));
                }
                walk.next(header.channels);
            }
        }
        if (options.counters != nullptr) {
            *options.counters = {header.num_patches(), (last_row - first_row + 1) * (last_column - first_column + 1)};
        }
    }

    ByteBuffer encode(ConstImageView pixels, const Parameters& parameters) const override {
        const PixelShape& shape = pixels.shape;
        if (shape.sample_bytes != 1) {
            throw Error(ErrorCode::unsupported, "l3 holds 8-bit samples, these have 16 bits", "pixels",
                        "choose weir, png or raw");
        }
        const Header header{1, shape.width, shape.height,
                            static_cast<std::uint32_t>(parameters.integer("patch", kDefaultPatch)), shape.channels};
        check_header(header);
        // A row of n pixels takes at most n + 2 bytes, and a cell's encoder 8 more while it runs.
        const std::uint64_t num_rows = header.patch_columns() * shape.height * header.channels;
        ByteBuffer out(header.cells_offset() + shape.bytes() + 2 * num_rows + 8);
        write_header(header, out.data());
        out.resize(write_cells(pixels, header, out.data()));
        write_checksums(header, out.view(), out.data());
        return out;
    }

  private:
    static void check_tables(ByteView data, const Header& header) {
        if (load<std::uint32_t>(&data[kChecksumOffset]) == tables_crc(data, header)) return;
        throw Error(ErrorCode::checksum, "l3 header and tables do not match their checksum",
                    at_byte("l3", kChecksumOffset), kRestore);
    }

    static void write_header(const Header& header, std::uint8_t* out) {
        std::memcpy(out, kMagic.data(), kMagic.size());
        store(out + 4, header.width);
        store(out + 8, header.height);
        out[12] = 0;
        out[13] = static_cast<std::uint8_t>(header.version);
        out[14] = static_cast<std::uint8_t>(header.patch);
        out[15] = static_cast<std::uint8_t>(header.channels);
    }

    // Returns the size of the file.
    static std::size_t write_cells(ConstImageView pixels, const Header& header, std::uint8_t* file) {
        std::uint8_t* size = file + header.sizes_offset();
        std::uint8_t* cell = file + header.cells_offset();
        for (std::uint32_t plane = 0; plane < header.channels; ++plane) {
            for (std::uint64_t row = 0; row < header.patch_rows(); ++row) {
                for (std::uint64_t column = 0; column < header.patch_columns(); ++column) {
                    std::uint8_t* const end = encode_cell(patch_at(pixels, header, row, column), plane, cell);
                    store(size, static_cast<std::uint16_t>(end - cell));
                    size += 2;
                    cell = end;
                }
            }
        }
        return static_cast<std::size_t>(cell - file);
    }

    static ConstImageView patch_at(ConstImageView pixels, const Header& header, std::uint64_t row,
                                   std::uint64_t column) {
        const std::uint64_t y = row * header.patch;
        const std::uint64_t x = column * header.patch;
        PixelShape shape = pixels.shape;
        shape.height = static_cast<std::uint32_t>(std::min<std::uint64_t>(header.patch, header.height - y));
        shape.width = static_cast<std::uint32_t>(std::min<std::uint64_t>(header.patch, header.width - x));
        return {pixels.row(y) + x * header.channels, pixels.row_stride, shape};
    }

    static void write_checksums(const Header& header, ByteView file, std::uint8_t* out) {
        for (CellWalk walk(file, header); walk.index() < header.num_patches(); walk.next(header.channels)) {
            store(out + header.checksums_offset() + 4 * walk.index(), patch_crc(walk, header));
        }
        store(out + kChecksumOffset, tables_crc(file, header));
    }
};

}  // namespace

const Codec& l3_codec() noexcept {
    static const L3Codec codec;
    return codec;
}

}  // namespace penstock
