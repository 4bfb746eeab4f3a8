#include "codecs/webp_container.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "codecs/exif.h"

namespace penstock::webp {

namespace {

constexpr std::size_t kFileHeaderBytes = 12;  // "RIFF", size, "WEBP"
constexpr std::size_t kChunkHeaderBytes = 8;  // four letters, size
constexpr std::uint8_t kAlphaFlag = 0x10;     // of VP8X
constexpr std::uint8_t kExifFlag = 0x08;
constexpr std::size_t kExtendedBytes = 10;  // payload of VP8X

// The alpha plane of an opaque image, whatever its size: "lossless, unfiltered", then a bitstream without transforms,
// colour cache or meta codes whose five prefix codes have one symbol each (green 255, the others 0), so that a
// pixel takes no bits at all.
constexpr std::array<std::uint8_t, 5> kOpaqueAlpha{0x01, 0xe8, 0x7f, 0x44, 0x04};

std::uint32_t load_u32(const std::uint8_t* bytes) {
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
}

void append_number(ByteBuffer& out, std::size_t value, int num_bytes) {
    for (int i = 0; i < num_bytes; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void append_chunk_header(ByteBuffer& out, const char* letters, std::size_t payload_bytes) {
    out.append(letters, 4);
    append_number(out, payload_bytes, 4);
}

bool has_letters(ByteView data, std::size_t offset, std::string_view letters) {
    return data.size() >= offset + letters.size() &&
           std::memcmp(data.data() + offset, letters.data(), letters.size()) == 0;
}

bool has_exif(ByteView data) {
    constexpr std::size_t flags = kFileHeaderBytes + kChunkHeaderBytes;
    return has_letters(data, kFileHeaderBytes, "VP8X") && data.size() > flags && (data[flags] & kExifFlag) != 0;
}

}  // namespace

bool has_signature(ByteView data) noexcept { return has_letters(data, 0, "RIFF") && has_letters(data, 8, "WEBP"); }

std::uint8_t orientation_of(ByteView data) noexcept {
    if (!has_exif(data)) return 1;
    std::size_t offset = kFileHeaderBytes;
    while (data.size() - offset > kChunkHeaderBytes) {
        const ByteView rest = data.subspan(offset + kChunkHeaderBytes);
        const std::size_t size = std::min<std::size_t>(load_u32(&data[offset + 4]), rest.size());
        if (has_letters(data, offset, "EXIF")) return exif_orientation(rest.first(size));
        offset += std::min(kChunkHeaderBytes + size + (size & 1), data.size() - offset);
    }
    return 1;
}

void add_opaque_alpha(ByteBuffer& file, std::uint32_t width, std::uint32_t height) {
    if (has_letters(file.view(), kFileHeaderBytes, "VP8L")) {
        // "Alpha is used" is bit 28 of the numbers after the signature byte; the pixels carry alpha 255 either way.
        file.data()[kFileHeaderBytes + kChunkHeaderBytes + 4] |= 0x10;
        return;
    }
    const ByteView image = file.view().subspan(kFileHeaderBytes);
    const std::size_t padded_alpha = kOpaqueAlpha.size() + 1;
    const std::size_t riff_bytes = 4 + kChunkHeaderBytes + kExtendedBytes + kChunkHeaderBytes + padded_alpha;
    ByteBuffer extended;
    extended.reserve(kChunkHeaderBytes + riff_bytes + image.size());
    append_chunk_header(extended, "RIFF", riff_bytes + image.size());
    extended.append("WEBP", 4);
    append_chunk_header(extended, "VP8X", kExtendedBytes);
    append_number(extended, kAlphaFlag, 4);
    append_number(extended, width - 1, 3);
    append_number(extended, height - 1, 3);
    append_chunk_header(extended, "ALPH", kOpaqueAlpha.size());
    extended.append(kOpaqueAlpha.data(), kOpaqueAlpha.size());
    extended.push_back(0);  // chunks have an even length
    extended.append(image.data(), image.size());
    file = std::move(extended);
}

}  // namespace penstock::webp
