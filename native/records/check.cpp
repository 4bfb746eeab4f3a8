#include "records/check.h"

#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/decode.h"
#include "codecs/sluice_transcode.h"
#include "codecs/table.h"
#include "pixels/hash.h"

namespace penstock {

namespace {

std::string sides(const PixelShape& shape) {
    return std::to_string(shape.width) + "x" + std::to_string(shape.height) + "x" + std::to_string(shape.channels);
}

std::string problem_of_metadata(ByteView block) {
    if (block.empty()) return "";
    std::uint32_t stored = 0;
    if (block.size() < sizeof stored) return "its metadata is too short";
    const ByteView entries = block.first(block.size() - sizeof stored);
    std::memcpy(&stored, entries.data() + entries.size(), sizeof stored);
    return crc32c(entries) == stored ? "" : "its metadata does not match its checksum";
}

// Restores the JPEG in a Sluice image. Its length and checksum are those of the original file, or it is refused; its
// pixels must be those of the image.
std::string problem_of_restoration(ByteView data, const OwnedImage& image, std::uint64_t max_pixels) {
    if (sluice::facts_of(data).restoration_bytes == 0) return "";
    const ByteBuffer jpeg = sluice::to_jpeg(data, max_pixels);
    DecodeOptions options;
    options.max_pixels = max_pixels;
    const Codec& codec = *find_codec("jpeg");
    const DecodePlan plan = plan_decode(codec, jpeg.view(), options);
    if (!(plan.shape == image.shape())) return "the JPEG that it restores has another size";
    OwnedImage original(plan.shape, BufferPool::shared());
    decode_image(codec, jpeg.view(), plan, original.view());
    const bool is_same = std::memcmp(original.view().data, image.view().data, plan.shape.bytes()) == 0;
    return is_same ? "" : "the JPEG that it restores has other pixels";
}

std::string problem_of_pixels(ByteView data, const Expected& expected, std::uint64_t max_pixels) {
    const Codec* codec = sniff_codec(data);
    if (codec == nullptr) return "";  // a plug-in's: its bytes are right, and nothing native can say more
    DecodeOptions options;
    options.palette_indices = expected.palette_indices;
    options.max_pixels = max_pixels;  // the index says how many there are, but it is as little trusted as the image
    const DecodePlan plan = plan_decode(*codec, data, options);
    if (!(plan.shape == expected.shape)) {
        return "it decodes to " + sides(plan.shape) + ", the index says " + sides(expected.shape);
    }
    OwnedImage image(plan.shape, BufferPool::shared());
    decode_image(*codec, data, plan, image.view());
    if (codec->name() == "sluice") return problem_of_restoration(data, image, max_pixels);
    const bool is_right = !expected.has_pixels || hash_pixels(image.view()) == expected.pixels;
    return is_right ? "" : "its pixels are not those of the source";
}

std::string problem_of(const SourceFiles& files, const Expected& expected, bool decode, std::uint64_t max_pixels) {
    try {
        Place place = expected.place;
        place.length += expected.metadata_length;
        const ByteBuffer bytes = files.read(place, expected.pieces);
        const ByteView data = bytes.view().first(static_cast<std::size_t>(expected.place.length));
        if (crc32c(data) != expected.checksum) return "its bytes do not match their checksum";
        const std::string problem = problem_of_metadata(bytes.view().subspan(data.size()));
        return problem.empty() && decode ? problem_of_pixels(data, expected, max_pixels) : problem;
    } catch (const Error& error) {
        if (error.code() == ErrorCode::out_of_memory) throw;  // says nothing of the image
        return error.what();
    }
}

}  // namespace

Checking start_check(ThreadPool& pool, std::shared_ptr<const SourceFiles> files, std::vector<Expected> images,
                     bool decode, std::uint64_t max_pixels) {
    auto findings = std::make_shared<Findings>();
    const std::size_t count = images.size();
    auto task = [findings, files = std::move(files), images = std::move(images), decode,
                 max_pixels](std::size_t index) {
        std::string problem = problem_of(*files, images[index], decode, max_pixels);
        if (!problem.empty()) findings->add(index, std::move(problem));
    };
    return {pool.run(count, std::move(task)), findings};
}

}  // namespace penstock
