#include "codecs/jpeg_quality.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "codecs/codec.h"
#include "codecs/jpeg_header.h"
#include "codecs/jpeg_segments.h"

namespace penstock::jpeg {

namespace {

// ITU-T T.81, table K.1: what libjpeg scales to a quality. The order does not matter to a sum.
constexpr std::array<std::uint32_t, 64> kLuma{
    16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55,  //
    14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62,  //
    18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92,  //
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
};

std::uint32_t luma_sum_at(int quality) {
    const auto q = static_cast<std::uint32_t>(quality);
    const std::uint32_t percent = q < 50 ? 5000 / q : 200 - 2 * q;
    std::uint32_t sum = 0;
    for (const std::uint32_t step : kLuma) sum += std::clamp((step * percent + 50) / 100, 1u, 255u);
    return sum;
}

// Sums of the tables of a DQT segment, by table number.
void add_tables(ByteView content, std::array<std::optional<std::uint32_t>, 4>& sums) {
    while (!content.empty()) {
        const std::size_t step_bytes = (content[0] >> 4) != 0 ? 2 : 1;
        const std::size_t table = content[0] & 15;
        if (table > 3 || content.size() < 1 + 64 * step_bytes) return;  // the decoder will say so
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint8_t* step = &content[1 + i * step_bytes];
            sum += step_bytes == 2 ? std::uint32_t{step[0]} << 8 | step[1] : step[0];
        }
        sums[table] = sum;
        content = content.subspan(1 + 64 * step_bytes);
    }
}

}  // namespace

bool is_at_most(ByteView data, int quality) {
    if (quality < 1) return false;
    if (quality > 100) return true;
    std::array<std::optional<std::uint32_t>, 4> sums;
    std::size_t luma_table = 0;
    MarkerWalk walk(data);
    for (;;) {
        const Segment segment = walk.next();
        if (segment.marker == kDqt) add_tables(segment.content, sums);
        if (is_frame(segment.marker) && segment.content.size() >= 9) luma_table = segment.content[8] & 3;
        if (segment.marker == kSos || segment.marker == kEoi) break;
    }
    return sums[luma_table].has_value() && *sums[luma_table] >= luma_sum_at(quality);
}

void check_end(ByteView data) {
    // A thumbnail in the header has an end of its own. From behind, because files are mostly whole.
    const ByteView scans = data.subspan(read_header(data).scan_begin);
    for (std::size_t end = scans.size(); end >= 2;) {
        const void* found = ::memrchr(scans.data(), kEoi, end);
        if (found == nullptr) break;
        end = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - scans.data());
        if (end >= 1 && scans[end - 1] == 0xFF) return;
    }
    throw Error(ErrorCode::truncated, "jpeg data has no end marker: it was cut off", at_byte("jpeg", data.size()),
                "the file is damaged: restore it from its source");
}

}  // namespace penstock::jpeg
