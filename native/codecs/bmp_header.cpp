#include "codecs/bmp_header.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/error.h"
#include "codecs/codec.h"

namespace penstock::bmp {

namespace {

constexpr std::size_t kFileHeaderBytes = 14;
constexpr std::size_t kCoreHeaderBytes = 12;
constexpr std::size_t kOs2HeaderBytes = 64;
constexpr std::array<std::uint32_t, 8> kHeaderSizes{12, 16, 40, 52, 56, 64, 108, 124};

enum Compression : std::uint32_t { kNone = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3, kAlphaBitFields = 6 };

[[noreturn]] void refuse(ErrorCode code, std::string what, std::size_t offset, const char* fix) {
    throw Error(code, std::move(what), at_byte("bmp", offset), fix);
}

[[noreturn]] void refuse_damaged(ErrorCode code, std::string what, std::size_t offset) {
    refuse(code, std::move(what), offset, "the file is damaged: restore it from its source");
}

std::uint32_t load(const std::uint8_t* bytes, std::size_t size) {
    std::uint32_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | bytes[i];
    return value;
}

// Fields of the information header by their offset in it; those that a short header lacks are 0.
class InfoHeader {
  public:
    explicit InfoHeader(ByteView data) : size_(load(&data[kFileHeaderBytes], 4)), data_(data) {
        if (data.size() < kFileHeaderBytes + size_) {
            refuse_damaged(ErrorCode::truncated, "bmp data ends inside its header", data.size());
        }
    }

    [[nodiscard]] std::uint32_t u16(std::size_t offset) const { return field(offset, 2); }
    [[nodiscard]] std::uint32_t u32(std::size_t offset) const { return field(offset, 4); }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool is_core() const { return size_ == kCoreHeaderBytes; }
    [[nodiscard]] bool is_os2() const { return size_ == 16 || size_ == kOs2HeaderBytes; }

  private:
    [[nodiscard]] std::uint32_t field(std::size_t offset, std::size_t bytes) const {
        return offset + bytes <= size_ ? load(&data_[kFileHeaderBytes + offset], bytes) : 0;
    }

