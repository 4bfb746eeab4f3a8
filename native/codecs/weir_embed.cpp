// Metadata in a Weir file: the tables move by its length, the tiles stay as they are. Layout: spec/weir.md.
#include <cstring>

#include "base/crc32c.h"
#include "codecs/embed_parts.h"
#include "codecs/weir.h"

namespace penstock::weir {

namespace {

void append_u32(ByteBuffer& out, std::uint64_t value) {
    const auto narrow = static_cast<std::uint32_t>(value);
    out.append(&narrow, sizeof narrow);
}

void append_offsets(ByteBuffer& out, ByteView file, const Header& header, std::uint64_t growth) {
    for (std::uint64_t i = 0; i <= header.tiles(); ++i) {
        std::uint64_t offset = 0;
        std::memcpy(&offset, &file[kHeaderBytes + i * header.offset_bytes()], header.offset_bytes());
        offset += growth;
        out.append(&offset, header.offset_bytes());
    }
}

}  // namespace

ByteBuffer embed(ByteView file, const std::vector<MetadataEntry>& entries, DroppedTags& dropped) {
    const Header header = read_header(file);
    (void)Index(file, header, true);
    ByteBuffer added;
    for (const MetadataEntry& entry : entries) {
        added.append(entry.tag.data(), 4);
        append_u32(added, entry.content.size());
        added.append(entry.content.data(), entry.content.size());
    }
    ByteBuffer out;
    if (!header.wide_offsets && file.size() + added.size() > 0xffffffffU) {
        for (const MetadataEntry& entry : entries) dropped.emplace_back(entry.tag);
        out.append(file.data(), file.size());
        return out;
    }
    out.append(file.data(), kHeaderBytes);
    append_offsets(out, file, header, added.size());
    out.append(&file[header.checksums_begin()], header.tiles_begin() - header.checksums_begin());
    out.append(added.data(), added.size());
    const std::uint32_t metadata_bytes = header.metadata_bytes + static_cast<std::uint32_t>(added.size());
    const std::uint32_t table_crc = crc32c(out.view().subspan(kHeaderBytes));
    std::memcpy(out.data() + 20, &metadata_bytes, 4);
    std::memcpy(out.data() + 24, &table_crc, 4);
    const std::uint32_t header_crc = crc32c(out.view().first(28));
    std::memcpy(out.data() + 28, &header_crc, 4);
    out.append(&file[header.tiles_begin()], file.size() - header.tiles_begin());
    return out;
}

}  // namespace penstock::weir
