// Metadata as JPEG's application segments, behind the JFIF header, whose density it may set.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "codecs/embed_parts.h"

namespace penstock::jpeg {

namespace {

using Byte = std::uint8_t;

constexpr std::size_t kMaxContentBytes = 65533;  // of a segment
constexpr std::size_t kMaxProfilePart = kMaxContentBytes - 14;
constexpr std::size_t kMaxProfileParts = 255;
constexpr std::size_t kJfifEnd = 20;  // start of image, and APP0 without a thumbnail
constexpr std::string_view kJfif{"\xFF\xD8\xFF\xE0\x00\x10JFIF\x00", 11};
constexpr std::string_view kExif{"Exif\0\0", 6};
constexpr std::string_view kXmp{"http://ns.adobe.com/xap/1.0/\0", 29};
constexpr std::string_view kProfile{"ICC_PROFILE\0", 12};
constexpr std::string_view kComment{"Comment\0", 8};
constexpr Byte kApp1 = 0xE1, kApp2 = 0xE2, kCom = 0xFE;

bool append_segment(ByteBuffer& out, Byte marker, std::string_view name, ByteView content) {
    const std::size_t size = name.size() + content.size();
    if (size > kMaxContentBytes) return false;
    out.push_back(0xFF);
    out.push_back(marker);
    out.push_back(static_cast<Byte>((size + 2) >> 8));
    out.push_back(static_cast<Byte>(size + 2));
    out.append(name.data(), name.size());
    out.append(content.data(), content.size());
    return true;
}

bool append_profile(ByteBuffer& out, ByteView profile) {
    const std::size_t parts = (profile.size() + kMaxProfilePart - 1) / kMaxProfilePart;
    if (parts == 0 || parts > kMaxProfileParts) return false;  // no reader takes a part without bytes for a profile
    for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t begin = part * kMaxProfilePart;
        std::string name(kProfile);
        name.push_back(static_cast<char>(part + 1));
        name.push_back(static_cast<char>(parts));
        const std::size_t size = std::min(kMaxProfilePart, profile.size() - begin);
        (void)append_segment(out, kApp2, name, profile.subspan(begin, size));
    }
    return true;
}

std::uint32_t load_big(const Byte* bytes) {
    return static_cast<std::uint32_t>(bytes[0]) << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

// Pixels per metre become dots per inch, or per centimetre where that is exact; without a unit they are a ratio.
bool set_density(ByteBuffer& file, ByteView density) {
    if (density.size() != 9 || file.size() < kJfifEnd) return false;
    if (std::memcmp(file.data(), kJfif.data(), kJfif.size()) != 0) return false;
    double x = load_big(&density[0]);
    double y = load_big(&density[4]);
    Byte unit = 0;
    if (density[8] == 1) {
        const bool per_centimetre = load_big(&density[0]) % 100 == 0 && load_big(&density[4]) % 100 == 0;
        const double scale = per_centimetre ? 0.01 : 0.0254;
        unit = per_centimetre ? 2 : 1;
        x = std::round(x * scale);
        y = std::round(y * scale);
    }
    if (x < 1 || y < 1 || x > 65535 || y > 65535) return false;
    Byte* at = file.data() + 13;
    const auto wide_x = static_cast<std::uint32_t>(x);
    const auto wide_y = static_cast<std::uint32_t>(y);
    at[0] = unit;
    at[1] = static_cast<Byte>(wide_x >> 8);
    at[2] = static_cast<Byte>(wide_x);
    at[3] = static_cast<Byte>(wide_y >> 8);
    at[4] = static_cast<Byte>(wide_y);
    return true;
}

bool is_comment(ByteView text) {
    return text.size() >= kComment.size() && std::memcmp(text.data(), kComment.data(), kComment.size()) == 0;
}

bool append_entry(ByteBuffer& out, const MetadataEntry& entry) {
    if (entry.tag == "EXIF") return append_segment(out, kApp1, kExif, entry.content);
    if (entry.tag == "XMP ") return append_segment(out, kApp1, kXmp, entry.content);
    if (entry.tag == "ICCP") return append_profile(out, entry.content);
    if (entry.tag == "pHYs") return set_density(out, entry.content);
    if (entry.tag == "TEXT" && is_comment(entry.content)) {
        return append_segment(out, kCom, {}, entry.content.subspan(kComment.size()));
    }
    return false;
}

}  // namespace

ByteBuffer embed(ByteView file, const std::vector<MetadataEntry>& entries, DroppedTags& dropped) {
    if (file.size() < 2) {
        throw Error(ErrorCode::truncated, "jpeg data ends before its first marker", "jpeg data", "the file is damaged");
    }
    const bool has_jfif = file.size() >= kJfifEnd && std::memcmp(file.data(), kJfif.data(), kJfif.size()) == 0;
    const std::size_t begin = has_jfif ? kJfifEnd : 2;
    ByteBuffer out;
    out.append(file.data(), begin);
    for (const MetadataEntry& entry : entries) {
        if (!append_entry(out, entry)) dropped.emplace_back(entry.tag);
    }
    out.append(file.data() + begin, file.size() - begin);
    return out;
}

}  // namespace penstock::jpeg
