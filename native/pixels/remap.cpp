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

void RemapTable::apply(std::uint8_t* row, std::size_t samples, std::uint8_t sample_bytes) const {
    if (sample_bytes == 2) {
        auto* labels = reinterpret_cast<std::uint16_t*>(row);
        for (std::size_t i = 0; i < samples; ++i) labels[i] = table_[labels[i]];
        return;
    }
    if (!bytes_) {
        throw Error(ErrorCode::bad_argument, "Remap gives labels above 255 to a mask of 8 bits", "transforms",
                    "map to labels from 0 to 255, or store the mask with 16 bits");
    }
    for (std::size_t i = 0; i < samples; ++i) row[i] = static_cast<std::uint8_t>(table_[row[i]]);
}

}  // namespace penstock
