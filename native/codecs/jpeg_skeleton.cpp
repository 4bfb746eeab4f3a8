#include "codecs/jpeg_skeleton.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "codecs/jpeg_frame.h"
#include "codecs/jpeg_varint.h"

namespace penstock::jpeg {

namespace {

using Bytes = std::vector<std::uint8_t>;

enum Operation : std::uint8_t {
    kEnd = 0,           // of the skeleton
    kLiteral = 1,       // length, bytes
    kJfif = 2,          // version 1.1, no unit, density 1:1, no thumbnail
    kJfifWith = 3,      // minor version, unit, two densities of two bytes; no thumbnail
    kQuantization = 4,  // number of tables; for each its precision and name, and the component that has it
    kFrame = 5,         // marker; for each component its name and that of its table
    kUsualFrame = 6,    // marker; names 1, 2, 3, tables 0, 1, 1
    kCodes = 7,         // number of codes; for each which standard code, and its name
    kUsualCodes = 8,    // as many standard codes as the image needs, each in a segment of its own
    kScan = 9,          // number of components; for each its index and the names of its codes; three parameters
    kUsualScan = 10,    // all components, codes 0, 1, 1, sequential
    kEndOfImage = 11,
    kCurve = 12,  // of sRGB, as most colour profiles have it
};

// What operations other than literals may add up to: a byte of restoration data must not become hundreds without limit.
constexpr std::size_t kMaxExpandedBytes = std::size_t{1} << 20;

constexpr std::array<std::uint8_t, 14> kJfifContent{'J', 'F', 'I', 'F', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0};

Bytes segment_of(std::uint8_t marker, const Bytes& content) {
    const std::size_t length = content.size() + 2;
    Bytes out(content.size() + 4);
    out[0] = 0xFF;
    out[1] = marker;
    out[2] = static_cast<std::uint8_t>(length >> 8);
    out[3] = static_cast<std::uint8_t>(length);
    std::ranges::copy(content, out.begin() + 4);
    return out;
}

Bytes jfif(ByteView fields) {
    Bytes content(kJfifContent.begin(), kJfifContent.end());
    if (!fields.empty()) std::memcpy(&content[6], fields.data(), 6);
    return segment_of(kApp0, content);
}

// `names` has two bytes for each table.
Bytes quantization(const CoefficientImage& image, ByteView names) {
    Bytes content;
    for (std::size_t i = 0; i < names.size(); i += 2) {
        if (names[i + 1] >= image.components.size())
            fail_restoration("a jpeg table is of a component that is not there");
        content.push_back(names[i]);
        for (const std::uint16_t value : image.components[names[i + 1]].quantization) {
            if (names[i] >> 4 != 0) content.push_back(static_cast<std::uint8_t>(value >> 8));
            content.push_back(static_cast<std::uint8_t>(value));
        }
    }
    return segment_of(kDqt, content);
}

// `names` has two bytes for each component.
Bytes frame(const CoefficientImage& image, std::uint8_t marker, ByteView names) {
    Bytes content{8,
                  static_cast<std::uint8_t>(image.height >> 8),
                  static_cast<std::uint8_t>(image.height),
                  static_cast<std::uint8_t>(image.width >> 8),
                  static_cast<std::uint8_t>(image.width),
                  static_cast<std::uint8_t>(image.components.size())};
    for (std::size_t i = 0; i < image.components.size(); ++i) {
        const Sampling sampling = image.components[i].sampling;
        content.push_back(names[2 * i]);
        content.push_back(static_cast<std::uint8_t>(sampling.across << 4 | sampling.down));
        content.push_back(names[2 * i + 1]);
    }
    return segment_of(marker, content);
}

constexpr std::array<std::uint8_t, 6> kUsualFrameNames{1, 0, 2, 1, 3, 1};

// A byte for each code: which standard code in the low two bits, its name in the next two.
Bytes codes(ByteView names) {
    Bytes content;
    for (const std::uint8_t name : names) {
        const std::size_t index = name & 3;
        const HuffmanCode& code = standard_code(index);
        content.push_back(static_cast<std::uint8_t>((index & 1) << 4 | (name >> 2 & 3)));
        content.insert(content.end(), code.counts.begin() + 1, code.counts.end());
        std::ptrdiff_t total = 0;
        for (std::size_t length = 1; length <= 16; ++length) total += code.counts[length];
        content.insert(content.end(), code.symbols.begin(), code.symbols.begin() + total);
    }
    return segment_of(kDht, content);
}

Bytes usual_codes(const CoefficientImage& image) {
    Bytes out;
    for (const std::uint8_t name : std::initializer_list<std::uint8_t>{0, 1, 6, 7}) {
        const Bytes segment = codes({&name, 1});
        if (name < 4 || image.components.size() > 1) out.insert(out.end(), segment.begin(), segment.end());
    }
    return out;
}

// `fields` has two bytes for each component, the second the names of its codes, and three parameters.
Bytes scan(ByteView fields, ByteView component_names) {
    const std::size_t count = fields.size() / 2 - 1;
    Bytes content{static_cast<std::uint8_t>(count)};
    for (std::size_t i = 0; i < count; ++i) {
        if (fields[2 * i] >= component_names.size()) fail_restoration("a jpeg scan has a component that is not there");
        content.push_back(component_names[fields[2 * i]]);
        content.push_back(fields[2 * i + 1]);
    }
    content.insert(content.end(), fields.end() - 3, fields.end());
    return segment_of(kSos, content);
}

// The transfer function of sRGB (IEC 61966-2-1) at 1024 places, 16 bits each: two thirds of the profile that most files
// with a profile have, and not compressible. No value is within 0.00007 of where rounding changes it.
const Bytes& curve() {
    static const Bytes bytes = [] {
        Bytes made;
        for (int i = 0; i < 1024; ++i) {
            const double place = i / 1023.0;
            const double light = place <= 0.04045 ? place / 12.92 : std::pow((place + 0.055) / 1.055, 2.4);
            const auto value = static_cast<unsigned>(65535 * light + 0.5);
            made.push_back(static_cast<std::uint8_t>(value >> 8));
            made.push_back(static_cast<std::uint8_t>(value));
        }
        return made;
    }();
    return bytes;
}

Bytes usual_scan_fields(const CoefficientImage& image) {
    Bytes fields;
    for (std::uint8_t i = 0; i < image.components.size(); ++i) {
        fields.insert(fields.end(), {i, static_cast<std::uint8_t>(i == 0 ? 0x00 : 0x11)});
    }
    fields.insert(fields.end(), {0, 63, 0});
    return fields;
}

/// Finds the operations of a skeleton.
class SkeletonWriter {
  public:
    SkeletonWriter(ByteView skeleton, const CoefficientImage& image, ByteBuffer& out)
        : skeleton_(skeleton), image_(image), out_(out) {}

