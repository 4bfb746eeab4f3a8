#include "codecs/pnm_header.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"
#include "codecs/codec.h"

namespace penstock::pnm {

namespace {

constexpr const char* kRestore = "the file is damaged: restore it from its source";
constexpr std::size_t kMaxHeaderBytes = 1 << 16;  // of a PAM; comments included
constexpr std::uint32_t kMaxNumber = 0x7fffffff;

bool is_blank(std::uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(std::uint8_t c) { return c >= '0' && c <= '9'; }

[[noreturn]] void refuse(ErrorCode code, std::string what, std::size_t offset) {
    throw Error(code, std::move(what), at_byte("pnm", offset), kRestore);
}

void check(const Header& header, std::size_t offset) {
    if (header.max_value == 0 || header.max_value > 65535) {
        refuse(ErrorCode::corrupt, "largest value " + std::to_string(header.max_value) + " is not from 1 to 65535",
               offset);
    }
    if (header.channels == 0 || header.channels > 4) {
        throw Error(ErrorCode::unsupported, "pam with " + std::to_string(header.channels) + " channels",
                    at_byte("pnm", offset), "split it into images of 1 to 4 channels");
    }
}

// PAM: words with a value, in any order, until ENDHDR.
Header read_pam_header(ByteView data) {
    TextReader text(data.first(std::min(data.size(), kMaxHeaderBytes)), 2);
    Header header{'7', 0, 0, 0, 0, 0};
    while (true) {
        const std::size_t offset = text.offset();
        const std::string_view key = text.word();
        if (key == "ENDHDR") break;
        if (key == "TUPLTYPE") {
            text.skip_line();  // the number of channels says it already
        } else if (key == "WIDTH") {
            header.width = text.number();
        } else if (key == "HEIGHT") {
            header.height = text.number();
        } else if (key == "DEPTH") {
            header.channels = text.number();
        } else if (key == "MAXVAL") {
            header.max_value = text.number();
        } else {
            refuse(ErrorCode::corrupt, "the header has a word that no pam has", offset);
        }
    }
    text.end_header();
    header.pixel_offset = text.offset();
    return header;
}

}  // namespace

void TextReader::skip_blanks() {
    while (at_ < data_.size()) {
        if (data_[at_] == '#') {
            skip_line();
        } else if (is_blank(data_[at_])) {
            ++at_;
        } else {
            return;
        }
    }
    refuse(ErrorCode::truncated, "pnm data ends where a number is due", at_);
}

std::uint32_t TextReader::number() {
    skip_blanks();
    const std::size_t begin = at_;
    std::uint64_t value = 0;
    while (at_ < data_.size() && is_digit(data_[at_])) {
        value = value * 10 + (data_[at_++] - '0');
        if (value > kMaxNumber) refuse(ErrorCode::corrupt, "a number of the pnm is above 2147483647", begin);
    }
    if (at_ == begin) refuse(ErrorCode::corrupt, "something else stands where a number is due", at_);
    return static_cast<std::uint32_t>(value);
}

std::uint32_t TextReader::bit() {
    skip_blanks();
    const std::uint8_t digit = data_[at_];
    if (digit != '0' && digit != '1') refuse(ErrorCode::corrupt, "something else stands where a 0 or 1 is due", at_);
    ++at_;
    return digit - '0';
}

std::string_view TextReader::word() {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < data_.size() && !is_blank(data_[at_])) ++at_;
    return {reinterpret_cast<const char*>(data_.data() + begin), at_ - begin};
}

void TextReader::skip_line() noexcept {
    while (at_ < data_.size() && data_[at_] != '\n') ++at_;
}

void TextReader::end_header() {
    if (at_ >= data_.size()) refuse(ErrorCode::truncated, "pnm data ends behind its header", at_);
    if (!is_blank(data_[at_])) refuse(ErrorCode::corrupt, "no white space follows the header", at_);
    ++at_;
}

bool is_pnm(ByteView data) noexcept {
    return data.size() >= 3 && data[0] == 'P' && data[1] >= '1' && data[1] <= '7' &&
           (is_blank(data[2]) || data[2] == '#');
}

Header read_header(ByteView data) {
    if (!is_pnm(data)) {
        refuse(data.size() < 3 ? ErrorCode::truncated : ErrorCode::corrupt, "data does not start like a pnm", 0);
    }
    Header header;
    if (data[1] == '7') {
        header = read_pam_header(data);
    } else {
        TextReader text(data, 2);
        header.kind = static_cast<char>(data[1]);
        header.channels = header.kind == '3' || header.kind == '6' ? 3 : 1;
        header.width = text.number();
        header.height = text.number();
        header.max_value = header.is_bitmap() ? 1 : text.number();
        text.end_header();
        header.pixel_offset = text.offset();
    }
    check(header, header.pixel_offset);
    return header;
}

}  // namespace penstock::pnm
