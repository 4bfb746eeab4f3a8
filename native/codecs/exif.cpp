#include "codecs/exif.h"

#include <cstring>

namespace penstock {

namespace {

constexpr std::uint16_t kOrientationTag = 0x0112;
constexpr std::uint16_t kShortType = 3;
constexpr std::size_t kEntryBytes = 12;

// Numbers of a TIFF block in the byte order that its first two bytes name. Reads past the end give 0.
class TiffReader {
  public:
    explicit TiffReader(ByteView block) : block_(block), big_endian_(block[0] == 'M') {}

    [[nodiscard]] std::uint32_t number(std::size_t offset, std::size_t size) const {
        if (offset > block_.size() || size > block_.size() - offset) return 0;
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < size; ++i) {
            const std::size_t from = big_endian_ ? i : size - 1 - i;
            value = value << 8 | block_[offset + from];
        }
        return value;
    }
    [[nodiscard]] std::uint32_t u16(std::size_t offset) const { return number(offset, 2); }
    [[nodiscard]] std::uint32_t u32(std::size_t offset) const { return number(offset, 4); }

  private:
    ByteView block_;
    bool big_endian_;
};

bool is_tiff(ByteView block) {
    return block.size() >= 8 &&
           (std::memcmp(block.data(), "II*\0", 4) == 0 || std::memcmp(block.data(), "MM\0*", 4) == 0);
}

}  // namespace

std::uint8_t exif_orientation(ByteView block) noexcept {
    if (block.size() >= 6 && std::memcmp(block.data(), "Exif\0\0", 6) == 0) block = block.subspan(6);
    if (!is_tiff(block)) return 1;
    const TiffReader reader(block);
    const std::size_t directory = reader.u32(4);
    const std::uint32_t num_entries = reader.u16(directory);
    for (std::size_t i = 0; i < num_entries; ++i) {
        const std::size_t entry = directory + 2 + i * kEntryBytes;
        if (reader.u16(entry) != kOrientationTag) continue;
        const std::uint32_t value = reader.u16(entry + 8);
        const bool valid = reader.u16(entry + 2) == kShortType && value >= 1 && value <= 8;
        return valid ? static_cast<std::uint8_t>(value) : std::uint8_t{1};
    }
    return 1;
}

}  // namespace penstock
