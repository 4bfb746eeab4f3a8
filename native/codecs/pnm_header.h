// The text header of a PNM: P1 to P6 and PAM (P7).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/image.h"

namespace penstock::pnm {

struct Header {
    char kind = '5';  ///< the digit after 'P'
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::uint32_t channels = 1;
    std::uint32_t max_value = 255;  ///< of a sample; 1 for bitmaps
    std::size_t pixel_offset = 0;

    [[nodiscard]] bool is_text() const noexcept { return kind <= '3'; }
    [[nodiscard]] bool is_bitmap() const noexcept { return kind == '1' || kind == '4'; }
    [[nodiscard]] std::uint8_t sample_bytes() const noexcept { return max_value > 255 ? 2 : 1; }
};

/// Returns whether `data` starts with 'P', a digit from 1 to 7 and white space (or a comment).
[[nodiscard]] bool is_pnm(ByteView data) noexcept;

[[nodiscard]] Header read_header(ByteView data);

/// Reads numbers written as text, skipping white space and comments (from '#' to the end of the line).
class TextReader {
  public:
    TextReader(ByteView data, std::size_t offset) : data_(data), at_(offset) {}

    /// The next number, at most 2^31 - 1; throws `truncated` or `corrupt`.
    [[nodiscard]] std::uint32_t number();
    /// The next '0' or '1', which may touch its neighbours.
    [[nodiscard]] std::uint32_t bit();
    /// The next run of characters that are not white space.
    [[nodiscard]] std::string_view word();
    void skip_line() noexcept;
    /// Steps over the single white space that ends a header.
    void end_header();

    [[nodiscard]] std::size_t offset() const noexcept { return at_; }

  private:
    void skip_blanks();

    ByteView data_;
    std::size_t at_;
};

}  // namespace penstock::pnm
