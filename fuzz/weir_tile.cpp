// One tile of Weir: three bytes of shape, then the tile. Whatever the bytes are, every SIMD path gives the same pixels
// or refuses, whatever lies behind the tile, and writes nothing beside the pixels. A corner of a tile that decodes
// equals the crop.
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "base/cpu.h"
#include "codecs/weir.h"
#include "harness.h"

namespace {

using namespace penstock;
using namespace penstock::fuzz;

constexpr std::size_t kShapeBytes = 3;
constexpr std::array<std::uint8_t, 2> kFillers{0x00, 0xff};  // behind the tile, and between rows of the output

weir::TileShape read_shape(ByteView bytes) {
    weir::TileShape shape;
    shape.profile = (bytes[0] & 1) != 0 ? weir::Profile::dense : weir::Profile::fast;
    shape.channels = static_cast<std::uint8_t>(1 + (bytes[0] >> 1 & 3));
    shape.sample_bytes = static_cast<std::uint8_t>(1 + (bytes[0] >> 3 & 1));
    shape.width = static_cast<std::uint8_t>(1 + bytes[1] % 64);
    shape.height = static_cast<std::uint8_t>(1 + bytes[2] % 64);
    return shape;
}

std::vector<std::uint8_t> pixels_of(Target& target) {
    std::vector<std::uint8_t> pixels;
    const ImageView view = target.view();
    for (std::uint32_t y = 0; y < view.shape.height; ++y) {
        pixels.insert(pixels.end(), view.row(y), view.row(y) + view.shape.row_bytes());
    }
    return pixels;
}

// The pixels of the top left corner (`shape.width` and `rows` may be less than the tile has) on the active path, or
// nothing if the tile is refused. `filler` is behind the tile.
std::optional<std::vector<std::uint8_t>> decode(ByteView tile, const weir::TileShape& shape, std::uint32_t rows,
                                                std::uint8_t filler) {
    std::vector<std::uint8_t> padded(tile.begin(), tile.end());
    padded.resize(tile.size() + weir::kTileSlack, filler);
    Target target({rows, shape.width, shape.channels, shape.sample_bytes}, filler);
    weir::TileJob job{shape, {}, target.view().data, target.view().row_stride, rows};
    if (weir::parse_tile(ByteView(padded).first(tile.size()), shape, job.parts) != weir::TileFault::none) {
        return std::nullopt;
    }
    if (job.parts.all_constant(shape.channels)) {
        weir::fill_tile(job);
    } else if (weir::active_decode_tile()(job) != weir::TileFault::none) {
        target.check_gaps();
        return std::nullopt;
    }
    target.check_gaps();
    return pixels_of(target);
}

std::vector<std::uint8_t> crop(const std::vector<std::uint8_t>& pixels, const weir::TileShape& whole,
                               std::uint32_t rows, std::uint32_t columns) {
    std::vector<std::uint8_t> part;
    for (std::uint32_t y = 0; y < rows; ++y) {
        const auto row = pixels.begin() + static_cast<std::ptrdiff_t>(y * whole.width * whole.pixel_bytes());
        part.insert(part.end(), row, row + static_cast<std::ptrdiff_t>(columns * whole.pixel_bytes()));
    }
    return part;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < kShapeBytes) return 0;
    const weir::TileShape shape = read_shape({bytes, kShapeBytes});
    const ByteView tile(bytes + kShapeBytes, size - kShapeBytes);
    weir::TileParts parts;
    if (weir::parse_tile(tile, shape, parts) != weir::TileFault::none) return 0;
    force_simd_path(SimdPath::portable);
    const auto expected = decode(tile, shape, shape.height, kFillers[0]);
    Draw draw(tile);
    const std::uint32_t rows = 1 + draw.below(shape.height);
    weir::TileShape narrow = shape;
    narrow.width = static_cast<std::uint8_t>(1 + draw.below(shape.width));
    for (const SimdPath path : simd_paths()) {
        force_simd_path(path);
        for (const std::uint8_t filler : kFillers) {
            const auto found = decode(tile, shape, shape.height, filler);
            if (found.has_value() != expected.has_value()) fail("one SIMD path refuses what another accepts");
            if (found != expected) fail("a path, or what lies behind the tile, changes pixels");
            const auto corner = decode(tile, narrow, rows, filler);
            if (expected && corner != crop(*expected, shape, rows, narrow.width))
                fail("a corner differs from the crop");
        }
    }
    return 0;
}