    void write() {
        FileWalk walk(skeleton_);
        done_ = 2;
        for (std::optional<Segment> segment = walk.next(); segment; segment = walk.next()) {
            const std::size_t begin = segment->begin - 2;
            if (begin < done_) continue;  // one operation may have covered several segments
            write_segment(*segment, begin);
        }
        const std::size_t end = walk.position();
        if (end >= done_ + 2 && skeleton_[end - 2] == 0xFF && skeleton_[end - 1] == kEoi) {
            static constexpr std::array<std::uint8_t, 2> kMark{0xFF, kEoi};
            (void)try_operation(end - 2, {kEndOfImage}, {kMark.begin(), kMark.end()});
        }
        write_literal(skeleton_.size());
        out_.push_back(kEnd);
    }

  private:
    void write_segment(const Segment& segment, std::size_t begin) {
        const ByteView content = segment.content;
        if (segment.marker == kApp0 && content.size() == kJfifContent.size()) {
            if (try_operation(begin, {kJfif}, jfif({}))) return;
            const ByteView fields = content.subspan(6, 6);
            (void)try_operation(begin, joined({kJfifWith}, fields), jfif(fields));
        } else if (segment.marker == kDqt) {
            write_quantization(content, begin);
        } else if (segment.marker == kSof0 || segment.marker == kSof1 || segment.marker == kSof2) {
            write_frame(segment, begin);
        } else if (segment.marker == kDht) {
            if (try_operation(begin, {kUsualCodes}, usual_codes(image_))) return;
            write_codes(content, begin);
        } else if (segment.marker == kSos) {
            write_scan(content, begin);
        } else if (segment.marker == kApp2) {
            write_profile(segment);
        }
    }

