// How a table of files, and places in them, cross to Python.
#pragma once

#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "records/source_files.h"

namespace penstock::bindings {

/// Object that Python holds. Tasks share the table inside and end on any thread. A shared pointer to the Python object
/// itself would take the GIL there, while the thread that holds the GIL may be waiting for that very thread.
struct FilesHandle {
    std::shared_ptr<const SourceFiles> files;
    nanobind::object read;  ///< the function that reads objects of a store; none for files of a local disk
};

using PieceColumn = nanobind::ndarray<const std::int64_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
/// Number of pieces of each image, and offset, length, offset, length… of all of them.
using PieceColumns = std::pair<PieceColumn, PieceColumn>;

[[nodiscard]] inline std::vector<Pieces> pieces_of(const PieceColumns& columns, std::size_t count) {
    const auto& [counts, places] = columns;
    std::vector<Pieces> pieces(count);
    std::size_t next = 0;
    bool fits = counts.size() == count;
    for (std::size_t i = 0; fits && i < count; ++i) {
        const auto own = static_cast<std::uint64_t>(counts.data()[i]);
        fits = own <= (places.size() - next) / 2;
        for (std::uint64_t piece = 0; fits && piece < own; ++piece, next += 2) {
            pieces[i].emplace_back(places.data()[next], places.data()[next + 1]);
            fits = places.data()[next] >= 0 && places.data()[next + 1] >= 0;
        }
    }
    if (fits && next == places.size()) return pieces;
    throw Error(ErrorCode::bad_argument, "pieces do not fit the images", "pieces",
                "give a count for every image, and an offset and a length for every piece");
}

}  // namespace penstock::bindings
