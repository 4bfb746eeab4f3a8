// One fuzz target per codec (PENSTOCK_FUZZ_CODEC). Whatever the bytes are, a decoder gives pixels or throws `Error`;
// it writes every pixel of its output and nothing else; and a region equals the crop of the whole, on every SIMD path.
// Metadata that is read from it can be stored and read again.
//
// The region, the scale and the options are drawn from a hash of the input, so that a corpus holds plain images.
#include "codecs/decode.h"

#include <cstdint>
#include <cstring>
#include <optional>

#include "base/cpu.h"
#include "base/error.h"
#include "codecs/embed.h"
#include "codecs/metadata.h"
#include "codecs/table.h"
#include "harness.h"
#include "repair.h"

namespace {

using namespace penstock;
using namespace penstock::fuzz;

constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 20;
constexpr std::uint8_t kWholePoison = 0x5a;
constexpr std::uint8_t kRegionPoison = 0xa5;

void check_region(const Codec& codec, ByteView data, DecodeOptions options, Target& whole, const Region& region) {
    options.region = region;
    std::optional<Target> part = decode(codec, data, options, kRegionPoison);
    if (!part) fail("the whole decodes, a region of it does not");
    const PixelShape shape = whole.view().shape;
    const std::size_t pixel_bytes = std::size_t{shape.channels} * shape.sample_bytes;
    for (std::uint32_t y = 0; y < region.height; ++y) {
        const std::uint8_t* expected = whole.view().row(region.y + y) + region.x * pixel_bytes;
        if (std::memcmp(part->view().row(y), expected, region.width * pixel_bytes) != 0) {
            fail("a region differs from the crop, or pixels were left unwritten");
        }
    }
}

void check_decode(const Codec& codec, ByteView data, const DecodeOptions& options, Draw& draw) {
    // The whole on any path, its regions on the best one: paths that differ are found as well.
    const std::uint32_t path = draw.below(static_cast<std::uint32_t>(simd_paths().size()));
    const bool is_jpeg = codec.name() == "jpeg" || codec.name() == "pjpeg";
    force_simd_path(kLibjpegHasVectors || !is_jpeg ? simd_paths()[path] : best_simd_path());
    std::optional<Target> whole = decode(codec, data, options, kWholePoison);
    force_simd_path(best_simd_path());
    if (whole) {
        const PixelShape shape = whole->view().shape;
        check_region(codec, data, options, *whole, draw_region(draw, shape));
        check_region(codec, data, options, *whole, {0, 0, shape.height, shape.width});
    } else {
        if (decode(codec, data, options, kWholePoison)) fail("one SIMD path refuses what another accepts");
        // The header may still be good; a region may decode, but must not crash.
        DecodeOptions corner = options;
        corner.region = Region{0, 0, 1 + draw.below(8), 1 + draw.below(8)};
        try {
            (void)plan_decode(codec, data, corner);
        } catch (const Error&) {
            return;  // it does not fit, or the header is bad
        }
        (void)decode(codec, data, corner, kRegionPoison);
    }
}

void check_metadata(ByteView data) {
    Metadata metadata;
    try {
        metadata = read_metadata(data);
    } catch (const Error&) {
        return;
    }
    const ByteBuffer block = metadata.block();
    if (read_metadata_block(block.view()).size() != metadata.kept().size()) fail("stored metadata has other entries");
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* bytes, std::size_t size, std::size_t max_size);

// Most mutations get their checksums repaired: a decoder that refuses them all at the first one shows little.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    size = LLVMFuzzerMutate(bytes, size, max_size);
    if (seed % 4 != 0) fuzz::repair_checksums({bytes, size});
    return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const Codec* codec = find_codec(PENSTOCK_FUZZ_CODEC);
    if (codec == nullptr) fail("is not in the table");
    const ByteView data(bytes, size);
    (void)codec->sniff(data);
    check_metadata(data);
    Draw draw(data);
    DecodeOptions options;
    options.max_pixels = kMaxPixels;
    options.palette_indices = draw.below(4) == 0;
    options.orient = draw.below(4) == 0;
    options.fast = draw.below(4) == 0;
    options.verify = draw.below(4) == 0;
    check_decode(*codec, data, options, draw);
    options.scale = 2U << draw.below(3);
    if (codec->can_scale(options.scale)) check_decode(*codec, data, options, draw);
    return 0;
}