    void write_quantization(ByteView content, std::size_t begin) {
        Bytes names;
        for (std::size_t at = 0; at < content.size(); at += 1 + kBlockCoefficients * (content[at] >> 4 != 0 ? 2 : 1)) {
            const std::size_t component = component_with(content.subspan(at));
            if (component == image_.components.size()) return;
            names.insert(names.end(), {content[at], static_cast<std::uint8_t>(component)});
        }
        if (names.empty() || names.size() > 255) return;
        const auto count = static_cast<std::uint8_t>(names.size() / 2);
        (void)try_operation(begin, joined({kQuantization, count}, names), quantization(image_, names));
    }

    // Which component has the table that stands here; the number of components if none has.
    [[nodiscard]] std::size_t component_with(ByteView table) const {
        const std::size_t value_bytes = table[0] >> 4 != 0 ? 2 : 1;
        std::size_t component = 0;
        if (table.size() < 1 + kBlockCoefficients * value_bytes) return image_.components.size();
        for (; component < image_.components.size(); ++component) {
            const Bytes made = quantization(image_, Bytes{table[0], static_cast<std::uint8_t>(component)});
            if (std::equal(made.begin() + 4, made.end(), table.begin())) break;
        }
        return component;
    }

    void write_frame(const Segment& segment, std::size_t begin) {
        const ByteView content = segment.content;
        if (content.size() != 6 + 3 * image_.components.size()) return;
        Bytes names;
        for (std::size_t i = 0; i < image_.components.size(); ++i) {
            names.insert(names.end(), {content[6 + 3 * i], content[8 + 3 * i]});
        }
        if (!try_operation(begin, {kUsualFrame, segment.marker}, frame(image_, segment.marker, kUsualFrameNames)) &&
            !try_operation(begin, joined({kFrame, segment.marker}, names), frame(image_, segment.marker, names))) {
            return;
        }
        component_names_.clear();
        for (std::size_t i = 0; i < image_.components.size(); ++i) component_names_.push_back(names[2 * i]);
    }

    void write_codes(ByteView content, std::size_t begin) {
        Bytes names;
        std::size_t at = 0;
        while (content.size() - at >= 17) {
            std::size_t total = 0;
            for (std::size_t length = 1; length <= 16; ++length) total += content[at + length];
            std::size_t kind = content[at] >> 4;  // DC or AC of luma, then of chroma
            const auto is_standard = [&] {
                const HuffmanCode& code = standard_code(kind);
                return content.size() - at >= 17 + total && std::memcmp(&code.counts[1], &content[at + 1], 16) == 0;
            };
            if (kind > 1) return;
            if (!is_standard()) kind += 2;
            if (!is_standard()) return;
            names.push_back(static_cast<std::uint8_t>(kind | (content[at] & 3) << 2));
            at += 17 + total;
        }
        if (names.empty() || names.size() > 255) return;
        (void)try_operation(begin, joined({kCodes, static_cast<std::uint8_t>(names.size())}, names), codes(names));
    }

    void write_scan(ByteView content, std::size_t begin) {
        if (component_names_.size() != image_.components.size()) return;
        if (try_operation(begin, {kUsualScan}, scan(usual_scan_fields(image_), component_names_))) return;
        Bytes fields;
        for (std::size_t i = 0; i < content[0]; ++i) {
            const auto found = std::ranges::find(component_names_, content[1 + 2 * i]);
            if (found == component_names_.end()) return;
            fields.insert(fields.end(),
                          {static_cast<std::uint8_t>(found - component_names_.begin()), content[2 + 2 * i]});
        }
        fields.insert(fields.end(), content.end() - 3, content.end());
        (void)try_operation(begin, joined({kScan, content[0]}, fields), scan(fields, component_names_));
    }

    void write_profile(const Segment& segment) {
        constexpr std::ptrdiff_t kFirst = 8;  // bytes to search for; the rest is compared
        const auto found =
            std::search(segment.content.begin(), segment.content.end(), curve().begin(), curve().begin() + kFirst);
        if (found == segment.content.end()) return;
        const auto place = static_cast<std::size_t>(found - segment.content.begin());
        (void)try_operation(segment.begin + 2 + place, {kCurve}, curve());
    }

