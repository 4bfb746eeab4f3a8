// Metadata out of a Weir file, whose entries are those of a dataset. Layout: spec/weir.md.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "codecs/metadata_parts.h"
#include "codecs/weir.h"

namespace penstock::weir {

namespace {

constexpr std::size_t kHeadBytes = 8;
constexpr std::array<std::string_view, 8> kTags{"ICCP", "EXIF", "XMP ", "TEXT", "pHYs", "gAMA", "cHRM", "sRGB"};

// A text as other formats hold it: without zero bytes at its end (`add_text`). The one behind the key stays.
ByteView without_end(ByteView text) {
    const auto key_end = std::find(text.begin(), text.end(), std::uint8_t{0});
    const auto kept = static_cast<std::size_t>(key_end - text.begin()) + 1;
    while (text.size() > kept && text.back() == 0) text = text.first(text.size() - 1);
    return text;
}

}  // namespace

void read_metadata(ByteView file, Metadata& metadata) {
    const Header header = read_header(file);
    if (file.size() < header.tiles_begin()) return;
    ByteView rest = file.subspan(header.metadata_begin(), header.metadata_bytes);
    while (rest.size() >= kHeadBytes) {
        std::uint32_t size = 0;
        std::memcpy(&size, &rest[4], sizeof size);
        if (size > rest.size() - kHeadBytes) return;
        const std::string_view tag(reinterpret_cast<const char*>(rest.data()), 4);
        ByteView content = rest.subspan(kHeadBytes, size);
        if (tag == "TEXT") content = without_end(content);
        // A text that is not UTF-8 would be lost silently in the file that an export writes.
        const bool is_known = std::find(kTags.begin(), kTags.end(), tag) != kTags.end();
        if (is_known && (tag != "TEXT" || is_utf8(content))) {
            metadata.add(tag, content);
        } else {
            metadata.drop(tag);
        }
        rest = rest.subspan(kHeadBytes + size);
    }
}

}  // namespace penstock::weir
