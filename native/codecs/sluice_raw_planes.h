// Raw bits of a tile that is being encoded: planes, and signs that ride in the states while there is room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "codecs/sluice.h"

namespace penstock::sluice {

/// Collects bits, the least significant bit of each byte first.
class BitWriter {
  public:
    explicit BitWriter(std::vector<std::uint8_t>& out) : out_(out) {}

    void put(std::uint64_t bits, unsigned count) {
        pending_ |= bits << num_pending_;
        const unsigned taken = std::min(count, 64 - num_pending_);
        num_pending_ += taken;
        if (num_pending_ < 64) return;
        append(8);
        pending_ = taken < 64 ? bits >> taken : 0;
        num_pending_ = count - taken;
    }
    void finish() {
        append((num_pending_ + 7) / 8);
        pending_ = 0;
        num_pending_ = 0;
    }

  private:
    void append(std::size_t num_bytes) {
        std::uint8_t bytes[8];
        std::memcpy(bytes, &pending_, sizeof bytes);
        out_.insert(out_.end(), bytes, bytes + num_bytes);
    }

    std::vector<std::uint8_t>& out_;
    std::uint64_t pending_ = 0;
    unsigned num_pending_ = 0;
};

/// A plane: one bit for each lane that takes part, in order of lanes.
struct Plane {
    std::uint64_t bits = 0;
    unsigned count = 0;

    void add(bool bit) noexcept { bits |= std::uint64_t{bit} << count++; }
    /// Adds a bit if `takes_part` is 1, without a branch. There are fewer than 64 bits so far.
    void add_if(unsigned takes_part, unsigned bit) noexcept {
        bits |= std::uint64_t{bit & takes_part} << count;
        count += takes_part;
    }
};

/// Writes the planes of a tile in the order of decoding.
class RawPlanes {
  public:
    explicit RawPlanes(TileSymbols& tile) : tile_(tile), bits_(tile.raw) {}

    /// Starts another tile, whose number of states is known.
    void begin() {
        tile_.raw.clear();
        tile_.payload.fill(0);
        num_deferred_ = 0;
        defers_ = true;
    }
    void put(const Plane& plane) { bits_.put(plane.bits, plane.count); }
    /// Puts signs into the states while there is room.
    void put_deferrable(const Plane& plane) {
        if (plane.count == 0) return;
        defers_ = defers_ && num_deferred_ + plane.count <= kPayloadBits * tile_.num_states;
        if (!defers_) {
            put(plane);
            return;
        }
        std::uint64_t bits = plane.bits;
        for (std::size_t left = plane.count; left != 0;) {
            const std::size_t used = num_deferred_ % kPayloadBits;
            const std::size_t taken = std::min(left, kPayloadBits - used);
            tile_.payload[num_deferred_ / kPayloadBits] |= static_cast<std::uint16_t>(bits << used);
            bits >>= taken;
            num_deferred_ += taken;
            left -= taken;
        }
    }
    void finish() { bits_.finish(); }

  private:
    TileSymbols& tile_;
    BitWriter bits_;
    std::size_t num_deferred_ = 0;
    bool defers_ = true;
};

}  // namespace penstock::sluice