    static Bytes joined(Bytes head, ByteView tail) {
        head.insert(head.end(), tail.begin(), tail.end());
        return head;
    }

    // Writes the operation if `result` is what stands at `begin`.
    bool try_operation(std::size_t begin, const Bytes& operation, const Bytes& result) {
        if (skeleton_.size() - begin < result.size() || expanded_bytes_ + result.size() > kMaxExpandedBytes ||
            std::memcmp(&skeleton_[begin], result.data(), result.size()) != 0) {
            return false;
        }
        write_literal(begin);
        out_.append(operation.data(), operation.size());
        expanded_bytes_ += result.size();
        done_ = begin + result.size();
        return true;
    }

    void write_literal(std::size_t end) {
        if (end == done_) return;
        out_.push_back(kLiteral);
        put_number(out_, end - done_);
        out_.append(&skeleton_[done_], end - done_);
        done_ = end;
    }

    ByteView skeleton_;
    const CoefficientImage& image_;
    ByteBuffer& out_;
    std::size_t done_ = 0;
    std::size_t expanded_bytes_ = 0;
    Bytes component_names_;
};

/// Carries operations out.
class SkeletonReader {
  public:
    SkeletonReader(ByteView& data, const CoefficientImage& image, std::size_t max_bytes)
        : data_(data), image_(image), max_bytes_(max_bytes) {}

    [[nodiscard]] ByteBuffer read() {
        append(Bytes{0xFF, kSoi});
        for (;;) {
            const std::uint8_t operation = take_byte(data_);
            if (operation == kEnd) return std::move(out_);
            if (operation == kLiteral) {
                append(take_bytes(data_, take_number(data_)));
            } else {
                const Bytes result = result_of(operation);
                expanded_bytes_ += result.size();
                if (expanded_bytes_ > kMaxExpandedBytes) fail_restoration("restoration data expands without limit");
                append(result);
            }
        }
    }

  private:
    [[nodiscard]] Bytes result_of(std::uint8_t operation) {
        switch (operation) {
            case kJfif: return jfif({});
            case kJfifWith: return jfif(take_bytes(data_, 6));
            case kQuantization: return quantization(image_, take_bytes(data_, std::size_t{2} * take_byte(data_)));
            case kFrame: {
                const std::uint8_t marker = take_byte(data_);
                return made_frame(marker, take_bytes(data_, 2 * image_.components.size()));
            }
            case kUsualFrame: return made_frame(take_byte(data_), kUsualFrameNames);
            case kCodes: return codes(take_bytes(data_, take_byte(data_)));
            case kUsualCodes: return usual_codes(image_);
            case kScan: return scan(take_bytes(data_, std::size_t{2} * take_byte(data_) + 3), component_names_);
            case kUsualScan: return scan(usual_scan_fields(image_), component_names_);
            case kEndOfImage: return {0xFF, kEoi};
            case kCurve: return curve();
            default: fail_restoration("restoration data of a jpeg has an unknown operation");
        }
    }

    [[nodiscard]] Bytes made_frame(std::uint8_t marker, ByteView names) {
        component_names_.clear();
        for (std::size_t i = 0; i < image_.components.size(); ++i) component_names_.push_back(names[2 * i]);
        return frame(image_, marker, names);
    }

    void append(ByteView bytes) {
        if (bytes.size() > max_bytes_ - out_.size()) {
            fail_restoration("restoration data describes a longer jpeg than it says");
        }
        out_.append(bytes.data(), bytes.size());
    }

    ByteView& data_;
    const CoefficientImage& image_;
    std::size_t max_bytes_;
    ByteBuffer out_;
    std::size_t expanded_bytes_ = 0;
    Bytes component_names_;
};

}  // namespace

void write_skeleton(ByteView skeleton, const CoefficientImage& image, ByteBuffer& out) {
    SkeletonWriter(skeleton, image, out).write();
}

ByteBuffer read_skeleton(ByteView& data, const CoefficientImage& image, std::size_t max_bytes) {
    return SkeletonReader(data, image, max_bytes).read();
}

}  // namespace penstock::jpeg
