// The bits of an entropy-coded JPEG segment, most significant first, with the stuffed zero bytes taken out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::jpeg {

/// Reads up to a marker or the end of the data; past that come zeros, which `overrun` tells apart.
///
/// Made to live in registers: copy it into a local, use that, copy it back. What files of several SIMD paths call is
/// always inlined, so that none of them leaves a copy to the others (docs/decisions/0001).
class BitReader {
  public:
    BitReader() = default;
    BitReader(const std::uint8_t* begin, const std::uint8_t* end) noexcept
        : next_(begin), clear_end_(begin), end_(end) {}

    /// Has 56 bits or more in store afterwards.
    [[gnu::always_inline]] void refill() noexcept {
        if (clear_end_ - next_ >= 8) [[likely]] {
            // Bits below `num_bits_` may be there already; they are the same bits, so or-ing them again does no harm.
            buffer_ |= load_big_endian(next_) >> num_bits_;
            next_ += (63 - num_bits_) >> 3;
            num_bits_ |= 56;
            return;
        }
        BitReader copy = *this;  // only the copy's address is taken, so that `*this` stays in registers
        copy.refill_by_byte();
        *this = copy;
    }

    /// The next `count` bits, 1 to 16.
    [[nodiscard]] [[gnu::always_inline]] std::size_t peek(unsigned count) const noexcept {
        return buffer_ >> (64 - count);
    }

    [[gnu::always_inline]] void consume(unsigned count) noexcept {
        buffer_ <<= count;
        num_bits_ -= count;
    }

    /// Takes the `size` (0 to 15) bits of a coefficient and gives its value.
    [[gnu::always_inline]] int receive(unsigned size) noexcept {
        const int magnitude = static_cast<int>(buffer_ >> 1 >> (63 - size));
        const int negative = static_cast<std::int64_t>(buffer_) < 0 ? 0 : -1;  // a leading zero bit means so
        consume(size);
        return magnitude + (negative & ((-1 << size) + 1));
    }

    /// Whether bits were consumed that the segment does not have.
    [[nodiscard]] bool overrun() const noexcept { return num_bits_ < num_padding_; }

    /// The first byte that is not in store: at the latest the marker that ends the segment.
    [[nodiscard]] const std::uint8_t* next() const noexcept { return next_; }

  private:
    [[gnu::always_inline]] static std::uint64_t load_big_endian(const std::uint8_t* bytes) noexcept {
        std::uint64_t value = 0;
        for (int i = 0; i < 8; ++i) value = value << 8 | bytes[i];  // one instruction in the end
        return value;
    }

    void refill_by_byte() noexcept;

    std::uint64_t buffer_ = 0;  // left-aligned
    unsigned num_bits_ = 0;     // in store, padding included
    unsigned num_padding_ = 0;  // zeros at the end of them that stand for nothing
    const std::uint8_t* next_ = nullptr;
    const std::uint8_t* clear_end_ = nullptr;  // no 0xFF between `next_` and here
    const std::uint8_t* end_ = nullptr;
};

}  // namespace penstock::jpeg
