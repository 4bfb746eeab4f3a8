// Metadata as chunks of an extended WebP: the profile before the image, EXIF and XMP behind it.
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "codecs/embed_parts.h"
#include "codecs/table.h"

namespace penstock::webp {

namespace {

using Byte = std::uint8_t;

constexpr std::size_t kFileHeaderBytes = 12;
constexpr std::size_t kChunkHeaderBytes = 8;
constexpr std::size_t kExtendedBytes = 10;
constexpr Byte kProfileFlag = 0x20, kAlphaFlag = 0x10, kExifFlag = 0x08, kXmpFlag = 0x04;

void append_number(ByteBuffer& out, std::size_t value, int num_bytes) {
    for (int i = 0; i < num_bytes; ++i) out.push_back(static_cast<Byte>(value >> (8 * i)));
}

void append_chunk(ByteBuffer& out, std::string_view letters, ByteView content) {
    out.append(letters.data(), letters.size());
    append_number(out, content.size(), 4);
    out.append(content.data(), content.size());
    if (content.size() % 2 != 0) out.push_back(0);
}

bool begins_with(ByteView data, std::size_t offset, std::string_view letters) {
    return data.size() >= offset + letters.size() &&
           std::memcmp(data.data() + offset, letters.data(), letters.size()) == 0;
}

// The flag and the chunk of a tag that WebP knows; 0 for others.
Byte flag_of(std::string_view tag) {
    if (tag == "ICCP") return kProfileFlag;
    if (tag == "EXIF") return kExifFlag;
    return tag == "XMP " ? kXmpFlag : 0;
}

}  // namespace

ByteBuffer embed(ByteView file, const std::vector<MetadataEntry>& entries, DroppedTags& dropped) {
    ByteBuffer profile;
    ByteBuffer behind;
    Byte flags = 0;
    for (const MetadataEntry& entry : entries) {
        const Byte flag = flag_of(entry.tag);
        if (flag == 0 || (flags & flag) != 0) {
            dropped.emplace_back(entry.tag);
            continue;
        }
        flags |= flag;
        append_chunk(flag == kProfileFlag ? profile : behind, entry.tag, entry.content);
    }
    const PixelShape shape = sniff_codec(file)->inspect(file).shape;
    const bool is_extended = begins_with(file, kFileHeaderBytes, "VP8X");
    const std::size_t image_begin = kFileHeaderBytes + (is_extended ? kChunkHeaderBytes + kExtendedBytes : 0);
    if (is_extended) flags |= file[kFileHeaderBytes + kChunkHeaderBytes];
    if (shape.channels == 4) flags |= kAlphaFlag;
    const ByteView image = file.subspan(image_begin);
    ByteBuffer out;
    out.append("RIFF", 4);
    append_number(out, 4 + kChunkHeaderBytes + kExtendedBytes + profile.size() + image.size() + behind.size(), 4);
    out.append("WEBPVP8X", 8);
    append_number(out, kExtendedBytes, 4);
    append_number(out, flags, 4);
    append_number(out, shape.width - 1, 3);
    append_number(out, shape.height - 1, 3);
    out.append(profile.data(), profile.size());
    out.append(image.data(), image.size());
    out.append(behind.data(), behind.size());
    return out;
}

}  // namespace penstock::webp