    std::size_t size_;
    ByteView data_;
};

void read_size(const InfoHeader& info, Header& header) {
    if (info.is_core()) {
        header.width = info.u16(4);
        header.height = info.u16(6);
        header.bits = static_cast<std::uint8_t>(std::min(info.u16(10), 255U));
        return;
    }
    const auto width = static_cast<std::int32_t>(info.u32(4));
    const auto height = static_cast<std::int32_t>(info.u32(8));
    if (width < 0 || height == INT32_MIN) {
        refuse_damaged(ErrorCode::corrupt, "width " + std::to_string(width) + ", height " + std::to_string(height),
                       kFileHeaderBytes + 4);
    }
    header.width = static_cast<std::uint32_t>(width);
    header.height = static_cast<std::uint32_t>(height < 0 ? -height : height);
    header.top_down = height < 0;
    header.bits = static_cast<std::uint8_t>(std::min(info.u16(14), 255U));
}

void check_compression(const InfoHeader& info, const Header& header) {
    const std::uint32_t compression = info.u32(16);
    const bool rle = compression == kRle8 || compression == kRle4;
    const bool masks = (compression == kBitFields || compression == kAlphaBitFields) && !info.is_os2();
    const bool fits = compression == kNone || (compression == kRle8 && header.bits == 8) ||
                      (compression == kRle4 && header.bits == 4) || (masks && (header.bits == 16 || header.bits == 32));
    constexpr std::array<std::uint8_t, 6> depths{1, 4, 8, 16, 24, 32};
    if (!fits || (rle && header.top_down) || std::ranges::find(depths, header.bits) == depths.end()) {
        refuse(ErrorCode::unsupported,
               "bmp of " + std::to_string(header.bits) + " bits with compression " + std::to_string(compression) +
                   (header.top_down ? ", top-down" : ""),
               kFileHeaderBytes + 14, "convert it to png, or to a bmp without compression");
    }
}

// 0 for the first, 1 for the second…: entry i is the grey that index i stands for.
bool is_grey_palette(const PixelTable& palette, std::size_t num_entries, std::uint8_t bits) {
    for (std::size_t i = 0; i < num_entries; ++i) {
        const std::size_t grey = bits == 1 ? i * 255 : i;
        const auto& entry = palette[i];
        if (entry[0] != grey || entry[1] != grey || entry[2] != grey) return false;
    }
    return bits == 8 || num_entries == std::size_t{1} << bits;
}

void read_palette(ByteView data, const InfoHeader& info, Header& header) {
    const std::size_t entry_bytes = info.is_core() ? 3 : 4;
    const std::size_t begin = kFileHeaderBytes + info.size();
    const std::size_t most = std::size_t{1} << header.bits;
    const std::size_t told = info.u32(32) == 0 ? most : info.u32(32);
    if (told > 256) {
        refuse_damaged(ErrorCode::corrupt, "palette of " + std::to_string(told) + " colours", kFileHeaderBytes + 32);
    }
    // Some writers cut the palette short by the offset of the pixels.
    const std::size_t room = header.pixel_offset > begin ? (header.pixel_offset - begin) / entry_bytes : 0;
    const std::size_t num_entries = std::min({told, most, room});
    if (data.size() < begin + num_entries * entry_bytes) {
        refuse_damaged(ErrorCode::truncated, "bmp data ends inside its palette", data.size());
    }
    for (std::size_t i = 0; i < num_entries; ++i) {
        const std::uint8_t* bgr = &data[begin + i * entry_bytes];
        header.palette[i] = {bgr[2], bgr[1], bgr[0], 255};
    }
    header.layout = Layout::indices;
    header.grey = num_entries > 0 && is_grey_palette(header.palette, num_entries, header.bits);
    header.channels = header.grey ? 1 : 3;
}

bool is_contiguous(std::uint32_t mask) {
    return mask == 0 || std::has_single_bit((mask >> std::countr_zero(mask)) + 1ULL);
}

std::array<BitField, 4> read_masks(ByteView data, const InfoHeader& info) {
    const std::size_t begin = kFileHeaderBytes + 40;
    const bool has_alpha = info.size() >= 56 || info.u32(16) == kAlphaBitFields;
    const std::size_t count = has_alpha ? 4 : 3;
    if (data.size() < begin + 4 * count) {
        refuse_damaged(ErrorCode::truncated, "bmp data ends inside its colour masks", data.size());
    }
    std::array<BitField, 4> fields;
    for (std::size_t i = 0; i < count; ++i) fields[i].mask = load(&data[begin + 4 * i], 4);
    return fields;
}

void read_fields(ByteView data, const InfoHeader& info, Header& header) {
    header.layout = Layout::fields;
    if (info.u32(16) == kNone) {
        header.fields = header.bits == 16
                            ? std::array<BitField, 4>{BitField{0x7c00}, BitField{0x03e0}, BitField{0x001f}, {}}
                            : std::array<BitField, 4>{BitField{0xff0000}, BitField{0xff00}, BitField{0xff}, {}};
        return;
    }
    header.fields = read_masks(data, info);
    const auto [red, green, blue, alpha] = header.fields;
    const bool valid = red.mask != 0 && green.mask != 0 && blue.mask != 0 && is_contiguous(red.mask) &&
                       is_contiguous(green.mask) && is_contiguous(blue.mask) && is_contiguous(alpha.mask);
    if (!valid) {
        refuse(ErrorCode::unsupported, "a colour mask of the bmp is empty or has holes", kFileHeaderBytes + 40,
               "convert it to png");
    }
    header.channels = alpha.mask != 0 ? 4 : 3;
}

}  // namespace

std::uint8_t BitField::read(std::uint32_t pixel) const noexcept {
    const int shift = std::countr_zero(mask);
    const std::uint64_t top = mask >> shift;
    return static_cast<std::uint8_t>(std::uint64_t{(pixel & mask) >> shift} * 255 / top);
}

bool is_bmp(ByteView data) noexcept {
    if (data.size() < kFileHeaderBytes + 4 || data[0] != 'B' || data[1] != 'M') return false;
    const std::uint32_t size = load(&data[kFileHeaderBytes], 4);
    return std::ranges::find(kHeaderSizes, size) != kHeaderSizes.end();
}

Header read_header(ByteView data) {
    if (!is_bmp(data)) {
        const bool cut = data.size() < kFileHeaderBytes + 4;
        refuse_damaged(cut ? ErrorCode::truncated : ErrorCode::corrupt,
                       cut ? "bmp data ends inside its header" : "data does not start like a bmp", 0);
    }
    const InfoHeader info(data);
    Header header;
    header.pixel_offset = load(&data[10], 4);
    read_size(info, header);
    check_compression(info, header);
    header.run_length = info.u32(16) == kRle8 || info.u32(16) == kRle4;
    if (header.bits <= 8) {
        read_palette(data, info, header);
    } else if (header.bits != 24) {
        read_fields(data, info, header);
    }
    return header;
}

}  // namespace penstock::bmp
