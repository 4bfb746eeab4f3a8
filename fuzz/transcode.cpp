// Lossless transcoding of a JPEG. Whatever the bytes are, a transcode gives a file or throws `Error`. The file decodes
// to the pixels of the source, whole and in regions, keeps its metadata, and can be cut into its scans.
//
// The coding, the order of the segments and the region are drawn from a hash of the input: a corpus holds plain JPEGs.
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "codecs/decode.h"
#include "codecs/jpeg.h"
#include "codecs/jpeg_quality.h"
#include "codecs/jpeg_rows.h"
#include "codecs/jpeg_scans.h"
#include "codecs/jpeg_segments.h"
#include "codecs/metadata.h"
#include "codecs/table.h"
#include "harness.h"

namespace {

using namespace penstock;
using namespace penstock::fuzz;

constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 16;

struct Coding {
    bool progressive = false;
    bool restart = false;
    jpeg::SegmentOrder order = jpeg::SegmentOrder::in_front;

    [[nodiscard]] Parameters parameters() const {
        std::vector<std::pair<std::string, std::string>> items;
        if (progressive) items.emplace_back("progressive", "true");
        if (restart) items.emplace_back("restart", "true");
        return Parameters(std::move(items));
    }
};

// As a build asks for: `pjpeg`, or `jpeg` with any of its codings.
Coding draw_coding(Draw& draw) {
    if (draw.below(2) == 0) return {true, false, jpeg::SegmentOrder::behind};
    return {draw.below(3) == 0, draw.below(2) == 0, jpeg::SegmentOrder::in_front};
}

std::optional<ByteBuffer> transcode(ByteView data, const Coding& coding) {
    try {
        return jpeg::transcode(data, coding.parameters(), kMaxPixels, coding.order);
    } catch (const Error& error) {
        check_error(error);
        return std::nullopt;
    }
}

DecodeOptions limited() {
    DecodeOptions options;
    options.max_pixels = kMaxPixels;
    options.plain = !kLibjpegHasVectors;
    return options;
}

void check_same(Target& found, Target& expected) {
    const PixelShape shape = expected.view().shape;
    if (!(found.view().shape == shape)) fail("transcoding changes the shape");
    for (std::uint32_t y = 0; y < shape.height; ++y) {
        if (std::memcmp(found.view().row(y), expected.view().row(y), shape.row_bytes()) != 0) {
            fail("transcoding changes pixels, or leaves some unwritten");
        }
    }
}

void check_region(const Codec& codec, ByteView coded, Target& whole, Draw& draw) {
    DecodeOptions options = limited();
    const PixelShape shape = whole.view().shape;
    const Region region = draw_region(draw, shape);
    options.region = region;
    std::optional<Target> part = decode(codec, coded, options, 0xa5);
    if (!part) fail("a region of what was transcoded is refused");
    for (std::uint32_t y = 0; y < region.height; ++y) {
        const std::uint8_t* expected = whole.view().row(region.y + y) + region.x * shape.channels;
        if (std::memcmp(part->view().row(y), expected, part->view().shape.row_bytes()) != 0) {
            fail("a region of what was transcoded differs from the crop");
        }
    }
}

// Pieces add up to the file, and any number of them from the first on is refused or decoded, never worse.
void check_pieces(ByteView coded, Draw& draw) {
    for (const char* const groups : {"all", "1+2+5+10"}) {
        const std::vector<std::size_t> lengths = jpeg::ScanGroups(groups).piece_lengths(coded);
        if (std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}) != coded.size())
            fail("pieces do not add up");
        const auto count = static_cast<std::ptrdiff_t>(1 + draw.below(static_cast<std::uint32_t>(lengths.size())));
        const std::size_t size = std::accumulate(lengths.begin(), lengths.begin() + count, std::size_t{0});
        if (size != 0 && !decode(*find_codec("pjpeg"), coded.first(size), limited(), 0x5a)) {
            fail("the first scans of what was transcoded are refused");
        }
    }
}

void check_rows(ByteView coded) {
    const std::vector<std::size_t> rows = jpeg::row_offsets(coded);
    for (const std::size_t row : rows) {
        if (row >= coded.size()) fail("a row begins outside of the file");
    }
}

std::vector<std::uint8_t> metadata_of(ByteView file) {
    const ByteBuffer block = read_metadata(file).block();
    const ByteView view = block.view();
    return {view.begin(), view.end()};
}

bool has_segments_behind(ByteView file) {
    bool is_behind = false;
    try {
        jpeg::MarkerWalk walk(file);
        for (jpeg::Segment segment = walk.next(); segment.marker != jpeg::kEoi; segment = walk.next()) {
            const bool is_metadata =
                segment.marker == jpeg::kCom || (segment.marker >= jpeg::kApp0 && segment.marker <= jpeg::kApp15);
            if (is_behind && is_metadata) return true;
            if (segment.marker != jpeg::kSos) continue;
            is_behind = true;
            walk.move_to(jpeg::end_of_scan(file, walk.position()));
        }
    } catch (const Error&) {
        return false;  // it ends without its end mark: nothing was found behind the scan
    }
    return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const ByteView data(bytes, size);
    Draw draw(data);
    const Coding coding = draw_coding(draw);
    const std::optional<ByteBuffer> coded = transcode(data, coding);
    if (!coded) return 0;
    const Codec& codec = *find_codec(coding.order == jpeg::SegmentOrder::behind ? "pjpeg" : "jpeg");
    std::optional<Target> found = decode(codec, coded->view(), limited(), 0x5a);
    std::optional<Target> expected = decode(*find_codec("jpeg"), data, limited(), 0xa5);
    if (!expected) return 0;  // a build that checks refuses it then, too
    if (!found) fail("refuses what it has transcoded");
    check_same(*found, *expected);
    check_region(codec, coded->view(), *found, draw);
    (void)jpeg::is_at_most(coded->view(), 50);
    jpeg::check_end(coded->view());
    if (coding.restart) check_rows(coded->view());
    if (coding.progressive) check_pieces(coded->view(), draw);
    if (coding.order == jpeg::SegmentOrder::behind) {
        const ByteBuffer usual = jpeg::with_segments_in_front(coded->view());
        std::optional<Target> again = decode(*find_codec("jpeg"), usual.view(), limited(), 0xa5);
        if (!again) fail("refuses its own file with the segments in front");
        check_same(*again, *expected);
        // What lies behind the first scan is no metadata of the source, but stands in front afterwards.
        const bool is_in_front = !has_segments_behind(data);
        if (is_in_front && metadata_of(usual.view()) != metadata_of(data)) fail("transcoding changes metadata");
    }
    return 0;
}
