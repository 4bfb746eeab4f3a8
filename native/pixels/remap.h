// Other labels for masks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/image.h"
#include "pixels/operations.h"

namespace penstock {

/// The Remaps of a chain, joined: a label for every label.
class RemapTable {
  public:
    void append(const RemapOperation& operation);
    [[nodiscard]] bool empty() const noexcept { return table_.empty(); }

    /// Changes `samples` of a row in place. Throws `bad_argument` if an 8-bit mask would get a label above 255.
    void apply(std::uint8_t* row, std::size_t samples, std::uint8_t sample_bytes) const;

  private:
    std::vector<std::uint16_t> table_;  ///< empty, or 65536
    bool bytes_ = true;                 ///< whether labels up to 255 stay below 256
};

}  // namespace penstock
