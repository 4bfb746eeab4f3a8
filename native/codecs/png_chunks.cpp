#include "codecs/png_chunks.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "codecs/codec.h"

namespace penstock::png {

namespace {

constexpr std::size_t kHeaderBytes = 13;
constexpr std::size_t kFrameBytes = 12;  // length, type and CRC around a chunk's content
constexpr std::string_view kRestore = "the file is damaged: restore it from its source";

std::uint32_t load_u32(const std::uint8_t* bytes) {
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

[[noreturn]] void refuse(ErrorCode code, std::string what, std::size_t offset) {
    throw Error(code, std::move(what), at_byte("png", offset), std::string(kRestore));
}

struct Chunk {
    std::size_t offset = 0;  // of its length field
    std::string_view type;
    ByteView content;
    std::uint32_t crc = 0;

    [[nodiscard]] bool is_critical() const { return (type[0] & 0x20) == 0; }
};

// Steps over the chunks of a file, in order, without copying.
class ChunkWalk {
  public:
    explicit ChunkWalk(ByteView data) : data_(data) {
        if (data.size() < kSignature.size() || std::memcmp(data.data(), kSignature.data(), kSignature.size()) != 0) {
            const bool cut = data.size() < kSignature.size();
            refuse(cut ? ErrorCode::truncated : ErrorCode::corrupt, "data does not start with the PNG signature", 0);
        }
    }

    // Type of the next chunk; empty if the data ends before it.
    [[nodiscard]] std::string_view next_type() const {
        if (data_.size() - offset_ < 8) return {};
        return {reinterpret_cast<const char*>(data_.data() + offset_ + 4), 4};
    }

    // Whether the next chunk is there to its last byte.
    [[nodiscard]] bool is_whole() const {
        const std::size_t left = data_.size() - offset_;
        return left >= kFrameBytes && load_u32(&data_[offset_]) <= left - kFrameBytes;
    }

    [[nodiscard]] Chunk next() {
        const std::uint8_t* begin = data_.data() + offset_;
        const std::size_t left = data_.size() - offset_;
        const std::uint32_t length = left < kFrameBytes ? 0 : load_u32(begin);  // once: others may write to the memory
        if (left < kFrameBytes || length > left - kFrameBytes) {
            refuse(ErrorCode::truncated, "png data of " + std::to_string(data_.size()) + " bytes ends inside a chunk",
                   data_.size());
        }
        Chunk chunk{
            offset_, {reinterpret_cast<const char*>(begin + 4), 4}, {begin + 8, length}, load_u32(begin + 8 + length)};
        offset_ += kFrameBytes + length;
        const bool is_name =
            std::ranges::all_of(chunk.type, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
        if (!is_name) refuse(ErrorCode::corrupt, "a chunk's type is not made of letters", chunk.offset + 4);
        return chunk;
    }

  private:
    ByteView data_;
    std::size_t offset_ = kSignature.size();
};

void check_crc(const Chunk& chunk) {
    const std::uint32_t computed = libdeflate_crc32(0, chunk.content.data() - 4, chunk.content.size() + 4);
    if (computed != chunk.crc) {
        refuse(ErrorCode::checksum, "chunk " + std::string(chunk.type) + " does not match its checksum", chunk.offset);
    }
}

bool depth_exists(std::uint8_t color, std::uint8_t depth) {
    switch (color) {
        case 0: return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
        case 3: return depth == 1 || depth == 2 || depth == 4 || depth == 8;
        case 2:
        case 4:
        case 6: return depth == 8 || depth == 16;
        default: return false;
    }
}

Header read_header(const Chunk& chunk) {
    if (chunk.type != "IHDR") {
        refuse(ErrorCode::corrupt, "the first chunk is " + std::string(chunk.type) + ", not IHDR", chunk.offset);
    }
    check_crc(chunk);
    if (chunk.content.size() != kHeaderBytes) refuse(ErrorCode::corrupt, "IHDR is not 13 bytes long", chunk.offset);
    std::array<std::uint8_t, kHeaderBytes> fields;  // a copy: what is checked is what is used
    std::memcpy(fields.data(), chunk.content.data(), fields.size());
    Header header;
    header.width = load_u32(fields.data());
    header.height = load_u32(fields.data() + 4);
    header.depth = fields[8];
    header.color = static_cast<ColorType>(fields[9]);
    header.interlaced = fields[12] == 1;
    if (header.width > kMaxSide || header.height > kMaxSide) {
        refuse(ErrorCode::corrupt, "a side of the image is longer than 2147483647 pixels", chunk.offset + 8);
    }
    if (!depth_exists(fields[9], fields[8])) {
        refuse(
            ErrorCode::corrupt,
            "colour type " + std::to_string(fields[9]) + " with " + std::to_string(fields[8]) + " bits does not exist",
            chunk.offset + 16);
    }
    if (fields[10] != 0 || fields[11] != 0 || fields[12] > 1) {
        refuse(ErrorCode::unsupported,
               "compression " + std::to_string(fields[10]) + ", filter " + std::to_string(fields[11]) +
                   " or interlace method " + std::to_string(fields[12]) + " is unknown",
               chunk.offset + 18);
    }
    return header;
}

void take_palette(Chunks& chunks, const Chunk& chunk) {
    const std::size_t size = chunk.content.size();
    if (!chunks.palette.empty() || size == 0 || size % 3 != 0 || size > 768) {
        refuse(ErrorCode::corrupt,
               chunks.palette.empty() ? "PLTE has " + std::to_string(size) + " bytes" : "a second PLTE", chunk.offset);
    }
    chunks.palette = chunk.content;
}

// A tRNS that its colour type does not allow or that is cut short is a hint gone wrong: no transparency.
void take_transparency(Chunks& chunks, const Chunk& chunk) {
    std::size_t expected = 0;
    switch (chunks.header.color) {
        case ColorType::grey: expected = 2; break;
        case ColorType::rgb: expected = 6; break;
        case ColorType::palette: expected = std::min(chunk.content.size(), chunks.palette.size() / 3); break;
        default: break;
    }
    if (chunk.content.size() >= expected) chunks.transparency = chunk.content.first(expected);
}

// What stands before the pixels.
void take_description(Chunks& chunks, const Chunk& chunk) {
    if (chunk.type == "PLTE") take_palette(chunks, chunk);
    if (chunk.type == "tRNS") take_transparency(chunks, chunk);
}

// What may stand anywhere, and what may stand nowhere.
void take_anywhere(Chunks& chunks, const Chunk& chunk) {
    if (chunk.type == "eXIf") chunks.exif = chunk.content;
    if (chunk.type == "IHDR") refuse(ErrorCode::corrupt, "a second IHDR", chunk.offset);
    if (chunk.is_critical() && chunk.type != "PLTE") {
        throw Error(ErrorCode::unsupported, "chunk " + std::string(chunk.type) + " is critical and unknown",
                    at_byte("png", chunk.offset), "write the image again as a standard PNG");
    }
}

void check_description(const Chunks& chunks, std::size_t offset) {
    if (chunks.header.color == ColorType::palette && chunks.palette.empty()) {
        refuse(ErrorCode::corrupt, "a palette image has no PLTE before its pixels", offset);
    }
}

}  // namespace

std::size_t Header::samples() const noexcept {
    switch (color) {
        case ColorType::grey:
        case ColorType::palette: return 1;
        case ColorType::grey_alpha: return 2;
        case ColorType::rgb: return 3;
        case ColorType::rgb_alpha: return 4;
    }
    return 1;
}

Chunks read_description(ByteView data) {
    ChunkWalk walk(data);
    Chunks chunks;
    chunks.header = read_header(walk.next());
    bool pixels_seen = false;
    // A file that is cut off inside or behind its pixels still describes itself.
    while (!(pixels_seen || walk.next_type() == "IDAT") || walk.is_whole()) {
        const Chunk chunk = walk.next();
        if (chunk.type == "IEND") break;
        if (chunk.type == "IDAT") {
            pixels_seen = true;
            continue;
        }
        if (chunk.type == "PLTE" || chunk.type == "tRNS" || chunk.type == "eXIf") check_crc(chunk);
        if (!pixels_seen) take_description(chunks, chunk);
        take_anywhere(chunks, chunk);
    }
    check_description(chunks, kSignature.size());
    return chunks;
}

Chunks read_chunks(ByteView data, bool verify) {
    ChunkWalk walk(data);
    Chunks chunks;
    chunks.header = read_header(walk.next());
    bool pixels_ended = false;
    while (true) {
        const Chunk chunk = walk.next();
        if (verify) check_crc(chunk);
        if (chunk.type == "IEND") break;
        if (chunk.type == "IDAT") {
            if (pixels_ended) refuse(ErrorCode::corrupt, "IDAT chunks do not follow each other", chunk.offset);
            if (chunks.image_data.empty()) check_description(chunks, chunk.offset);
            chunks.image_data.push_back(chunk.content);
            continue;
        }
        pixels_ended = !chunks.image_data.empty();
        if (!pixels_ended) take_description(chunks, chunk);
        take_anywhere(chunks, chunk);
    }
    if (chunks.image_data.empty())
        refuse(ErrorCode::corrupt, "there is no IDAT: the file holds no pixels", data.size());
    return chunks;
}

void append_u32(ByteBuffer& out, std::uint32_t value) {
    const std::array<std::uint8_t, 4> bytes{static_cast<std::uint8_t>(value >> 24),
                                            static_cast<std::uint8_t>(value >> 16),
                                            static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
    out.append(bytes.data(), bytes.size());
}

void append_chunk(ByteBuffer& out, std::string_view type, ByteView content) {
    append_u32(out, static_cast<std::uint32_t>(content.size()));
    const std::size_t begin = out.size();
    out.append(type.data(), type.size());
    out.append(content.data(), content.size());
    append_u32(out, libdeflate_crc32(0, out.data() + begin, out.size() - begin));
}

}  // namespace penstock::png
