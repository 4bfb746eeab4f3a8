#include "codecs/png_encode.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "codecs/png_chunks.h"
#include "codecs/png_filter.h"

namespace penstock::png {

namespace {

using Byte = std::uint8_t;

ColorType color_of(std::uint8_t channels) {
    constexpr std::array colors{ColorType::grey, ColorType::grey_alpha, ColorType::rgb, ColorType::rgb_alpha};
    return colors[channels - 1U];
}

void append_header(ByteBuffer& out, const PixelShape& shape) {
    ByteBuffer header;
    append_u32(header, shape.width);
    append_u32(header, shape.height);
    const std::array<Byte, 5> rest{static_cast<Byte>(shape.sample_bytes * 8),
                                   static_cast<Byte>(color_of(shape.channels)), 0, 0, 0};
    header.append(rest.data(), rest.size());
    append_chunk(out, "IHDR", header.view());
}

void copy_row(const Byte* pixels, const PixelShape& shape, Byte* out) {
    if (shape.sample_bytes == 1) {
        std::memcpy(out, pixels, shape.row_bytes());
        return;
    }
    for (std::size_t i = 0; i < shape.row_bytes(); i += 2) {
        std::uint16_t sample = 0;
        std::memcpy(&sample, pixels + i, 2);
        out[i] = static_cast<Byte>(sample >> 8);
        out[i + 1] = static_cast<Byte>(sample);
    }
}

// Stored rows need no filter: nothing is gained, and unfiltered ones decode at the speed of a copy.
void filter_rows(ConstImageView pixels, bool unfiltered, Byte* out) {
    const PixelShape& shape = pixels.shape;
    const std::size_t row_bytes = shape.row_bytes();
    RowFilter filter(row_bytes, std::size_t{shape.channels} * shape.sample_bytes);
    for (std::uint32_t y = 0; y < shape.height; ++y) {
        Byte* target = out + y * (row_bytes + 1);
        if (unfiltered) {
            *target = 0;
            copy_row(pixels.row(y), shape, target + 1);
        } else {
            copy_row(pixels.row(y), shape, filter.row());
            filter.filter(target);
        }
    }
}

struct FreeCompressor {
    void operator()(libdeflate_compressor* compressor) const noexcept { libdeflate_free_compressor(compressor); }
};

}  // namespace

ByteBuffer encode(ConstImageView pixels, int level) {
    const PixelShape& shape = pixels.shape;
    if (shape.width > kMaxSide || shape.height > kMaxSide) {
        throw Error(ErrorCode::unsupported, "png cannot hold a side longer than 2147483647 pixels", "pixels",
                    "cut the image into tiles");
    }
    const std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor(libdeflate_alloc_compressor(level));
    if (compressor == nullptr) {
        throw Error(ErrorCode::out_of_memory, "could not allocate a compressor", "memory", "free memory");
    }
    PoolBlock filtered((shape.row_bytes() + 1) * shape.height, BufferPool::shared());
    filter_rows(pixels, level == 0, filtered.data());
    PoolBlock deflated(libdeflate_zlib_compress_bound(compressor.get(), filtered.size()), BufferPool::shared());
    const std::size_t size =
        libdeflate_zlib_compress(compressor.get(), filtered.data(), filtered.size(), deflated.data(), deflated.size());

    ByteBuffer out;
    out.reserve(size + 1024);
    out.append(kSignature.data(), kSignature.size());
    append_header(out, shape);
    for (std::size_t begin = 0; begin < size; begin += kMaxChunkBytes) {
        append_chunk(out, "IDAT", {deflated.data() + begin, std::min(kMaxChunkBytes, size - begin)});
    }
    append_chunk(out, "IEND", {});
    return out;
}

}  // namespace penstock::png
