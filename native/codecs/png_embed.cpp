// Metadata as PNG's chunks, directly behind the header: all of them may stand there, and most must.
#include <libdeflate.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "codecs/embed_parts.h"
#include "codecs/png_chunks.h"

namespace penstock::png {

namespace {

using Byte = std::uint8_t;

constexpr std::size_t kHeaderEnd = 33;  // signature and IHDR
constexpr std::size_t kMaxKeyBytes = 79;

struct FixedChunk {
    std::string_view tag;
    std::size_t bytes;
};
constexpr std::array<FixedChunk, 4> kFixedChunks{{{"pHYs", 9}, {"gAMA", 4}, {"cHRM", 32}, {"sRGB", 1}}};

struct FreeCompressor {
    void operator()(libdeflate_compressor* compressor) const noexcept { libdeflate_free_compressor(compressor); }
};

ByteBuffer profile_content(ByteView profile) {
    const std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor(libdeflate_alloc_compressor(6));
    if (compressor == nullptr) {
        throw Error(ErrorCode::out_of_memory, "could not allocate a compressor", "memory", "free memory");
    }
    constexpr std::string_view name{"ICC profile\0\0", 13};  // its name, and the method of compression
    ByteBuffer content;
    content.append(name.data(), name.size());
    content.resize(name.size() + libdeflate_zlib_compress_bound(compressor.get(), profile.size()));
    const std::size_t size = libdeflate_zlib_compress(compressor.get(), profile.data(), profile.size(),
                                                      content.data() + name.size(), content.size() - name.size());
    content.resize(name.size() + size);
    return content;
}

// UTF-8 as Latin-1, which keys of texts are written in; nothing if it cannot be.
std::optional<std::string> latin1(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<Byte>(text[i]);
        const bool is_pair = (byte == 0xC2 || byte == 0xC3) && i + 1 < text.size();
        if (byte >= 0x80 && !is_pair) return std::nullopt;
        out.push_back(is_pair ? static_cast<char>((byte & 3) << 6 | (static_cast<Byte>(text[i + 1]) & 0x3f)) : text[i]);
        if (is_pair) ++i;
    }
    return out;
}

// An international text, uncompressed, without a language; nothing if the key cannot be one.
std::optional<ByteBuffer> text_content(std::string_view key, ByteView value) {
    const std::optional<std::string> plain = latin1(key);
    if (!plain || plain->empty() || plain->size() > kMaxKeyBytes) return std::nullopt;
    constexpr std::string_view flags{"\0\0\0\0\0", 5};
    ByteBuffer content;
    content.append(plain->data(), plain->size());
    content.append(flags.data(), flags.size());
    content.append(value.data(), value.size());
    return content;
}

std::optional<ByteBuffer> text_entry(ByteView content) {
    const auto* begin = reinterpret_cast<const char*>(content.data());
    const std::size_t key_bytes = std::string_view(begin, content.size()).find('\0');
    if (key_bytes == std::string_view::npos) return std::nullopt;
    return text_content({begin, key_bytes}, content.subspan(key_bytes + 1));
}

bool append_text(ByteBuffer& out, const std::optional<ByteBuffer>& content) {
    if (content) append_chunk(out, "iTXt", content->view());
    return content.has_value();
}

bool append_entry(ByteBuffer& out, const MetadataEntry& entry) {
    if (entry.content.size() > kMaxChunkBytes / 2) return false;
    if (entry.tag == "TEXT") return append_text(out, text_entry(entry.content));
    if (entry.tag == "XMP ") return append_text(out, text_content("XML:com.adobe.xmp", entry.content));
    if (entry.tag == "ICCP") {
        append_chunk(out, "iCCP", profile_content(entry.content).view());
        return true;
    }
    if (entry.tag == "EXIF") {
        append_chunk(out, "eXIf", entry.content);
        return true;
    }
    for (const FixedChunk& chunk : kFixedChunks) {
        if (entry.tag != chunk.tag || entry.content.size() != chunk.bytes) continue;
        append_chunk(out, chunk.tag, entry.content);
        return true;
    }
    return false;
}

}  // namespace

ByteBuffer embed(ByteView file, const std::vector<MetadataEntry>& entries, DroppedTags& dropped) {
    if (file.size() < kHeaderEnd) {
        throw Error(ErrorCode::truncated, "png data ends inside its header", "png data", "the file is damaged");
    }
    ByteBuffer out;
    out.append(file.data(), kHeaderEnd);
    for (const MetadataEntry& entry : entries) {
        if (!append_entry(out, entry)) dropped.emplace_back(entry.tag);
    }
    out.append(file.data() + kHeaderEnd, file.size() - kHeaderEnd);
    return out;
}

}  // namespace penstock::png
