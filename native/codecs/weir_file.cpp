// The outside of a Weir file: header, tables, metadata, and the head of a tile. Every length is checked here, once,
// before anything is read through it.
#include <cstring>
#include <string>
#include <string_view>

#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/codec.h"
#include "codecs/weir.h"

namespace penstock::weir {

namespace {

constexpr std::size_t kMaxPayloadBytes = std::size_t{kMaxPlanes} * kLanes * kTileSide * 2;
constexpr std::size_t kMaxUnaryBytes = std::size_t{kLanes} * kTileSide * (kMaxQuotient - 1) / 8;
constexpr std::uint32_t kMaxSide = 0x7fffffff;
constexpr const char* kRestore = "the file is damaged: restore it from its source";

template <typename Number>
Number load(const std::uint8_t* bytes) noexcept {
    Number value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

[[noreturn]] void refuse(std::string what, std::size_t at) {
    throw Error(ErrorCode::corrupt, std::move(what), at_byte("weir", at), kRestore);
}

[[noreturn]] void refuse_short(std::string what, std::size_t size) {
    throw Error(ErrorCode::truncated, std::move(what), at_byte("weir", size),
                "the file is cut off: restore it from its source");
}

void check_fields(ByteView data) {
    if (std::memcmp(data.data(), "WEIR", 4) != 0) refuse("weir data does not begin with its magic bytes", 0);
    if (data[4] != 1) {
        throw Error(ErrorCode::unsupported, "weir version " + std::to_string(data[4]) + " is not known",
                    at_byte("weir", 4), "use a newer version of penstock");
    }
    if (data[5] > 1) refuse("weir profile " + std::to_string(data[5]) + " does not exist", 5);
    if (data[6] < 1 || data[6] > 4) refuse("weir image has " + std::to_string(data[6]) + " channels", 6);
    if (data[7] != 8 && data[7] != 16) refuse("weir image has " + std::to_string(data[7]) + " bits per sample", 7);
    for (const std::size_t at : {std::size_t{8}, std::size_t{12}}) {
        const auto side = load<std::uint32_t>(&data[at]);
        if (side == 0 || side > kMaxSide) refuse("weir image has a side of " + std::to_string(side) + " pixels", at);
    }
    if (data[16] != 6 || data[17] != 6) refuse("weir tiles are not 64x64", 16);
    if (data[18] > 1 || data[19] != 0) refuse("weir header has flags that do not exist", 18);
}

}  // namespace

Header read_header(ByteView data) {
    if (data.size() < kHeaderBytes) {
        refuse_short("weir data of " + std::to_string(data.size()) + " bytes is shorter than its 32-byte header",
                     data.size());
    }
    check_fields(data);
    if (crc32c(data.first(28)) != load<std::uint32_t>(&data[28])) {
        throw Error(ErrorCode::checksum, "weir header does not match its checksum", at_byte("weir", 28), kRestore);
    }
    Header header;
    header.profile = static_cast<Profile>(data[5]);
    header.shape = {load<std::uint32_t>(&data[12]), load<std::uint32_t>(&data[8]), data[6],
                    static_cast<std::uint8_t>(data[7] / 8)};
    header.wide_offsets = (data[18] & 1) != 0;
    header.metadata_bytes = load<std::uint32_t>(&data[20]);
    header.table_crc = load<std::uint32_t>(&data[24]);
    return header;
}

Index::Index(ByteView data, const Header& header, bool verify) : data_(data), header_(header) {
    const std::uint64_t begin = header.tiles_begin();
    if (data.size() < begin) {
        refuse_short("weir data of " + std::to_string(data.size()) + " bytes ends before its first tile, at byte " +
                         std::to_string(begin),
                     data.size());
    }
    if (verify && crc32c(data.subspan(kHeaderBytes, begin - kHeaderBytes)) != header.table_crc) {
        throw Error(ErrorCode::checksum, "tables of the weir image do not match their checksum",
                    at_byte("weir", kHeaderBytes), kRestore);
    }
    if (offset(0) != begin) {
        refuse("first weir tile is at byte " + std::to_string(offset(0)) + ", not behind the metadata", kHeaderBytes);
    }
    const std::uint64_t end = offset(header.tiles());
    if (end > data.size()) {
        refuse_short("weir data of " + std::to_string(data.size()) + " bytes should have " + std::to_string(end),
                     data.size());
    }
    if (end < data.size()) refuse("bytes follow the last weir tile", end);
}

std::uint64_t Index::offset(std::uint64_t index) const noexcept {
    const std::uint8_t* at = data_.data() + kHeaderBytes + header_.offset_bytes() * index;
    return header_.wide_offsets ? load<std::uint64_t>(at) : load<std::uint32_t>(at);
}

std::uint32_t Index::checksum(std::uint64_t index) const noexcept {
    return load<std::uint32_t>(data_.data() + header_.checksums_begin() + 4 * index);
}

ByteView Index::tile(std::uint64_t index) const {
    const std::uint64_t begin = offset(index);
    const std::uint64_t end = offset(index + 1);
    if (begin < header_.tiles_begin() || begin >= end || end > data_.size()) {
        refuse("weir tile " + std::to_string(index) + " goes from byte " + std::to_string(begin) + " to " +
                   std::to_string(end),
               kHeaderBytes + header_.offset_bytes() * index);
    }
    return data_.subspan(begin, end - begin);
}

ByteView find_metadata(ByteView data, const Header& header, std::string_view tag) {
    if (data.size() < header.tiles_begin()) return {};
    std::size_t at = header.metadata_begin();
    const std::size_t end = header.tiles_begin();
    while (at < end) {
        const std::uint64_t left = end - at;
        const std::uint64_t size = left < 8 ? 0 : load<std::uint32_t>(&data[at + 4]);
        if (left < 8 || size > left - 8) refuse("weir metadata entry does not fit", at);
        if (std::memcmp(&data[at], tag.data(), 4) == 0) return data.subspan(at + 8, size);
        at += 8 + size;
    }
    return {};
}

namespace {

// Hands out consecutive parts of a tile; `ok` turns false for good when one does not fit.
class Parts {
  public:
    explicit Parts(ByteView tile) noexcept : left_(tile) {}

