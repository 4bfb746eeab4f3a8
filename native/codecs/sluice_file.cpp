// The outside of a Sluice file: header, offsets, quantisation, table set, and the head of a segment. Every length is
// checked here, once, before anything is read through it.
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/codec.h"
#include "codecs/sluice.h"
#include "codecs/sluice_quantization.h"

namespace penstock::sluice {

namespace {

constexpr std::uint32_t kMaxSide = 65535;
constexpr const char* kRestore = "the file is damaged: restore it from its source";

template <typename Number>
Number load(const std::uint8_t* bytes) noexcept {
    Number value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

[[noreturn]] void refuse(std::string what, std::size_t at) {
    throw Error(ErrorCode::corrupt, std::move(what), at_byte("sluice", at), kRestore);
}

[[noreturn]] void refuse_short(std::string what, std::size_t size) {
    throw Error(ErrorCode::truncated, std::move(what), at_byte("sluice", size),
                "the file is cut off: restore it from its source");
}

[[noreturn]] void refuse_version(std::string what, std::size_t at) {
    throw Error(ErrorCode::unsupported, std::move(what), at_byte("sluice", at), "use a newer version of penstock");
}

std::array<Sampling, 3> read_sampling(ByteView data, unsigned num_components) {
    std::array<Sampling, 3> sampling{};
    unsigned max_across = 1;
    unsigned max_down = 1;
    unsigned num_blocks = 0;
    for (unsigned c = 0; c < 3; ++c) {
        const std::uint8_t factors = data[16 + c];
        if (c >= num_components) {
            if (factors != 0) refuse("sluice header samples a component that does not exist", 16 + c);
            continue;
        }
        sampling[c] = {static_cast<std::uint8_t>(factors & 15), static_cast<std::uint8_t>(factors >> 4)};
        const auto& [across, down] = sampling[c];
        if (across < 1 || across > 4 || down < 1 || down > 4) refuse("sluice sampling factor is not 1 to 4", 16 + c);
        max_across = std::max<unsigned>(max_across, across);
        max_down = std::max<unsigned>(max_down, down);
        num_blocks += across * down;
    }
    if (num_components == 1) return sampling;
    if (num_blocks > 10) refuse("sluice sampling has more than ten blocks in an MCU", 16);
    for (const auto& [across, down] : sampling) {
        if (max_across % across != 0 || max_down % down != 0) refuse("sluice sampling ratio is not whole", 16);
    }
    return sampling;
}

void check_fields(ByteView data) {
    if (std::memcmp(data.data(), "SLUI", 4) != 0) refuse("sluice data does not begin with its magic bytes", 0);
    if (data[4] != 1) refuse_version("sluice version " + std::to_string(data[4]) + " is not known", 4);
    if (data[5] != 1 && data[5] != 3) refuse("sluice image has " + std::to_string(data[5]) + " components", 5);
    if (data[6] > 2 || (data[6] == 0) != (data[5] == 1)) refuse("sluice colour does not suit its components", 6);
    if (data[7] < 1 || data[7] > 8) refuse("sluice orientation is " + std::to_string(data[7]), 7);
    for (const std::size_t at : {std::size_t{8}, std::size_t{12}}) {
        const auto side = load<std::uint32_t>(&data[at]);
        if (side == 0 || side > kMaxSide) refuse("sluice image has a side of " + std::to_string(side) + " pixels", at);
    }
    const bool has_one_layer = data[20] == 1 && data[21] == 0;
    const bool has_two_layers = data[20] == 2 && data[21] >= 1 && data[21] <= kMaxLayerBits;
    if (!has_one_layer && !has_two_layers) refuse_version("sluice image has layers that are not known", 20);
    if (data[22] > 1 || data[23] != 0) refuse("sluice header has flags that do not exist", 22);
}

}  // namespace

std::size_t Layout::max_groups() const noexcept {
    std::size_t each = 0;
    for (std::size_t c = 0; c < num_components; ++c) each += std::size_t{components[c].across} * components[c].down;
    return each * units_across * units_down;
}

std::size_t Layout::groups_of(std::uint32_t tile_x, std::uint32_t tile_y, TileGroup* groups) const noexcept {
    std::size_t count = 0;
    for (std::uint8_t c = 0; c < num_components; ++c) {
        const Component& component = components[c];
        const std::uint32_t across = std::uint32_t{component.across} * units_across;
        const std::uint32_t down = std::uint32_t{component.down} * units_down;
        for (std::uint32_t y = 0; y < down; ++y) {
            for (std::uint32_t x = 0; x < across; ++x) {
                const std::uint32_t block_x = (tile_x * across + x) * 8;
                const std::uint32_t block_y = (tile_y * down + y) * 8;
                if (block_x >= component.blocks_wide || block_y >= component.blocks_high) continue;
                const std::uint32_t wide = std::min(8U, component.blocks_wide - block_x);
                const std::uint32_t high = std::min(8U, component.blocks_high - block_y);
                const std::uint64_t row = (1U << wide) - 1;
                const std::uint64_t rows = ~std::uint64_t{0} >> (64 - 8 * high);
                groups[count++] = {c, block_x, block_y, row * 0x0101010101010101ULL & rows};
            }
        }
    }
    return count;
}

Layout lay_out(std::uint32_t width, std::uint32_t height, std::span<const Sampling> sampling, std::uint8_t units_across,
               std::uint8_t units_down) noexcept {
    Layout layout;
    layout.width = width;
    layout.height = height;
    layout.num_components = static_cast<std::uint8_t>(sampling.size());
    layout.units_across = units_across;
    layout.units_down = units_down;
    const bool single = sampling.size() == 1;
    for (std::size_t c = 0; c < sampling.size(); ++c) {
        Layout::Component& component = layout.components[c];
        component.across = single ? std::uint8_t{1} : sampling[c].across;
        component.down = single ? std::uint8_t{1} : sampling[c].down;
        layout.max_across = std::max(layout.max_across, component.across);
        layout.max_down = std::max(layout.max_down, component.down);
    }
    for (std::size_t c = 0; c < sampling.size(); ++c) {
        Layout::Component& component = layout.components[c];
        component.blocks_wide = jpeg::num_blocks(width, component.across, layout.max_across);
        component.blocks_high = jpeg::num_blocks(height, component.down, layout.max_down);
    }
    return layout;
}

Header read_header(ByteView data) {
    if (data.size() < kHeaderBytes) {
        refuse_short("sluice data of " + std::to_string(data.size()) + " bytes is shorter than its 48-byte header",
                     data.size());
    }
    check_fields(data);
    if (crc32c(data.first(44)) != load<std::uint32_t>(&data[44])) {
        throw Error(ErrorCode::checksum, "sluice header does not match its checksum", at_byte("sluice", 44), kRestore);
    }
    Header header;
    header.sampling = read_sampling(data, data[5]);
    const std::uint8_t across = data[19] & 15;
    const std::uint8_t down = data[19] >> 4;
    if (across < 1 || across > 8 || down < 1 || down > 8) refuse("sluice tiles are not 1 to 8 units", 19);
    header.layout = lay_out(load<std::uint32_t>(&data[8]), load<std::uint32_t>(&data[12]),
                            std::span(header.sampling).first(data[5]), across, down);
    if (header.layout.max_groups() > kMaxGroups) refuse("sluice tiles have too many groups", 19);
    header.color = data[6] == 0 ? Color::grey : data[6] == 1 ? Color::ycc : Color::rgb;
    header.orientation = data[7];
    header.num_layers = data[20];
    header.layer_bits = data[21];
    header.has_tables = (data[22] & 1) != 0;
    header.table_set = load<std::uint64_t>(&data[24]);
    header.segments_begin = load<std::uint32_t>(&data[32]);
    header.restoration_bytes = load<std::uint32_t>(&data[36]);
    header.tables_crc = load<std::uint32_t>(&data[40]);
    if (header.restoration_bytes != 0 && header.restoration_bytes < 4) refuse("sluice restoration is too short", 36);
    return header;
}

Index::Index(ByteView data, const Header& header, bool verify) : data_(data), header_(header) {
    const std::uint64_t begin = header.segments_begin;
    if (begin < header.quantization_begin()) refuse("sluice segments begin before the offsets end", 32);
    if (data.size() < begin) {
        refuse_short("sluice data of " + std::to_string(data.size()) +
                         " bytes ends before its first segment, at byte " + std::to_string(begin),
                     data.size());
    }
    if (verify && crc32c(data.subspan(kHeaderBytes, begin - kHeaderBytes)) != header.tables_crc) {
        throw Error(ErrorCode::checksum, "offsets and tables of the sluice image do not match their checksum",
                    at_byte("sluice", kHeaderBytes), kRestore);
    }
    if (offset(0) != begin) refuse("first sluice segment is not where the header says", kHeaderBytes);
    check_length();
    read_tables(read_quantization());
}

// Data may end behind the first of two layers.
void Index::check_length() {
    num_layers_ = header_.num_layers;
    segments_end_ = offset(header_.num_segments());
    const std::uint64_t end = segments_end_ + header_.restoration_bytes;
    if (end == data_.size()) return;
    const std::uint64_t first_end = offset(header_.layout.tiles());
    if (num_layers_ > 1 && first_end == data_.size()) {
        num_layers_ = 1;
        segments_end_ = first_end;
        return;
    }
    if (end < data_.size()) refuse("bytes follow the end of the sluice data", end);
    const std::string first = num_layers_ > 1 ? ", or " + std::to_string(first_end) + " for its first layer" : "";
    refuse_short("sluice data of " + std::to_string(data_.size()) + " bytes should have " + std::to_string(end) + first,
                 data_.size());
}

std::uint32_t Index::offset(std::uint32_t index) const noexcept {
    return load<std::uint32_t>(data_.data() + kHeaderBytes + std::size_t{4} * index);
}

std::uint32_t Index::checksum(std::uint32_t index) const noexcept {
    return load<std::uint32_t>(data_.data() + header_.checksums_begin() + std::size_t{4} * index);
}

ByteView Index::segment(std::uint32_t index) const {
    const std::uint64_t begin = offset(index);
    const std::uint64_t end = offset(index + 1);
    if (begin < header_.segments_begin || begin >= end || end > segments_end_) {
        refuse("sluice segment " + std::to_string(index) + " goes from byte " + std::to_string(begin) + " to " +
                   std::to_string(end),
               kHeaderBytes + std::size_t{4} * index);
    }
    return data_.subspan(begin, end - begin);
}

std::size_t Index::read_quantization() {
    std::size_t at = header_.quantization_begin();
    for (std::size_t c = 0; c < header_.layout.num_components; ++c) {
        const ByteView rest = data_.subspan(at, header_.segments_begin - at);
        const jpeg::QuantTable* previous = c > 0 ? &quantization_[c - 1] : nullptr;
        const auto length = sluice::read_quantization(rest, previous, quantization_[c]);
        if (!length) refuse("sluice quantisation table " + std::to_string(c) + " is damaged", at);
        at += *length;
    }
    return at;
}

void Index::read_tables(std::size_t at) {
    const std::size_t end = header_.segments_begin;
    if (header_.has_tables) {
        const std::size_t length = end - at < 4 ? 0 : load<std::uint32_t>(&data_[at]);
        if (end - at < 4 || length > end - at - 4) refuse("sluice table set does not fit", at);
        tables_ = std::make_shared<const TableSet>(data_.subspan(at + 4, length));
        if (tables_->id() != header_.table_set) refuse("sluice table set has another id than the header says", at);
        at += 4 + length;
    } else {
        tables_ = find_tables(header_.table_set);
    }
    while (at < end) {
        const std::uint64_t left = end - at;
        const std::uint64_t size = left < 8 ? 0 : load<std::uint32_t>(&data_[at + 4]);
        if (left < 8 || size > left - 8) refuse("sluice extension does not fit", at);
        at += 8 + size;
    }
    if (tables_ == nullptr) {
        throw Error(ErrorCode::unsupported,
                    "sluice image needs a table set that is not known here: " + table_set_name(header_.table_set),
                    at_byte("sluice", 24),
                    "keep the dataset open that it belongs to, or register its tables with penstock.codecs.sluice");
    }
    if (tables_->layer_bits() != header_.layer_bits) refuse("sluice table set belongs to files of other layers", 21);
}

ByteView Index::restoration() const {
    if (header_.restoration_bytes == 0) return {};
    const ByteView part = data_.subspan(segments_end_, header_.restoration_bytes);
    if (crc32c(part.subspan(4)) != load<std::uint32_t>(part.data())) {
        throw Error(ErrorCode::checksum, "restoration data of the sluice image does not match its checksum",
                    at_byte("sluice", segments_end_), kRestore);
    }
    return part.subspan(4);
}

std::size_t first_layer_end(ByteView data) {
    const Header header = read_header(data);
    if (data.size() < header.segments_begin) refuse_short("sluice data ends before its first segment", data.size());
    if (header.segments_begin < header.quantization_begin()) refuse("sluice segments begin before the offsets end", 32);
    return load<std::uint32_t>(data.data() + kHeaderBytes + std::size_t{4} * header.layout.tiles());
}

TileFault parse_segment(ByteView segment, std::size_t num_active_lanes, SegmentParts& parts) noexcept {
    parts.num_states = std::min(kNumStates, num_active_lanes);
    const std::size_t fixed = 4 + 4 * parts.num_states;
    if (segment.size() < fixed) return TileFault::lengths;
    const std::size_t word_bytes = std::size_t{2} * load<std::uint32_t>(segment.data());
    if (word_bytes > segment.size() - fixed) return TileFault::lengths;
    parts.states.fill(kLowestState);
    std::memcpy(parts.states.data(), segment.data() + 4, 4 * parts.num_states);
    for (const std::uint32_t state : parts.states) {
        if (state < kLowestState) return TileFault::state;
    }
    parts.words = segment.data() + fixed;
    parts.words_end = parts.words + word_bytes;
    parts.raw = parts.words_end;
    parts.raw_bytes = segment.size() - fixed - word_bytes;
    return TileFault::none;
}

// Writing ----------------------------------------------------------------------------------------------------------

namespace {

void put(ByteBuffer& out, std::size_t at, std::uint32_t value) { std::memcpy(out.data() + at, &value, sizeof value); }

void write_fields(ByteBuffer& out, const FileParts& parts, std::uint64_t table_set) {
    const jpeg::CoefficientImage& image = parts.image;
    std::memset(out.data(), 0, kHeaderBytes);
    std::memcpy(out.data(), "SLUI", 4);
    out.data()[4] = 1;
    out.data()[5] = parts.layout.num_components;
    out.data()[6] = image.color == Color::grey ? 0 : image.color == Color::ycc ? 1 : 2;
    out.data()[7] = image.orientation;
    put(out, 8, image.width);
    put(out, 12, image.height);
    for (std::size_t c = 0; c < image.components.size(); ++c) {
        const Sampling& sampling = image.components[c].sampling;
        out.data()[16 + c] = static_cast<std::uint8_t>(sampling.across | sampling.down << 4);
    }
    out.data()[19] = static_cast<std::uint8_t>(parts.layout.units_across | parts.layout.units_down << 4);
    out.data()[20] = parts.tables.layer_bits() == 0 ? 1 : 2;
    out.data()[21] = static_cast<std::uint8_t>(parts.tables.layer_bits());
    out.data()[22] = parts.store_tables ? 1 : 0;
    std::memcpy(out.data() + 24, &table_set, sizeof table_set);
}

}  // namespace

ByteBuffer write_file(const FileParts& parts) {
    const std::size_t count = parts.segments.size();
    ByteBuffer out(kHeaderBytes + 4 * (count + 1) + 4 * count);
    write_fields(out, parts, parts.tables.id());
    const jpeg::QuantTable* previous = nullptr;
    for (const jpeg::CoefficientComponent& component : parts.image.components) {
        write_quantization(component.quantization, previous, out);
        previous = &component.quantization;
    }
    if (parts.store_tables) {
        const auto length = static_cast<std::uint32_t>(parts.tables.bytes().size());
        out.append(&length, sizeof length);
        out.append(parts.tables.bytes().data(), length);
    }
    const std::size_t begin = out.size();
    std::uint64_t total = begin + (parts.restoration.empty() ? 0 : 4 + parts.restoration.size());
    for (const ByteBuffer& segment : parts.segments) total += segment.size();
    if (total > std::numeric_limits<std::uint32_t>::max()) {
        throw Error(ErrorCode::unsupported, "image would take more than 4 GiB as sluice", "size of the coded image",
                    "keep it as jpeg");
    }
    out.reserve(total);
    for (std::size_t i = 0; i < count; ++i) {
        put(out, kHeaderBytes + 4 * i, static_cast<std::uint32_t>(out.size()));
        put(out, kHeaderBytes + 4 * (count + 1) + 4 * i, crc32c(parts.segments[i].view()));
        out.append(parts.segments[i].data(), parts.segments[i].size());
    }
    put(out, kHeaderBytes + 4 * count, static_cast<std::uint32_t>(out.size()));
    if (!parts.restoration.empty()) {
        const std::uint32_t crc = crc32c(parts.restoration);
        out.append(&crc, sizeof crc);
        out.append(parts.restoration.data(), parts.restoration.size());
        put(out, 36, static_cast<std::uint32_t>(4 + parts.restoration.size()));
    }
    put(out, 32, static_cast<std::uint32_t>(begin));
    put(out, 40, crc32c(out.view().subspan(kHeaderBytes, begin - kHeaderBytes)));
    put(out, 44, crc32c(out.view().first(44)));
    return out;
}

}  // namespace penstock::sluice
