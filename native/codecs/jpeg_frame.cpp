#include "codecs/jpeg_frame.h"

#include <algorithm>
#include <cstring>

#include "codecs/codec.h"

namespace penstock::jpeg {

namespace {

constexpr std::size_t kMaxScans = 100;       // as for every other decode (jpeg_library.cpp)
constexpr std::uint32_t kMaxSide = 65500;    // libjpeg's
constexpr std::size_t kMaxBlocksInMcu = 10;  // the standard's
constexpr unsigned kMaxApproximation = 13;   // the standard's, for `low`

std::uint32_t load_u16(const std::uint8_t* bytes) { return std::uint32_t{bytes[0]} << 8 | bytes[1]; }

// Annex K.3: how many codes of each length, then the symbols in the order of their codes.
constexpr std::array<std::uint8_t, 16> kDcLumaCounts{0, 1, 5, 1, 1, 1, 1, 1, 1};
constexpr std::array<std::uint8_t, 16> kDcChromaCounts{0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1};
constexpr std::array<std::uint8_t, 16> kAcLumaCounts{0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d};
constexpr std::array<std::uint8_t, 16> kAcChromaCounts{0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77};
constexpr std::array<std::uint8_t, 12> kDcSymbols{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
constexpr std::array<std::uint8_t, 162> kAcLumaSymbols{
    0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71,
    0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72,
    0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37,
    0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59,
    0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x83,
    0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3,
    0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3,
    0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2,
    0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa};
constexpr std::array<std::uint8_t, 162> kAcChromaSymbols{
    0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71, 0x13, 0x22,
    0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33, 0x52, 0xf0, 0x15, 0x62, 0x72, 0xd1,
    0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1, 0x17, 0x18, 0x19, 0x1a, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x35, 0x36,
    0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58,
    0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a,
    0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a,
    0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba,
    0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda,
    0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa};

template <std::size_t kNumSymbols>
HuffmanCode make_code(const std::array<std::uint8_t, 16>& counts,
                      const std::array<std::uint8_t, kNumSymbols>& symbols) noexcept {
    HuffmanCode code;
    std::ranges::copy(counts, code.counts.begin() + 1);
    std::ranges::copy(symbols, code.symbols.begin());
    code.is_defined = true;
    return code;
}

// libjpeg's rule: codes must fit, and the code of all ones is not used.
bool is_possible(const HuffmanCode& code) noexcept {
    std::uint32_t next_code = 0;
    std::uint32_t left = 0;
    for (std::size_t length = 1; length <= 16; ++length) left += code.counts[length];
    for (std::size_t length = 1; length <= 16 && left != 0; ++length) {
        next_code += code.counts[length];
        left -= code.counts[length];
        if (next_code >= std::uint32_t{1} << length) return false;
        next_code <<= 1;
    }
    return true;
}

bool is_skipped(std::uint8_t marker) noexcept {
    return marker == kTem || (marker >= kRst0 && marker <= kRst7) || (marker >= kApp0 && marker <= kApp15) ||
           marker == kCom;
}

bool stands_alone(std::uint8_t marker) noexcept { return marker == kTem || (marker >= kRst0 && marker <= kSoi); }

}  // namespace

void fail_damaged(const std::string& what, std::size_t offset) {
    throw Error(ErrorCode::corrupt, what, at_byte("jpeg", offset), "the file is damaged: restore it from its source");
}

void fail_unsupported(const std::string& what, std::size_t offset) {
    throw Error(ErrorCode::unsupported, what, at_byte("jpeg", offset), "keep the file as jpeg");
}

const HuffmanCode& standard_code(std::size_t index) noexcept {
    static const std::array<HuffmanCode, 4> codes{
        make_code(kDcLumaCounts, kDcSymbols), make_code(kAcLumaCounts, kAcLumaSymbols),
        make_code(kDcChromaCounts, kDcSymbols), make_code(kAcChromaCounts, kAcChromaSymbols)};
    return codes[index];
}

void Frame::lay_out() noexcept {
    std::uint32_t across = 1;
    std::uint32_t down = 1;
    for (const FrameComponent& component : components) {
        across = std::max<std::uint32_t>(across, component.sampling.across);
        down = std::max<std::uint32_t>(down, component.sampling.down);
    }
    mcus_wide = (width + 8 * across - 1) / (8 * across);
    mcus_high = (height + 8 * down - 1) / (8 * down);
    for (FrameComponent& component : components) {
        component.blocks_wide = num_blocks(width, component.sampling.across, across);
        component.blocks_high = num_blocks(height, component.sampling.down, down);
        const bool is_alone = components.size() == 1;
        component.padded_wide = is_alone ? component.blocks_wide : mcus_wide * component.sampling.across;
        component.padded_high = is_alone ? component.blocks_high : mcus_high * component.sampling.down;
    }
}

Scan::Kind Scan::kind() const noexcept {
    if (!frame->is_progressive) return Kind::sequential;
    if (first == 0) return high == 0 ? Kind::dc_first : Kind::dc_refine;
    return high == 0 ? Kind::ac_first : Kind::ac_refine;
}

void CodingState::take(const Segment& segment) {
    if (is_frame(segment.marker)) {
        take_frame(segment);
    } else if (segment.marker == kDht) {
        take_codes(segment);
    } else if (segment.marker == kDqt) {
        take_quantization(segment);
    } else if (segment.marker == kDri) {
        if (segment.content.size() != 2) fail_damaged("jpeg restart interval has a wrong length", segment.begin);
        restart_interval_ = load_u16(segment.content.data());
    } else if (!is_skipped(segment.marker)) {
        fail_unsupported("jpeg has a marker of an unusual kind (" + std::to_string(segment.marker) + ")",
                         segment.begin);
    }
}

void CodingState::take_frame(const Segment& segment) {
    const ByteView content = segment.content;
    if (segment.marker != kSof0 && segment.marker != kSof1 && segment.marker != kSof2) {
        fail_unsupported("only Huffman-coded sequential and progressive jpeg can be restored", segment.begin);
    }
    if (has_frame()) fail_damaged("jpeg has two frame headers", segment.begin);
    if (content.size() < 6 || content.size() != std::size_t{6} + 3 * content[5]) {
        fail_damaged("jpeg frame header has a wrong length", segment.begin);
    }
    if (content[0] != 8) fail_unsupported(std::to_string(content[0]) + "-bit jpeg cannot be restored", segment.begin);
    if (content[5] != 1 && content[5] != 3) {
        fail_unsupported("jpeg of " + std::to_string(content[5]) + " components cannot be restored", segment.begin);
    }
    Frame frame;
    frame.is_progressive = segment.marker == kSof2;
    frame.height = load_u16(&content[1]);
    frame.width = load_u16(&content[3]);
    if (frame.height == 0) fail_unsupported("jpeg tells its height behind its scan only", segment.begin);
    if (frame.width == 0 || std::max(frame.width, frame.height) > kMaxSide) {
        fail_damaged("jpeg has an impossible size", segment.begin);
    }
    for (std::size_t i = 0; i < content[5]; ++i) {
        const std::uint8_t* bytes = &content[6 + 3 * i];
        FrameComponent component;
        component.id = bytes[0];
        component.sampling = {static_cast<std::uint8_t>(bytes[1] >> 4), static_cast<std::uint8_t>(bytes[1] & 15)};
        component.quantization_index = bytes[2];
        const Sampling& sampling = component.sampling;
        if (sampling.across < 1 || sampling.across > 4 || sampling.down < 1 || sampling.down > 4) {
            fail_damaged("jpeg frame header has an impossible sampling factor", segment.begin);
        }
        for (const FrameComponent& other : frame.components) {
            if (other.id == component.id) fail_unsupported("jpeg has two components of one name", segment.begin);
        }
        frame.components.push_back(component);
    }
    frame.lay_out();
    frame_ = std::move(frame);
    for (auto& bits : known_bit_) bits.fill(-1);
}

void CodingState::take_codes(const Segment& segment) {
    ByteView left = segment.content;
    while (left.size() >= 17) {
        const std::size_t name = left[0];
        std::size_t total = 0;
        for (std::size_t length = 1; length <= 16; ++length) total += left[length];
        if ((name & ~std::size_t{0x13}) != 0 || total > 256 || left.size() < 17 + total) {
            fail_damaged("jpeg Huffman code is impossible", segment.begin);
        }
        HuffmanCode& code = codes_[name >> 4][name & 3];
        code = {};
        std::memcpy(&code.counts[1], &left[1], 16);
        if (total != 0) std::memcpy(code.symbols.data(), &left[17], total);
        code.is_defined = true;
        left = left.subspan(17 + total);
    }
    if (!left.empty()) fail_damaged("jpeg Huffman codes have a wrong length", segment.begin);
}

void CodingState::take_quantization(const Segment& segment) {
    ByteView left = segment.content;
    while (!left.empty()) {
        const bool is_wide = left[0] >> 4 != 0;
        const std::size_t index = left[0] & 15;
        const std::size_t size = 1 + kBlockCoefficients * (is_wide ? 2 : 1);
        if (index > 3 || left.size() < size) fail_damaged("jpeg quantisation table is impossible", segment.begin);
        for (std::size_t k = 0; k < kBlockCoefficients; ++k) {
            const std::uint32_t value = is_wide ? load_u16(&left[1 + 2 * k]) : left[1 + k];
            quantization_[index][k] = static_cast<std::uint16_t>(value);
        }
        has_quantization_[index] = true;
        left = left.subspan(size);
    }
}

Scan CodingState::begin_scan(const Segment& segment) {
    const ByteView content = segment.content;
    if (!has_frame()) fail_damaged("jpeg has no frame before its first scan", segment.begin);
    if (content.empty() || content.size() != std::size_t{4} + 2 * content[0] || content[0] == 0 ||
        content[0] > frame_.components.size()) {
        fail_damaged("jpeg scan header has a wrong length", segment.begin);
    }
    if (++num_scans_ > kMaxScans) {
        fail_unsupported("jpeg has more than " + std::to_string(kMaxScans) + " scans", segment.begin);
    }
    Scan scan;
    scan.frame = &frame_;
    scan.num_components = content[0];
    scan.restart_interval = restart_interval_;
    const std::uint8_t* selection = &content[1 + 2 * scan.num_components];
    if (frame_.is_progressive) {
        scan.first = selection[0];
        scan.last = selection[1];
        scan.high = selection[2] >> 4;
        scan.low = selection[2] & 15;
    }
    select_components(segment, scan);
    if (frame_.is_progressive) {
        check_progressive(scan, segment.begin);
    } else {
        check_sequential(scan, segment.begin);
    }
    for (std::size_t i = 0; i < scan.num_components; ++i) {
        auto& known = known_bit_[scan.components[i].index];
        for (std::size_t k = scan.first; k <= scan.last; ++k) known[k] = static_cast<std::int8_t>(scan.low);
    }
    latch_quantization(scan, segment.begin);
    return scan;
}

void CodingState::select_components(const Segment& segment, Scan& scan) {
    std::size_t blocks_in_mcu = 0;
    const Scan::Kind kind = scan.kind();
    const bool has_dc = kind == Scan::Kind::sequential || kind == Scan::Kind::dc_first;
    const bool has_ac = kind == Scan::Kind::sequential || kind == Scan::Kind::ac_first || kind == Scan::Kind::ac_refine;
    for (std::size_t i = 0; i < scan.num_components; ++i) {
        const std::uint8_t id = segment.content[1 + 2 * i];
        const std::uint8_t names = segment.content[2 + 2 * i];
        std::size_t index = 0;
        while (index < frame_.components.size() && frame_.components[index].id != id) ++index;
        if (index == frame_.components.size()) fail_damaged("jpeg scan has an unknown component", segment.begin);
        if (i != 0 && scan.components[i - 1].index >= index) {  // libjpeg-turbo does not read them either
            fail_unsupported("jpeg scan repeats a component, or has them in another order", segment.begin);
        }
        const FrameComponent& component = frame_.components[index];
        blocks_in_mcu += std::size_t{component.sampling.across} * component.sampling.down;
        scan.components[i] = {index, code(false, names >> 4, has_dc, segment.begin),
                              code(true, names & 15, has_ac, segment.begin)};
    }
    if (scan.is_interleaved()) {
        if (blocks_in_mcu > kMaxBlocksInMcu) fail_damaged("jpeg has too many blocks in an MCU", segment.begin);
        for (std::size_t i = 0; i < scan.num_components; ++i) codes_fills_[scan.components[i].index] = true;
    }
    const FrameComponent& only = frame_.components[scan.components[0].index];
    scan.mcus_wide = scan.is_interleaved() ? frame_.mcus_wide : only.blocks_wide;
    scan.mcus_high = scan.is_interleaved() ? frame_.mcus_high : only.blocks_high;
}

void CodingState::check_sequential(Scan& scan, std::size_t offset) {
    for (std::size_t i = 0; i < scan.num_components; ++i) {
        if (known_bit_[scan.components[i].index][0] >= 0) fail_unsupported("jpeg codes a component twice", offset);
    }
}

void CodingState::check_progressive(const Scan& scan, std::size_t offset) {
    const bool is_band = scan.first == 0
                             ? scan.last == 0
                             : scan.last >= scan.first && scan.last < kBlockCoefficients && scan.num_components == 1;
    if (!is_band || scan.low > kMaxApproximation || (scan.high != 0 && scan.low != scan.high - 1)) {
        fail_damaged("jpeg scan has impossible parameters", offset);
    }
    for (std::size_t i = 0; i < scan.num_components; ++i) {
        const auto& known = known_bit_[scan.components[i].index];
        if (scan.first != 0 && known[0] < 0) fail_unsupported("jpeg codes AC before DC", offset);
        for (std::size_t k = scan.first; k <= scan.last; ++k) {
            if (scan.high == 0 ? known[k] >= 0 : known[k] != scan.high) {
                fail_unsupported("jpeg repeats or omits bits of its coefficients", offset);
            }
        }
    }
}

void CodingState::latch_quantization(const Scan& scan, std::size_t offset) {
    for (std::size_t i = 0; i < scan.num_components; ++i) {
        const std::size_t index = scan.components[i].index;
        if (is_latched_[index]) continue;
        const std::size_t table = frame_.components[index].quantization_index;
        if (table > 3 || !has_quantization_[table]) fail_damaged("jpeg lacks a quantisation table", offset);
        latched_[index] = quantization_[table];
        is_latched_[index] = true;
    }
}

// Sequential files without codes (frames of Motion JPEG) mean the standard ones, as for libjpeg-turbo.
const HuffmanCode* CodingState::code(bool is_ac, std::size_t index, bool is_needed, std::size_t offset) const {
    if (!is_needed) return nullptr;
    if (index > 3) fail_damaged("jpeg scan names an impossible Huffman code", offset);
    const HuffmanCode* found = &codes_[is_ac ? 1 : 0][index];
    if (!found->is_defined && !frame_.is_progressive && index < 2) found = &standard_code(2 * index + (is_ac ? 1 : 0));
    if (!found->is_defined) fail_damaged("jpeg lacks a Huffman code", offset);
    if (!is_possible(*found)) fail_damaged("jpeg Huffman code is impossible", offset);
    std::size_t total = 0;
    for (std::size_t length = 1; length <= 16; ++length) total += found->counts[length];
    const auto is_too_large = [](std::uint8_t symbol) { return symbol > 15; };
    if (!is_ac && std::any_of(found->symbols.begin(), found->symbols.begin() + static_cast<std::ptrdiff_t>(total),
                              is_too_large)) {
        fail_damaged("jpeg Huffman code has an impossible symbol", offset);
    }
    return found;
}

bool CodingState::is_complete() const noexcept {
    for (std::size_t i = 0; i < frame_.components.size(); ++i) {
        if (std::ranges::any_of(known_bit_[i], [](std::int8_t bit) { return bit != 0; })) return false;
    }
    return has_frame();
}

FileWalk::FileWalk(ByteView data) : data_(data) {
    if (data.size() < 2 || data[0] != 0xFF || data[1] != kSoi) {
        throw Error(ErrorCode::corrupt, "jpeg data does not start with FF D8", at_byte("jpeg", 0),
                    "check that the file is a JPEG");
    }
}

std::optional<Segment> FileWalk::next() {
    for (;;) {
        if (position_ >= data_.size()) return std::nullopt;
        const void* found = std::memchr(&data_[position_], 0xFF, data_.size() - position_);
        if (found == nullptr) return std::nullopt;
        position_ = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - data_.data());
        while (position_ < data_.size() && data_[position_] == 0xFF) ++position_;
        if (position_ == data_.size()) return std::nullopt;
        const std::uint8_t marker = data_[position_++];
        if (marker == 0) continue;
        if (marker == kEoi) return std::nullopt;
        if (stands_alone(marker)) return Segment{marker, position_, {}};
        if (data_.size() - position_ < 2) return std::nullopt;
        const std::size_t length = load_u16(&data_[position_]);
        if (length < 2) fail_damaged("a jpeg segment claims a length below 2", position_);
        if (data_.size() - position_ < length) return std::nullopt;
        const Segment segment{marker, position_, data_.subspan(position_ + 2, length - 2)};
        position_ += length;
        return segment;
    }
}

}  // namespace penstock::jpeg
