// Lossless transcoding: coefficients are moved, never computed.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "codecs/decode.h"
#include "codecs/jpeg.h"
#include "codecs/jpeg_library.h"
#include "codecs/jpeg_rows.h"
#include "codecs/jpeg_scans.h"
#include "codecs/jpeg_segments.h"
#include "codecs/table.h"

namespace penstock::jpeg {

namespace {

bool starts_with(const Segment& segment, const char* name, std::size_t length) {
    return segment.content.size() >= length && std::memcmp(segment.content.data(), name, length) == 0;
}

// APPn and COM segments, those between and behind the scans too. libjpeg-turbo before 3.0.4 could save them, but walks
// through all that it has for each one more: a file of comments took a minute per MB.
std::vector<Segment> segments_of(ByteView data) {
    std::vector<Segment> segments;
    std::size_t num_scans = 0;
    try {
        MarkerWalk walk(data);
        for (Segment segment = walk.next(); segment.marker != kEoi; segment = walk.next()) {
            if (segment.marker == kSos) {
                ++num_scans;
                walk.move_to(end_of_scan(data, walk.position()));
            } else if (segment.marker == kCom || (segment.marker >= kApp0 && segment.marker <= kApp15)) {
                segments.push_back(segment);
            }
        }
    } catch (const Error&) {
        if (num_scans == 0) throw;  // behind a scan the file may end without its end mark
    }
    return segments;
}

// The index of a file of several images (MPO), and the offsets of rows, point at bytes that are not carried over.
bool is_stale(const Segment& segment) {
    if (is_row_segment(segment.marker, segment.content)) return true;
    return segment.marker == kApp2 && starts_with(segment, "MPF\0", 4);
}

// Segments that a decoder must have seen before the first scan.
bool tells_colors(const Segment& segment) {
    return (segment.marker == kApp0 && starts_with(segment, "JFIF\0", 5)) ||
           (segment.marker == kApp14 && starts_with(segment, "Adobe", 5));
}

void write_segments(jpeg_compress_struct& target, const std::vector<Segment>& segments, SegmentOrder order) {
    for (const Segment& segment : segments) {
        if (is_stale(segment) || (order == SegmentOrder::behind && !tells_colors(segment))) continue;
        jpeg_write_marker(&target, segment.marker, segment.content.data(),
                          static_cast<unsigned>(segment.content.size()));
    }
}

void append_segments(ByteBuffer& out, const std::vector<Segment>& segments) {
    for (const Segment& segment : segments) {
        if (is_stale(segment) || tells_colors(segment)) continue;
        const std::size_t length = segment.content.size() + 2;
        const JOCTET head[4] = {0xFF, segment.marker, static_cast<JOCTET>(length >> 8), static_cast<JOCTET>(length)};
        out.append(head, sizeof head);
        out.append(segment.content.data(), segment.content.size());
    }
}

void set_coding(jpeg_compress_struct& target, const Parameters& parameters) {
    target.optimize_coding = TRUE;  // the source's tables may lack codes that restarting the DC prediction needs
    target.restart_in_rows = parameters.flag("restart") ? 1 : 0;
    if (parameters.flag("progressive")) jpeg_simple_progression(&target);
    // JFIF and Adobe segments are among those copied, so that colour is told in the source's own words.
    target.write_JFIF_header = FALSE;
    target.write_Adobe_marker = FALSE;
}

OwnedImage pixels_of(ByteView data, std::uint64_t max_pixels, std::uint8_t scale) {
    const Codec& codec = *find_codec("jpeg");
    DecodeOptions options;
    options.max_pixels = max_pixels;
    options.scale = scale;
    const DecodePlan plan = plan_decode(codec, data, options);
    OwnedImage image(plan.shape, BufferPool::shared());
    decode_image(codec, data, plan, image.view());
    return image;
}

// Where a progressive file lacks scans, decoders smooth over blocks. They do not smooth the transcoded file, which has
// all scans: its pixels may be others though its coefficients are the same.
void check_same_pixels(ByteView source, ByteView coded, std::uint64_t max_pixels) {
    for (const std::uint8_t scale : {1, 2, 4, 8}) {
        const OwnedImage expected = pixels_of(source, max_pixels, scale);
        const OwnedImage found = pixels_of(coded, max_pixels, scale);
        if (std::memcmp(expected.view().data, found.view().data, expected.shape().bytes()) == 0) continue;
        throw Error(ErrorCode::unsupported,
                    "progressive jpeg lacks scans, which decoders make up for by smoothing: transcoded, with the same "
                    "coefficients, it would have other pixels",
                    "scans of the jpeg data",
                    "restore the file from its source, or encode its pixels anew, for example with jpeg:q=95");
    }
}

}  // namespace

ByteBuffer transcode(ByteView data, const Parameters& parameters, std::uint64_t max_pixels, SegmentOrder order) {
    (void)inspect_image(*find_codec("jpeg"), data, max_pixels);
    const std::vector<Segment> segments = segments_of(data);
    Decompressor decompressor(data);
    jpeg_decompress_struct& source = decompressor.info();
    jvirt_barray_ptr* coefficients = nullptr;
    decompressor.read_header();
    decompressor.run([&] { coefficients = jpeg_read_coefficients(&source); });
    if (jpeg_has_multiple_scans(&source)) decompressor.check_complete();

    Compressor compressor;
    jpeg_compress_struct& target = compressor.info();
    compressor.run([&] {
        jpeg_copy_critical_parameters(&source, &target);
        set_coding(target, parameters);
        jpeg_write_coefficients(&target, coefficients);
        write_segments(target, segments, order);
        jpeg_finish_compress(&target);
    });
    ByteBuffer coded = compressor.take();
    if (decompressor.lacks_scans()) check_same_pixels(data, coded.view(), max_pixels);
    if (order == SegmentOrder::behind) append_segments(coded, segments);
    return parameters.flag("restart") ? with_row_offsets(std::move(coded)) : std::move(coded);
}

ByteBuffer with_segments_in_front(ByteView data) {
    MarkerWalk walk(data);
    std::size_t place = walk.position();
    for (;;) {
        const Segment segment = walk.next();
        if (segment.marker != kApp0 && segment.marker != kApp14) break;
        place = walk.position();
    }
    const std::vector<std::size_t> scans = scan_ends(data);
    const std::size_t end = scans.empty() ? data.size() : std::min(scans.back() + 2, data.size());
    ByteBuffer file;
    file.append(data.data(), place);
    file.append(data.data() + end, data.size() - end);
    file.append(data.data() + place, end - place);
    return file;
}

}  // namespace penstock::jpeg
