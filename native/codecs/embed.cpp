#include "codecs/embed.h"

#include <cstring>

#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/embed_parts.h"
#include "codecs/table.h"

namespace penstock {

namespace {

constexpr std::size_t kHeadBytes = 8;      // tag, length
constexpr std::size_t kChecksumBytes = 4;  // behind the entries

[[noreturn]] void fail(ErrorCode code, const char* what, std::size_t offset) {
    throw Error(code, what, "byte " + std::to_string(offset) + " of the metadata",
                "the dataset is damaged: restore it, or find all damage with `penstock verify`");
}

std::uint32_t load_u32(const std::uint8_t* bytes) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

}  // namespace

std::vector<MetadataEntry> read_metadata_block(ByteView block) {
    std::vector<MetadataEntry> entries;
    if (block.empty()) return entries;
    if (block.size() < kChecksumBytes) fail(ErrorCode::truncated, "metadata is shorter than its checksum", 0);
    const ByteView content = block.first(block.size() - kChecksumBytes);
    if (crc32c(content) != load_u32(block.data() + content.size())) {
        fail(ErrorCode::checksum, "metadata does not match its checksum", content.size());
    }
    std::size_t at = 0;
    while (at < content.size()) {
        if (content.size() - at < kHeadBytes) fail(ErrorCode::corrupt, "a metadata entry does not fit", at);
        const std::size_t size = load_u32(&content[at + 4]);
        if (content.size() - at - kHeadBytes < size) fail(ErrorCode::corrupt, "a metadata entry does not fit", at);
        const std::string_view tag(reinterpret_cast<const char*>(&content[at]), 4);
        entries.push_back({tag, content.subspan(at + kHeadBytes, size)});
        at += kHeadBytes + size;
    }
    return entries;
}

ByteBuffer embed_metadata(ByteView file, const std::vector<MetadataEntry>& entries, std::vector<std::string>& dropped) {
    const Codec* codec = sniff_codec(file);
    const std::string_view name = codec == nullptr ? "" : codec->name();
    if (name == "png") return png::embed(file, entries, dropped);
    if (name == "jpeg") return jpeg::embed(file, entries, dropped);
    if (name == "webp") return webp::embed(file, entries, dropped);
    if (name == "weir") return weir::embed(file, entries, dropped);
    for (const MetadataEntry& entry : entries) dropped.emplace_back(entry.tag);
    ByteBuffer same;
    same.append(file.data(), file.size());
    return same;
}

}  // namespace penstock
