// A JPEG's segments, one after the other, up to its first scan.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/image.h"

namespace penstock::jpeg {

enum Marker : std::uint8_t {
    kTem = 0x01,
    kSof0 = 0xC0,
    kSof1 = 0xC1,
    kSof2 = 0xC2,
    kSof3 = 0xC3,
    kDht = 0xC4,
    kJpg = 0xC8,
    kSof9 = 0xC9,
    kSof10 = 0xCA,
    kSof11 = 0xCB,
    kDac = 0xCC,
    kSof15 = 0xCF,
    kRst0 = 0xD0,
    kRst7 = 0xD7,
    kSoi = 0xD8,
    kEoi = 0xD9,
    kSos = 0xDA,
    kDqt = 0xDB,
    kDri = 0xDD,
    kApp0 = 0xE0,
    kApp1 = 0xE1,
    kApp2 = 0xE2,
    kApp9 = 0xE9,
    kApp14 = 0xEE,
    kApp15 = 0xEF,
    kCom = 0xFE,
};

[[nodiscard]] inline bool is_frame(std::uint8_t marker) noexcept {
    return marker >= kSof0 && marker <= kSof15 && marker != kDht && marker != kJpg && marker != kDac;
}

/// A marker and the content of its segment, length field excluded.
struct Segment {
    std::uint8_t marker = 0;
    std::size_t begin = 0;
    ByteView content;
};

/// Steps from segment to segment; bytes between them are skipped, as libjpeg skips them.
class MarkerWalk {
  public:
    /// Throws `truncated` or `corrupt` if the data does not start as a JPEG does.
    explicit MarkerWalk(ByteView data);

    /// Throws `truncated` if the data ends first, `corrupt` for a segment that cannot be.
    [[nodiscard]] Segment next();

    [[nodiscard]] std::size_t position() const noexcept { return position_; }
    /// Goes on from a later byte: behind entropy-coded data, which is no segment.
    void move_to(std::size_t position) noexcept { position_ = position; }

  private:
    std::uint8_t next_marker();
    void need(std::size_t bytes) const;

    ByteView data_;
    std::size_t position_ = 2;
};

}  // namespace penstock::jpeg
