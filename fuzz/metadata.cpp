// Metadata, taken out of a hostile file or a hostile block and put into fresh files of every format. Whatever the bytes
// are, reading drops what is damaged or throws `Error`; a file with metadata in it has the pixels it had, and says
// again what was put in.
//
// An input that begins as an image is read as one. Any other is the content of a block, and gets its checksum here.
#include "codecs/metadata.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/embed.h"
#include "codecs/table.h"
#include "harness.h"
#include "repair.h"

namespace {

using namespace penstock;
using namespace penstock::fuzz;

constexpr std::array<std::string_view, 4> kFormats{"jpeg", "png", "webp", "weir"};
constexpr PixelShape kShape{5, 7, 3, 1};

using Bytes = std::vector<std::uint8_t>;

Bytes copy(ByteView view) { return {view.begin(), view.end()}; }

Bytes make_file(std::string_view format) {
    Bytes pixels(kShape.bytes());
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(37 * i);
    return copy(find_codec(format)->encode({pixels.data(), kShape.row_bytes(), kShape}, {}).view());
}

Bytes pixels_of(std::string_view format, ByteView file) {
    std::optional<Target> target = decode(*find_codec(format), file, {}, 0x5a);
    if (!target) fail("a file with metadata in it is refused");
    Bytes pixels;
    for (std::uint32_t y = 0; y < kShape.height; ++y) {
        pixels.insert(pixels.end(), target->view().row(y), target->view().row(y) + kShape.row_bytes());
    }
    return pixels;
}

using Said = std::vector<std::pair<std::string, Bytes>>;

Said sorted(const std::vector<MetadataEntry>& entries) {
    Said said;
    for (const MetadataEntry& entry : entries) said.emplace_back(entry.tag, copy(entry.content));
    std::sort(said.begin(), said.end());
    return said;
}

// `are_ours`: the entries were read from a file, so that they are well-formed and come back as they are.
void check_embedding(const std::vector<MetadataEntry>& entries, bool are_ours) {
    static const std::array<Bytes, 4> files{make_file("jpeg"), make_file("png"), make_file("webp"), make_file("weir")};
    for (std::size_t i = 0; i < kFormats.size(); ++i) {
        std::vector<std::string> dropped;
        ByteBuffer file;
        try {
            file = embed_metadata(files[i], entries, dropped);
        } catch (const Error& error) {
            check_error(error);
            if (are_ours) fail("metadata that was read cannot be written");
            continue;
        }
        if (pixels_of(kFormats[i], file.view()) != pixels_of(kFormats[i], files[i])) fail("metadata changes pixels");
        const ByteBuffer block = read_metadata(file.view()).block();
        const std::vector<MetadataEntry> again = read_metadata_block(block.view());
        if (!are_ours) continue;
        if (again.size() + dropped.size() != entries.size()) fail("an entry is neither written nor dropped");
        if (dropped.empty() && sorted(again) != sorted(entries)) fail("metadata comes back changed");
    }
}

void check_image(ByteView data) {
    Metadata metadata;
    try {
        metadata = read_metadata(data);
    } catch (const Error& error) {
        check_error(error);
        return;
    }
    const ByteBuffer block = metadata.block();
    const std::vector<MetadataEntry> entries = read_metadata_block(block.view());
    if (entries.size() != metadata.kept().size()) fail("stored metadata has other entries");
    check_embedding(entries, true);
    // What is exported is a file of ours; a hostile one must still not crash.
    std::vector<std::string> dropped;
    try {
        (void)embed_metadata(data, entries, dropped);
    } catch (const Error& error) {
        check_error(error);
    }
}

void check_block(ByteView content) {
    Bytes block = copy(content);
    const std::uint32_t crc = crc32c(content);
    block.resize(content.size() + sizeof crc);
    std::memcpy(block.data() + content.size(), &crc, sizeof crc);
    try {
        check_embedding(read_metadata_block(block), false);
    } catch (const Error& error) {
        check_error(error);
    }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* bytes, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    size = LLVMFuzzerMutate(bytes, size, max_size);
    if (seed % 8 != 0) repair_checksums({bytes, size});
    return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const ByteView data(bytes, size);
    if (sniff_codec(data) != nullptr) {
        check_image(data);
    } else {
        check_block(data);
    }
    return 0;
}
