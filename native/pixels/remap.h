// Changes the labels of masks.
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

    /// The label that a label becomes.
    [[nodiscard]] std::uint16_t operator()(std::uint16_t label) const noexcept {
        return table_.empty() ? label : table_[label];
    }
    /// A mask with its labels changed. Throws `bad_argument` if an 8-bit mask would get a label above 255.
    void apply(ConstImageView mask, ImageView out) const;

  private:
    std::vector<std::uint16_t> table_;  ///< empty, or 65536
    bool bytes_ = true;                 ///< whether labels up to 255 stay below 256
};

}  // namespace penstock
