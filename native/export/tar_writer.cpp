#include "export/tar_writer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "base/error.h"

namespace penstock {

namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kNameBytes = 100;
constexpr std::size_t kChecksumAt = 148;
constexpr std::size_t kMostBytes = (std::size_t{1} << 33) - 1;  // eleven octal digits

using Header = std::array<std::uint8_t, kBlock>;

void put_text(Header& header, std::size_t at, std::string_view text) {
    std::memcpy(header.data() + at, text.data(), text.size());
}

// Octal digits, zeros in front, and a zero byte behind.
void put_number(Header& header, std::size_t at, std::size_t digits, std::uint64_t value) {
    for (std::size_t i = digits; i-- > 0; value >>= 3) header[at + i] = static_cast<std::uint8_t>('0' + (value & 7));
}

Header header_of(std::string_view name, char type, std::size_t size) {
    Header header{};
    put_text(header, 0, name.substr(0, kNameBytes));
    put_number(header, 100, 7, 0644);
    put_number(header, 108, 7, 0);
    put_number(header, 116, 7, 0);
    put_number(header, 124, 11, size);
    put_number(header, 136, 11, 0);
    header[156] = static_cast<std::uint8_t>(type);
    put_text(header, 257, std::string_view("ustar\00000", 8));
    std::fill_n(header.begin() + kChecksumAt, 8, std::uint8_t{' '});
    const auto sum = std::accumulate(header.begin(), header.end(), std::uint64_t{0});
    put_number(header, kChecksumAt, 6, sum);
    header[kChecksumAt + 6] = 0;
    return header;
}

bool is_plain(std::string_view name) {
    return name.size() <= kNameBytes && std::all_of(name.begin(), name.end(), [](char c) { return (c & 0x80) == 0; });
}

// "LENGTH path=NAME\n", where LENGTH counts its own digits too.
std::string pax_record(std::string_view name) {
    const std::size_t rest = std::string_view(" path=\n").size() + name.size();
    std::size_t length = rest + 1;
    while (std::to_string(length).size() + rest != length) ++length;
    return std::to_string(length) + " path=" + std::string(name) + "\n";
}

}  // namespace

void TarWriter::add(std::string_view name, ByteView content) {
    if (!is_plain(name)) {
        const std::string record = pax_record(name);
        add_block("PaxHeader", 'x', {reinterpret_cast<const std::uint8_t*>(record.data()), record.size()});
    }
    add_block(name, '0', content);
}

void TarWriter::add_block(std::string_view name, char type, ByteView content) {
    if (content.size() > kMostBytes) {
        throw Error(ErrorCode::too_large, "a tar archive takes files below 8 GiB", std::string(name),
                    "export to a folder instead");
    }
    const Header header = header_of(name, type, content.size());
    file_.append(header);
    file_.append(content);
    file_.pad_to(kBlock);
}

void TarWriter::publish(const std::string& path) {
    const std::array<std::uint8_t, 2 * kBlock> end{};
    file_.append(end);
    file_.publish(path);
}

}  // namespace penstock
