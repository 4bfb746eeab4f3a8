// Metadata out of PNG's ancillary chunks.
#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "codecs/metadata_parts.h"
#include "codecs/png_chunks.h"

namespace penstock::png {

namespace {

constexpr std::string_view kXmpKey = "XML:com.adobe.xmp";

struct FixedChunk {
    std::string_view type;
    std::size_t bytes;
};
constexpr std::array<FixedChunk, 4> kFixedChunks{{{"pHYs", 9}, {"gAMA", 4}, {"cHRM", 32}, {"sRGB", 1}}};
// Chunks that are part of the pixels, critical ones aside.
constexpr std::string_view kTransparency = "tRNS";

struct FreeDecompressor {
    void operator()(libdeflate_decompressor* decompressor) const noexcept {
        libdeflate_free_decompressor(decompressor);
    }
};

std::string_view text_of(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Inflates the compressed chunks of one file. A file that is made of chunks too large to be kept must not cost more
// than one that keeps them: the bytes of all attempts together are bounded.
class Inflater {
  public:
    // What a zlib stream holds; nothing if it is damaged or longer than `room`, or if the file has cost enough.
    [[nodiscard]] std::optional<std::string> inflate(ByteView stream, std::size_t room) {
        if (decompressor_ == nullptr) decompressor_.reset(libdeflate_alloc_decompressor());
        if (decompressor_ == nullptr) {
            throw Error(ErrorCode::out_of_memory, "could not allocate a decompressor", "memory", "free memory");
        }
        for (std::size_t size = std::max<std::size_t>(4 * stream.size(), 4096);; size *= 4) {
            const std::size_t limit = std::min({size, room, allowance_});
            std::string out(limit, '\0');
            std::size_t actual = 0;
            const libdeflate_result result = libdeflate_zlib_decompress(decompressor_.get(), stream.data(),
                                                                        stream.size(), out.data(), limit, &actual);
            allowance_ -= limit;
            if (result == LIBDEFLATE_SUCCESS) return out.substr(0, actual);
            if (result != LIBDEFLATE_INSUFFICIENT_SPACE || limit < size) return std::nullopt;
        }
    }

  private:
    std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor_;
    std::size_t allowance_ = 4 * kMaxMetadataBytes;
};

// Cuts off what stands before the next zero byte; nothing if there is none.
std::optional<ByteView> take_part(ByteView& rest) {
    const auto zero = std::find(rest.begin(), rest.end(), std::uint8_t{0});
    if (zero == rest.end()) return std::nullopt;
    const auto size = static_cast<std::size_t>(zero - rest.begin());
    const ByteView part = rest.first(size);
    rest = rest.subspan(size + 1);
    return part;
}

bool add_profile(ByteView content, Inflater& inflater, Metadata& metadata) {
    if (!take_part(content) || content.empty() || content[0] != 0) return false;
    const std::optional<std::string> profile = inflater.inflate(content.subspan(1), metadata.room());
    if (profile) metadata.add("ICCP", {reinterpret_cast<const std::uint8_t*>(profile->data()), profile->size()});
    return profile.has_value();
}

bool add_latin1(std::string_view type, ByteView content, Inflater& inflater, Metadata& metadata) {
    const std::optional<ByteView> key = take_part(content);
    if (!key) return false;
    std::optional<std::string> value(text_of(content));
    if (type == "zTXt") {
        if (content.empty() || content[0] != 0) return false;
        value = inflater.inflate(content.subspan(1), metadata.room());
    }
    if (!value) return false;
    const ByteView letters{reinterpret_cast<const std::uint8_t*>(value->data()), value->size()};
    add_text(metadata, utf8_of_latin1(*key), utf8_of_latin1(letters));
    return true;
}

bool add_international(ByteView content, Inflater& inflater, Metadata& metadata) {
    const std::optional<ByteView> key = take_part(content);
    if (!key || content.size() < 2 || content[0] > 1 || content[1] != 0) return false;
    const bool is_compressed = content[0] == 1;
    content = content.subspan(2);
    if (!take_part(content) || !take_part(content)) return false;  // language, translated key
    const std::optional<std::string> value =
        is_compressed ? inflater.inflate(content, metadata.room()) : std::string(text_of(content));
    if (!value) return false;
    const ByteView letters{reinterpret_cast<const std::uint8_t*>(value->data()), value->size()};
    if (text_of(*key) == kXmpKey) {
        metadata.add("XMP ", letters);
        return true;
    }
    if (!is_utf8(letters)) return false;
    add_text(metadata, utf8_of_latin1(*key), *value);
    return true;
}

bool add_fixed(std::string_view type, ByteView content, Metadata& metadata) {
    for (const FixedChunk& chunk : kFixedChunks) {
        if (type != chunk.type || content.size() != chunk.bytes) continue;
        metadata.add(type, content);
        return true;
    }
    return false;
}

bool add_chunk(std::string_view type, ByteView content, Inflater& inflater, Metadata& metadata) {
    if (type == "iCCP") return add_profile(content, inflater, metadata);
    if (type == "tEXt" || type == "zTXt") return add_latin1(type, content, inflater, metadata);
    if (type == "iTXt") return add_international(content, inflater, metadata);
    if (type == "eXIf") {
        metadata.add("EXIF", content);
        return true;
    }
    return add_fixed(type, content, metadata);
}

std::size_t load_length(const std::uint8_t* bytes) {
    return std::size_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

}  // namespace

void read_metadata(ByteView file, Metadata& metadata) {
    Inflater inflater;
    ByteView rest = file.subspan(std::min(kSignature.size(), file.size()));
    while (rest.size() >= 12) {
        const std::size_t length = load_length(rest.data());
        if (length > rest.size() - 12) return;
        const std::string_view type = text_of(rest.subspan(4, 4));
        if (type == "IEND") return;
        const bool is_ancillary = (rest[4] & 0x20) != 0 && type != kTransparency;
        if (is_ancillary && !add_chunk(type, rest.subspan(8, length), inflater, metadata)) metadata.drop(type);
        rest = rest.subspan(12 + length);
    }
}

}  // namespace penstock::png