    ByteView take(std::size_t size) noexcept {
        if (size > left_.size()) {
            ok = false;
            return {};
        }
        const ByteView part = left_.first(size);
        left_ = left_.subspan(size);
        return part;
    }
    std::uint16_t number(std::size_t size) noexcept {
        const ByteView bytes = take(size);
        std::uint16_t value = 0;
        for (std::size_t i = bytes.size(); i-- > 0;) value = static_cast<std::uint16_t>(value << 8 | bytes[i]);
        return value;
    }
    ByteView rest() noexcept { return take(left_.size()); }

    bool ok = true;

  private:
    ByteView left_;
};

// `count` modes, two to a byte; a half byte may be left over and is not looked at.
bool modes_exist(ByteView modes, std::size_t count) noexcept {
    std::uint8_t any = 0;
    for (std::size_t i = 0; i < count / 2; ++i) any |= modes[i];
    if (count % 2 != 0) any = static_cast<std::uint8_t>(any | (modes.back() & 15));
    return (any & 0x88) == 0;
}

}  // namespace

TileFault parse_tile(ByteView tile, const TileShape& shape, TileParts& parts) noexcept {
    Parts from(tile);
    const std::uint16_t flags = from.number(1);
    parts.transform = flags & 3;
    parts.constant = static_cast<std::uint8_t>(flags >> 4);
    if ((flags & 12) != 0 || parts.constant >> shape.channels != 0) return TileFault::head;
    if (parts.transform != 0 && shape.channels < 3) return TileFault::head;
    for (std::uint32_t p = 0; p < shape.channels; ++p) parts.base[p] = from.number(shape.sample_bytes);
    if (parts.all_constant(shape.channels))
        return from.ok && from.rest().empty() ? TileFault::none : TileFault::lengths;

    const bool dense = shape.profile == Profile::dense;
    const std::uint32_t last = shape.channels - 1U;
    const std::size_t control_bytes = from.number(2);
    const std::size_t payload_bytes = dense ? from.number(2) : 0;
    std::array<std::size_t, kMaxPlanes> unary_bytes{};
    for (std::uint32_t p = 0; dense && p < last; ++p) unary_bytes[p] = from.number(2);
    const auto coded = shape.channels - static_cast<std::uint32_t>(std::popcount(parts.constant));
    const std::size_t num_modes = std::size_t{shape.groups()} * coded;
    parts.modes = from.take((num_modes + 1) / 2);
    parts.control = from.take(control_bytes);
    parts.payload = dense ? from.take(payload_bytes) : from.rest();
    for (std::uint32_t p = 0; dense && p < last; ++p) parts.unary[p] = from.take(unary_bytes[p]);
    if (dense) parts.unary[last] = from.rest();
    if (!from.ok || parts.payload.size() > kMaxPayloadBytes) return TileFault::lengths;
    for (std::uint32_t p = 0; p < shape.channels; ++p) {
        const bool constant = (parts.constant >> p & 1) != 0;
        if (parts.unary[p].size() > (constant ? 0 : kMaxUnaryBytes)) return TileFault::lengths;
    }
    return modes_exist(parts.modes, num_modes) ? TileFault::none : TileFault::mode;
}

}  // namespace penstock::weir
