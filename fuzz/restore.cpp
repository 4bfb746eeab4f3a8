// JPEGs taken apart and put together. A JPEG is refused, or comes back byte for byte with the coefficients of libjpeg;
// pairs of coefficients and restoration data that do not belong together give an error of ours, or that file.
//
// An input that is no JPEG is the body of restoration data for one of a few small images, which its first byte names.
#include <libdeflate.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "codecs/jpeg_coefficients.h"
#include "codecs/jpeg_library.h"
#include "harness.h"

namespace {

using namespace penstock;
using namespace penstock::fuzz;

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 16;
constexpr std::size_t kMaxBodyBytes = std::size_t{1} << 16;

constexpr std::uint8_t kNaturalOrder[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                            12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                            35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                            58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// The image's blocks as libjpeg reads them; nothing if it refuses the file, as it may.
void check_coefficients(ByteView data, const jpeg::CoefficientImage& image) {
    try {
        jpeg::Decompressor decompressor(data);
        decompressor.read_header();
        jpeg_decompress_struct& info = decompressor.info();
        jvirt_barray_ptr* arrays = nullptr;
        decompressor.run([&] { arrays = jpeg_read_coefficients(&info); });
        if (info.image_width != image.width || info.image_height != image.height) fail("has another size");
        for (std::size_t c = 0; c < image.components.size(); ++c) {
            const jpeg::CoefficientComponent& component = image.components[c];
            for (std::uint32_t y = 0; y < component.blocks_high; ++y) {
                JBLOCKARRAY row = nullptr;
                decompressor.run([&] {
                    row = info.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&info), arrays[c], y, 1, FALSE);
                });
                for (std::uint32_t x = 0; x < component.blocks_wide; ++x) {
                    for (std::size_t k = 0; k < 64; ++k) {
                        if (row[0][x][kNaturalOrder[k]] != component.block(x, y)[k]) {
                            fail("a coefficient is not libjpeg's");
                        }
                    }
                }
            }
            const JQUANT_TBL* table = info.comp_info[c].quant_table;
            for (std::size_t k = 0; table != nullptr && k < 64; ++k) {
                if (table->quantval[kNaturalOrder[k]] != component.quantization[k]) fail("a table is not libjpeg's");
            }
        }
    } catch (const Error&) {
        return;
    }
}

void put_number(Bytes& out, std::uint64_t value) {
    for (; value >= 128; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 128));
    out.push_back(static_cast<std::uint8_t>(value));
}

// The same restoration data with a body that is not deflated, so that a change of a byte reaches its reader. Empty if
// the body is large.
Bytes unpacked(ByteView data) {
    if (data[1] == 0) return Bytes(data.begin(), data.end());
    std::size_t at = 2;
    while (data[at++] >= 128) {
    }
    at += 4;
    Bytes out(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(at));
    out[1] = 0;
    std::uint64_t size = 0;
    unsigned shift = 0;
    for (; data[at] >= 128; shift += 7) size |= std::uint64_t{data[at++] & 127U} << shift;
    size |= std::uint64_t{data[at++]} << shift;
    if (size > kMaxBodyBytes) return {};
    const std::size_t begin = out.size();
    out.resize(begin + static_cast<std::size_t>(size));
    libdeflate_decompressor* inflater = libdeflate_alloc_decompressor();
    const libdeflate_result result = libdeflate_deflate_decompress(inflater, data.data() + at, data.size() - at,
                                                                   out.data() + begin, out.size() - begin, nullptr);
    libdeflate_free_decompressor(inflater);
    if (result != LIBDEFLATE_SUCCESS) fail("writes a body that cannot be inflated");
    return out;
}

std::optional<ByteBuffer> put_together(const jpeg::CoefficientImage& image, const Bytes& restoration) {
    try {
        return jpeg::put_together(image, {restoration.data(), restoration.size()});
    } catch (const Error& error) {
        check_error(error);
        return std::nullopt;
    }
}

bool equals(const ByteBuffer& file, ByteView data) {
    return file.size() == data.size() && std::memcmp(file.data(), data.data(), data.size()) == 0;
}

void check_file(ByteView data) {
    jpeg::TakenApart parts;
    try {
        parts = jpeg::take_apart(data, kMaxPixels);
    } catch (const Error& error) {
        check_error(error);
        return;
    }
    const Bytes plain = unpacked(parts.restoration.view());
    if (plain.empty()) return;
    const std::optional<ByteBuffer> again = put_together(parts.image, plain);
    if (!again || !equals(*again, data)) fail("does not come back");
    check_coefficients(data, parts.image);
    Draw draw(data);
    for (int round = 0; round < 4; ++round) {
        Bytes damaged = plain;
        for (std::uint32_t i = 0; i <= draw.below(3); ++i) {
            damaged[draw.below(static_cast<std::uint32_t>(damaged.size()))] =
                static_cast<std::uint8_t>(draw.below(256));
        }
        const std::optional<ByteBuffer> file = put_together(parts.image, damaged);
        if (file && !equals(*file, data)) fail("gives another file");
    }
    jpeg::CoefficientComponent& component =
        parts.image.components[draw.below(static_cast<std::uint32_t>(parts.image.components.size()))];
    component.blocks[draw.below(static_cast<std::uint32_t>(component.blocks.size()))][draw.below(64)] =
        static_cast<std::int16_t>(draw.below(65536) - 32768);
    const std::optional<ByteBuffer> file = put_together(parts.image, plain);
    if (file && !equals(*file, data)) fail("gives another file");
}

jpeg::CoefficientImage small_image(std::uint8_t kind) {
    jpeg::CoefficientImage image;
    image.width = 17;
    image.height = 21;
    const std::size_t num_components = kind % 4 == 0 ? 1 : 3;
    const std::uint8_t across = kind % 4 >= 2 ? 2 : 1;
    const std::uint8_t down = kind % 4 == 3 ? 2 : 1;
    for (std::size_t c = 0; c < num_components; ++c) {
        jpeg::CoefficientComponent& component = image.components.emplace_back();
        component.sampling = c == 0 ? jpeg::Sampling{across, down} : jpeg::Sampling{1, 1};
        const bool is_small = c != 0;
        component.blocks_wide = jpeg::num_blocks(image.width, is_small ? 1 : across, across);
        component.blocks_high = jpeg::num_blocks(image.height, is_small ? 1 : down, down);
        component.blocks = jpeg::CoefficientBlocks(std::size_t{component.blocks_wide} * component.blocks_high);
        component.quantization.fill(static_cast<std::uint16_t>(3 + c));
        for (std::size_t i = 0; i < component.blocks.size(); ++i) {
            for (std::size_t k = 0; k < 64; k += 1 + i % 7) {
                component.blocks[i][k] = static_cast<std::int16_t>((i * 31 + k * 7 + c) % 9) - 4;
            }
        }
    }
    return image;
}

void check_body(ByteView data) {
    Bytes restoration{1, 0};
    put_number(restoration, 100000);
    restoration.insert(restoration.end(), 4, 0);
    restoration.insert(restoration.end(), data.begin() + 1, data.end());
    (void)put_together(small_image(data[0]), restoration);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const ByteView data(bytes, size);
    if (size != 0 && bytes[0] < 4) {
        check_body(data);
    } else {
        check_file(data);
    }
    return 0;
}
