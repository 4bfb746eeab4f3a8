// Metadata out of the chunks of an extended WebP.
#include <string_view>

#include "codecs/metadata_parts.h"

namespace penstock::webp {

namespace {

constexpr std::size_t kFileHeaderBytes = 12;
constexpr std::size_t kChunkHeaderBytes = 8;

bool is_image(std::string_view letters) {
    return letters == "VP8 " || letters == "VP8L" || letters == "VP8X" || letters == "ALPH" || letters == "ANIM" ||
           letters == "ANMF";
}

}  // namespace

void read_metadata(ByteView file, Metadata& metadata) {
    if (file.size() < kFileHeaderBytes) return;
    ByteView rest = file.subspan(kFileHeaderBytes);
    while (rest.size() >= kChunkHeaderBytes) {
        const std::size_t size = rest[4] | rest[5] << 8 | rest[6] << 16 | std::size_t{rest[7]} << 24;
        if (size > rest.size() - kChunkHeaderBytes) return;
        const std::string_view letters(reinterpret_cast<const char*>(rest.data()), 4);
        const ByteView content = rest.subspan(kChunkHeaderBytes, size);
        if (letters == "ICCP" || letters == "EXIF" || letters == "XMP ") {
            metadata.add(letters, content);
        } else if (!is_image(letters)) {
            metadata.drop(letters);
        }
        if (rest.size() - kChunkHeaderBytes < size + size % 2) return;
        rest = rest.subspan(kChunkHeaderBytes + size + size % 2);
    }
}

}  // namespace penstock::webp
