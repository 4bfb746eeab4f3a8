// What stands before the tiles of a Weir file: header, offsets, checksums, metadata. Whatever the bytes are, they are
// refused with an `Error`, or every part that is handed out lies inside the file.
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "codecs/weir.h"
#include "harness.h"
#include "repair.h"

namespace {

using namespace penstock;
using namespace penstock::fuzz;

constexpr std::uint64_t kMaxTiles = 4096;  // that are looked at

void check_inside(ByteView part, ByteView file) {
    if (part.empty()) return;
    if (part.data() < file.data() || part.data() + part.size() > file.data() + file.size()) {
        fail("a part lies outside the file");
    }
}

void check_header(const weir::Header& header) {
    const PixelShape& shape = header.shape;
    if (shape.width == 0 || shape.height == 0 || shape.width > 0x7fffffff || shape.height > 0x7fffffff) {
        fail("accepts an impossible size");
    }
    if (shape.channels < 1 || shape.channels > 4 || shape.sample_bytes < 1 || shape.sample_bytes > 2) {
        fail("accepts impossible samples");
    }
}

// The whole index or an error; then each tile or an error, and all of them end where the file does.
void check_index(ByteView file, const weir::Header& header, bool verify) {
    try {
        const weir::Index index(file, header, verify);
        for (std::uint64_t i = 0; i < std::min(header.tiles(), kMaxTiles); ++i) {
            (void)index.checksum(i);
            try {
                check_inside(index.tile(i), file);
            } catch (const Error& error) {
                check_error(error);
            }
        }
    } catch (const Error& error) {
        check_error(error);
    }
}

void check_metadata(ByteView file, const weir::Header& header, std::string_view tag) {
    try {
        check_inside(weir::find_metadata(file, header, tag), file);
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
    const ByteView file(bytes, size);
    try {
        const weir::Header header = weir::read_header(file);
        check_header(header);
        check_index(file, header, false);
        check_index(file, header, true);
        for (const std::string_view tag : {"ICCP", "EXIF", "TEXT"}) check_metadata(file, header, tag);
    } catch (const Error& error) {
        check_error(error);
    }
    return 0;
}
