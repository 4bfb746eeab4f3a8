// Metadata out of JPEG's application segments and comments.
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"
#include "codecs/jpeg_rows.h"
#include "codecs/jpeg_segments.h"
#include "codecs/metadata_parts.h"

namespace penstock::jpeg {

namespace {

constexpr std::string_view kJfif{"JFIF\0", 5};
constexpr std::string_view kJfifThumbnail{"JFXX\0", 5};
constexpr std::string_view kExif{"Exif\0\0", 6};
constexpr std::string_view kXmp{"http://ns.adobe.com/xap/1.0/\0", 29};
constexpr std::string_view kProfile{"ICC_PROFILE\0", 12};
constexpr std::size_t kProfileHead = 14;  // with the number of the part and that of all parts

bool begins_with(ByteView content, std::string_view name) {
    return content.size() >= name.size() && std::memcmp(content.data(), name.data(), name.size()) == 0;
}

std::array<std::uint8_t, 4> big_endian(double value) {
    const auto number = static_cast<std::uint32_t>(value);
    return {static_cast<std::uint8_t>(number >> 24), static_cast<std::uint8_t>(number >> 16),
            static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)};
}

// A density becomes PNG's pHYs, in pixels per metre; square pixels without a unit say nothing.
void add_density(ByteView content, Metadata& metadata) {
    if (content.size() < 12) return;
    const std::uint8_t unit = content[7];
    const double x = content[8] << 8 | content[9];
    const double y = content[10] << 8 | content[11];
    if (unit > 2 || x == 0 || y == 0 || (unit == 0 && x == y)) return;
    const double scale = unit == 1 ? 1 / 0.0254 : unit == 2 ? 100 : 1;
    std::array<std::uint8_t, 9> density{};
    std::memcpy(density.data(), big_endian(std::round(x * scale)).data(), 4);
    std::memcpy(density.data() + 4, big_endian(std::round(y * scale)).data(), 4);
    density[8] = unit == 0 ? 0 : 1;
    metadata.add("pHYs", density);
}

// The parts of an ICC profile, which may come in any order.
class Profile {
  public:
    void add(ByteView content) {
        const std::size_t number = content[kProfile.size()];
        const std::size_t count = content[kProfile.size() + 1];
        is_broken_ = is_broken_ || number == 0 || number > count || (!parts_.empty() && parts_.size() != count);
        if (is_broken_) return;
        parts_.resize(count);
        is_broken_ = !parts_[number - 1].empty();
        parts_[number - 1] = content.subspan(kProfileHead);
    }

    void finish(Metadata& metadata) const {
        if (parts_.empty() && !is_broken_) return;
        ByteBuffer whole;
        bool is_whole = !is_broken_;
        for (const ByteView part : parts_) {
            is_whole = is_whole && !part.empty();
            whole.append(part.data(), part.size());
        }
        if (is_whole) {
            metadata.add("ICCP", whole.view());
        } else {
            metadata.drop("APP2");
        }
    }

  private:
    std::vector<ByteView> parts_;
    bool is_broken_ = false;
};

void add_comment(ByteView text, Metadata& metadata) {
    const std::string plain(reinterpret_cast<const char*>(text.data()), text.size());
    add_text(metadata, "Comment", is_utf8(text) ? plain : utf8_of_latin1(text));
}

void add_segment(const Segment& segment, Profile& profile, Metadata& metadata) {
    const ByteView content = segment.content;
    if (segment.marker == kCom) {
        add_comment(content, metadata);
    } else if (segment.marker == kApp0 && begins_with(content, kJfif)) {
        add_density(content, metadata);
    } else if (segment.marker == kApp1 && begins_with(content, kExif)) {
        metadata.add("EXIF", content.subspan(kExif.size()));
    } else if (segment.marker == kApp1 && begins_with(content, kXmp)) {
        metadata.add("XMP ", content.subspan(kXmp.size()));
    } else if (segment.marker == kApp2 && begins_with(content, kProfile) && content.size() >= kProfileHead) {
        profile.add(content);
    } else if (segment.marker >= kApp0 && segment.marker <= kApp15 && segment.marker != kApp14 &&
               !begins_with(content, kJfifThumbnail) && !is_row_segment(segment.marker, content)) {
        metadata.drop("APP" + std::to_string(segment.marker - kApp0));  // APP14 says how colours are coded
    }
}

}  // namespace

void read_metadata(ByteView file, Metadata& metadata) {
    Profile profile;
    try {
        MarkerWalk walk(file);
        for (Segment segment = walk.next(); segment.marker != kSos && segment.marker != kEoi; segment = walk.next()) {
            add_segment(segment, profile, metadata);
        }
    } catch (const Error& error) {
        if (error.code() == ErrorCode::out_of_memory) throw;
        // Else whoever decodes it will say what is wrong with it.
    }
    profile.finish(metadata);
}

}  // namespace penstock::jpeg
