#include "codecs/metadata.h"

#include <utility>

#include "base/crc32c.h"
#include "codecs/metadata_parts.h"
#include "codecs/table.h"

namespace penstock {

namespace {

constexpr std::size_t kEntryHeadBytes = 8;  // tag, length
constexpr std::size_t kChecksumBytes = 4;

void append_u32(ByteBuffer& out, std::size_t value) {
    const auto narrow = static_cast<std::uint32_t>(value);
    out.append(&narrow, sizeof narrow);
}

// The bytes of the UTF-8 character that begins here; 0 if none does.
std::size_t character_bytes(ByteView text) noexcept {
    const std::uint8_t first = text[0];
    const std::size_t size = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
    if (size == 0 || text.size() < size) return 0;
    for (std::size_t i = 1; i < size; ++i) {
        if ((text[i] & 0xC0) != 0x80) return 0;
    }
    if (first == 0xE0 && text[1] < 0xA0) return 0;   // longer than needed
    if (first == 0xED && text[1] >= 0xA0) return 0;  // half of a surrogate pair
    if (first == 0xF0 && text[1] < 0x90) return 0;
    if (first == 0xF4 && text[1] >= 0x90) return 0;  // beyond Unicode
    return size;
}

}  // namespace

void Metadata::add(std::string_view tag, ByteView content) {
    if (content.size() > room() || seen_.contains(tag)) {
        drop(tag);
        return;
    }
    if (tag != "TEXT") seen_.emplace(tag);
    entries_.append(tag.data(), 4);
    append_u32(entries_, content.size());
    entries_.append(content.data(), content.size());
    kept_.emplace_back(tag);
}

std::size_t Metadata::room() const noexcept {
    const std::size_t taken = entries_.size() + kEntryHeadBytes + kChecksumBytes;
    return taken > kMaxMetadataBytes ? 0 : kMaxMetadataBytes - taken;
}

void Metadata::drop(std::string_view tag) {
    std::string name(tag);
    for (char& letter : name) {
        const bool is_plain = (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
                              (letter >= 'a' && letter <= 'z') || letter == ' ';
        if (!is_plain) letter = '?';
    }
    dropped_.push_back(std::move(name));
}

ByteBuffer Metadata::block() const {
    ByteBuffer block;
    if (entries_.size() == 0) return block;
    block.append(entries_.data(), entries_.size());
    append_u32(block, crc32c(entries_.view()));
    return block;
}

Metadata read_metadata(ByteView file) {
    Metadata metadata;
    const Codec* codec = sniff_codec(file);
    const std::string_view name = codec == nullptr ? "" : codec->name();
    if (name == "png") png::read_metadata(file, metadata);
    if (name == "jpeg") jpeg::read_metadata(file, metadata);
    if (name == "webp") webp::read_metadata(file, metadata);
    if (name == "weir") weir::read_metadata(file, metadata);
    return metadata;
}

std::string utf8_of_latin1(ByteView text) {
    std::string out;
    for (const std::uint8_t letter : text) {
        if (letter >= 0x80) out.push_back(static_cast<char>(0xC0 | letter >> 6));
        out.push_back(static_cast<char>(letter >= 0x80 ? 0x80 | (letter & 0x3F) : letter));
    }
    return out;
}

bool is_utf8(ByteView text) noexcept {
    while (!text.empty()) {
        const std::size_t size = character_bytes(text);
        if (size == 0) return false;
        text = text.subspan(size);
    }
    return true;
}

void add_text(Metadata& metadata, std::string_view key, std::string_view value) {
    // Some writers end a text as C does. Not every format can hold that zero, so a text has none in any of them.
    while (!value.empty() && value.back() == 0) value.remove_suffix(1);
    std::string content(key);
    content.push_back('\0');
    content.append(value);
    metadata.add("TEXT", {reinterpret_cast<const std::uint8_t*>(content.data()), content.size()});
}

}  // namespace penstock
