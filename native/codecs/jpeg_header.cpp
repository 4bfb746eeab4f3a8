#include "codecs/jpeg_header.h"

#include <cstring>
#include <string>

#include "base/error.h"
#include "codecs/codec.h"
#include "codecs/exif.h"
#include "codecs/jpeg_segments.h"

namespace penstock::jpeg {

namespace {

constexpr std::string_view kRestore = "the file is damaged: restore it from its source";
constexpr std::string_view kConvert = "convert it to 8-bit baseline or progressive JPEG";

[[noreturn]] void fail(ErrorCode code, const std::string& what, std::size_t offset, std::string_view fix) {
    throw Error(code, what, at_byte("jpeg", offset), std::string(fix));
}

std::uint32_t load_u16(const std::uint8_t* bytes) { return std::uint32_t{bytes[0]} << 8 | bytes[1]; }

/// What the segments before the scan said about colour.
struct ColorHints {
    bool jfif = false;
    bool adobe = false;
    std::uint8_t adobe_transform = 0;
    std::array<std::uint8_t, 4> ids{};
};

std::string process_name(std::uint8_t marker) {
    if (marker == kSof3 || marker == kSof11) return "lossless";
    if (marker > kSof3 && marker < kSof9) return "hierarchical";
    return "unusual (frame type " + std::to_string(marker - kSof0) + ")";
}

void read_frame(const Segment& segment, Header& header, ColorHints& hints) {
    const ByteView frame = segment.content;
    const std::uint8_t marker = segment.marker;
    if (marker != kSof0 && marker != kSof1 && marker != kSof2 && marker != kSof9 && marker != kSof10) {
        fail(ErrorCode::unsupported, process_name(marker) + " JPEG is not supported", segment.begin, kConvert);
    }
    if (header.num_components != 0) fail(ErrorCode::corrupt, "jpeg has two frame headers", segment.begin, kRestore);
    if (frame.size() < 6 || frame.size() != std::size_t{6} + 3 * frame[5]) {
        fail(ErrorCode::corrupt, "jpeg frame header has a wrong length", segment.begin, kRestore);
    }
    if (frame[0] != 8) {
        fail(ErrorCode::unsupported, std::to_string(frame[0]) + "-bit JPEG is not supported", segment.begin, kConvert);
    }
    header.height = load_u16(&frame[1]);
    header.width = load_u16(&frame[3]);
    header.num_components = frame[5];
    if (frame[5] != 1 && frame[5] != 3 && frame[5] != 4) {
        fail(ErrorCode::unsupported, "JPEG with " + std::to_string(frame[5]) + " components is not supported",
             segment.begin, kConvert);
    }
    header.progressive = marker == kSof2 || marker == kSof10;
    header.arithmetic = marker >= kSof9;
    for (std::size_t i = 0; i < header.num_components; ++i) {
        const std::uint8_t* component = &frame[6 + 3 * i];
        hints.ids[i] = component[0];
        header.sampling[i] = {static_cast<std::uint8_t>(component[1] >> 4),
                              static_cast<std::uint8_t>(component[1] & 15)};
        if (header.sampling[i].across < 1 || header.sampling[i].across > 4 || header.sampling[i].down < 1 ||
            header.sampling[i].down > 4) {
            fail(ErrorCode::corrupt, "jpeg frame header has an impossible sampling factor", segment.begin, kRestore);
        }
    }
}

bool starts_with(ByteView content, std::string_view text) {
    return content.size() >= text.size() && std::memcmp(content.data(), text.data(), text.size()) == 0;
}

// The order of trust is libjpeg's, so that pixels come out as everybody else's do.
Color color_of(const Header& header, const ColorHints& hints) {
    if (header.num_components == 1) return Color::grey;
    if (header.num_components == 4) return hints.adobe && hints.adobe_transform != 0 ? Color::ycck : Color::cmyk;
    if (hints.jfif) return Color::ycc;
    if (hints.adobe) return hints.adobe_transform == 0 ? Color::rgb : Color::ycc;
    const bool spells_rgb = hints.ids[0] == 'R' && hints.ids[1] == 'G' && hints.ids[2] == 'B';
    return spells_rgb ? Color::rgb : Color::ycc;
}

void read_application(const Segment& segment, Header& header, ColorHints& hints) {
    using std::string_view_literals::operator""sv;
    if (segment.marker == kApp0 && segment.content.size() >= 14 && starts_with(segment.content, "JFIF\0"sv)) {
        hints.jfif = true;
    } else if (segment.marker == kApp14 && segment.content.size() >= 12 && starts_with(segment.content, "Adobe"sv)) {
        hints.adobe = true;
        hints.adobe_transform = segment.content[11];
    } else if (segment.marker == kApp1 && starts_with(segment.content, "Exif\0\0"sv)) {
        header.orientation = exif_orientation(segment.content.subspan(6));
    }
}

}  // namespace

Header read_header(ByteView data) {
    Header header;
    ColorHints hints;
    MarkerWalk walk(data);
    for (;;) {
        const Segment segment = walk.next();
        if (is_frame(segment.marker)) {
            read_frame(segment, header, hints);
        } else if (segment.marker == kDri && segment.content.size() == 2) {
            header.restart_interval = load_u16(segment.content.data());
        } else if (segment.marker == kEoi || segment.marker == kSos) {
            if (segment.marker == kEoi || header.num_components == 0) {
                fail(ErrorCode::corrupt, "jpeg has no frame before its first scan", segment.begin, kRestore);
            }
            header.interleaved = !segment.content.empty() && segment.content[0] == header.num_components;
            break;
        } else {
            read_application(segment, header, hints);
        }
    }
    header.color = color_of(header, hints);
    header.scan_begin = walk.position();
    return header;
}

std::vector<std::size_t> restart_offsets(ByteView data) {
    std::vector<std::size_t> offsets{read_header(data).scan_begin};
    std::size_t position = offsets.front();
    while (position + 1 < data.size()) {
        const void* found = std::memchr(&data[position], 0xFF, data.size() - position - 1);
        if (found == nullptr) break;
        position = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - data.data()) + 1;
        const std::uint8_t marker = data[position];
        if (marker >= kRst0 && marker <= kRst7) {
            offsets.push_back(position + 1);
        } else if (marker != 0 && marker != 0xFF) {
            break;  // the end of the first scan
        }
    }
    return offsets;
}

}  // namespace penstock::jpeg
