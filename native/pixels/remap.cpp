#include "pixels/remap.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace penstock {

void RemapTable::append(const RemapOperation& operation) {
    if (table_.empty()) {
        table_.resize(65536);
        std::iota(table_.begin(), table_.end(), std::uint16_t{0});
    }
    for (std::uint16_t& label : table_) {
        if (label < operation.table.size()) {
            label = operation.table[label];
        } else if (operation.otherwise) {
            label = *operation.otherwise;
        }
    }
    bytes_ = std::all_of(table_.begin(), table_.begin() + 256, [](std::uint16_t label) { return label < 256; });
}

void RemapTable::apply(ConstImageView mask, ImageView out) const {
    if (mask.shape.sample_bytes == 1 && !bytes_) {
        throw Error(ErrorCode::bad_argument, "Remap gives labels above 255 to a mask of 8 bits", "transforms",
                    "map to labels from 0 to 255, or store the mask with 16 bits");
    }
    const std::size_t samples = std::size_t{mask.shape.width} * mask.shape.channels;
    for (std::uint32_t y = 0; y < mask.shape.height; ++y) {
        if (mask.shape.sample_bytes == 1) {
            const std::uint8_t* from = mask.row(y);
            std::uint8_t* to = out.row(y);
            for (std::size_t i = 0; i < samples; ++i) to[i] = static_cast<std::uint8_t>(table_[from[i]]);
        } else {
            const auto* from = reinterpret_cast<const std::uint16_t*>(mask.row(y));
            auto* to = reinterpret_cast<std::uint16_t*>(out.row(y));
            for (std::size_t i = 0; i < samples; ++i) to[i] = table_[from[i]];
        }
    }
}

}  // namespace penstock
