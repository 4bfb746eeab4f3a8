#include "codecs/png_decode.h"

#include <libdeflate.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "base/buffer.h"
#include "base/cpu.h"
#include "base/error.h"
#include "codecs/png_pixels.h"
#include "codecs/png_unfilter.h"

namespace penstock::png {

namespace {

using Byte = std::uint8_t;

constexpr const char* kRestore = "the file is damaged: restore it from its source";
// Deflate spends at least a bit on 129 bytes of a match; what promises more than this is a lie of the header.
constexpr std::size_t kMaxInflateRatio = 1032;

// A rectangle of the image whose rows are filtered on their own: the whole of it, or one of Adam7's seven passes.
struct Pass {
    std::uint32_t x = 0, y = 0;            // first pixel
    std::uint32_t x_step = 1, y_step = 1;  // between its pixels, in the image
    std::uint32_t width = 0, height = 0;   // in its own pixels; either may be 0
};

constexpr std::uint32_t steps(std::uint32_t side, std::uint32_t begin, std::uint32_t step) {
    return side > begin ? (side - begin - 1) / step + 1 : 0;
}

constexpr std::size_t kNumPasses = 7;

std::array<Pass, kNumPasses> passes_of(const Header& header) {
    constexpr std::array<std::array<std::uint32_t, 4>, kNumPasses> adam7{
        {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}};
    std::array<Pass, kNumPasses> passes;
    for (std::size_t i = 0; i < kNumPasses; ++i) {
        const auto [x, y, x_step, y_step] = adam7[i];
        passes[i] = {x, y, x_step, y_step, steps(header.width, x, x_step), steps(header.height, y, y_step)};
    }
    if (!header.interlaced) {
        passes = {};
        passes[0] = {0, 0, 1, 1, header.width, header.height};
    }
    return passes;
}

std::size_t stored_bytes(const Header& header, const Pass& pass) {
    return pass.width == 0 ? 0 : (header.row_bytes(pass.width) + 1) * pass.height;
}

// The compressed stream in one piece: the only IDAT itself, or a copy of all.
class Stream {
  public:
    Stream(const std::vector<ByteView>& pieces, std::size_t size, BufferPool& pool) : view_(pieces[0]) {
        if (pieces.size() == 1) return;
        joined_.emplace(size, pool);
        std::size_t end = 0;
        for (const ByteView piece : pieces) {
            if (!piece.empty()) std::memcpy(joined_->data() + end, piece.data(), piece.size());
            end += piece.size();
        }
        view_ = {joined_->data(), size};
    }

    [[nodiscard]] ByteView view() const { return view_; }

  private:
    ByteView view_;
    std::optional<PoolBlock> joined_;
};

struct FreeDecompressor {
    void operator()(libdeflate_decompressor* decompressor) const noexcept {
        libdeflate_free_decompressor(decompressor);
    }
};

using Decompressor = std::unique_ptr<libdeflate_decompressor, FreeDecompressor>;

// One for each image: a thread's own would have to be registered with the C library, which ends the process if it finds
// no memory for that.
Decompressor new_decompressor() {
    Decompressor decompressor(libdeflate_alloc_decompressor());
    if (decompressor != nullptr) return decompressor;
    throw Error(ErrorCode::out_of_memory, "could not allocate a decompressor", "memory", "free memory");
}

void check_promised_size(std::size_t compressed, std::size_t inflated) {
    if (inflated / kMaxInflateRatio <= compressed) return;
    throw Error(ErrorCode::truncated,
                std::to_string(compressed) + " bytes of pixel data cannot hold the " + std::to_string(inflated) +
                    " that the header promises",
                "IDAT of the png data", kRestore);
}

void inflate(ByteView stream, Byte* out, std::size_t size) {
    const Decompressor decompressor = new_decompressor();
    const libdeflate_result result =
        libdeflate_zlib_decompress(decompressor.get(), stream.data(), stream.size(), out, size, nullptr);
    const char* what = nullptr;
    switch (result) {
        case LIBDEFLATE_SUCCESS: return;
        case LIBDEFLATE_SHORT_OUTPUT: what = "pixel data ends before the last row"; break;
        case LIBDEFLATE_INSUFFICIENT_SPACE: what = "pixel data goes on behind the last row"; break;
        default: what = "pixel data is not a valid zlib stream"; break;
    }
    throw Error(result == LIBDEFLATE_SHORT_OUTPUT ? ErrorCode::truncated : ErrorCode::corrupt, what,
                "IDAT of the png data", kRestore);
}

// Un-filters the rows of one pass and hands their pixels to the output.
class PassDecoder {
  public:
    PassDecoder(const Header& header, const PixelConversion& conversion, const Region& region, ImageView out,
                BufferPool& pool)
        : header_(header),
          conversion_(conversion),
          region_(region),
          out_(out),
          kernels_(unfilter_for(header.filter_distance(), active_simd_path())),
          row_stride_((header.row_bytes(header.width) + 63) / 64 * 64),
          rows_(3 * row_stride_ + header.width * conversion.pixel_bytes(), pool) {
        std::memset(rows_.data(), 0, row_stride_);
    }

    /// Gives the number of rows it un-filtered. The pass has pixels.
    std::uint32_t decode(const Pass& pass, const Byte* stored) {
        const std::size_t row_bytes = header_.row_bytes(pass.width);
        const bool direct = is_direct(pass);
        const std::uint32_t begin =
            steps(region_.y, pass.y, pass.y_step);  // the first row at or below the region's top
        const std::uint32_t end = steps(region_.y + region_.height, pass.y, pass.y_step);
        if (begin == end) return 0;
        const std::uint32_t first = first_needed_row(stored, row_bytes, begin);
        const Byte* above = rows_.data();  // zeros
        for (std::uint32_t row = first; row < end; ++row) {
            const Byte* source = stored + row * (row_bytes + 1);
            check_filter(*source, row);
            Byte* target = direct && row >= begin ? out_.row(row - begin) : rows_.data() + row_stride_ * (1 + row % 2);
            unfilter_row(kernels_, *source, source + 1, above, target, row_bytes);
            if (!direct && row >= begin) emit(pass, target, out_.row(pass.y + row * pass.y_step - region_.y));
            above = target;
        }
        return end - first;
    }

  private:
    [[nodiscard]] bool is_direct(const Pass& pass) const {
        return conversion_.is_copy() && pass.x_step == 1 && pass.y_step == 1 && region_.width == pass.width;
    }

    // The nearest row at or above `begin` that does not build on the one above it.
    static std::uint32_t first_needed_row(const Byte* stored, std::size_t row_bytes, std::uint32_t begin) {
        std::uint32_t row = begin;
        while (row > 0 && stored[row * (row_bytes + 1)] >= 2) --row;
        return row;
    }

    static void check_filter(Byte filter, std::uint32_t row) {
        if (filter <= kMaxFilter) return;
        throw Error(ErrorCode::corrupt,
                    "row " + std::to_string(row) + " has filter type " + std::to_string(filter) + ", not 0 to 4",
                    "IDAT of the png data", kRestore);
    }

    void emit(const Pass& pass, const Byte* row, Byte* out) {
        if (pass.x_step == 1) {
            conversion_.convert(row, region_.x, region_.width, out);
            return;
        }
        const std::uint32_t begin = steps(region_.x, pass.x, pass.x_step);
        const std::uint32_t end = steps(region_.x + region_.width, pass.x, pass.x_step);
        if (begin == end) return;
        Byte* pixels = rows_.data() + 3 * row_stride_;
        conversion_.convert(row, begin, end - begin, pixels);
        const std::size_t pixel_bytes = conversion_.pixel_bytes();
        Byte* target = out + (pass.x + begin * pass.x_step - region_.x) * pixel_bytes;
        for (std::uint32_t i = begin; i < end; ++i) {
            std::memcpy(target, pixels, pixel_bytes);
            target += pass.x_step * pixel_bytes;
            pixels += pixel_bytes;
        }
    }

    const Header& header_;
    const PixelConversion& conversion_;
    Region region_;
    ImageView out_;
    Unfilter kernels_;
    std::size_t row_stride_;
    PoolBlock rows_;  // a row of zeros, two rows in turn, a row of pixels
};

}  // namespace

void decode(const Chunks& chunks, const DecodeOptions& options, ImageView out) {
    const Header& header = chunks.header;
    const Region region = options.region.value_or(Region{0, 0, header.height, header.width});
    const std::array<Pass, kNumPasses> passes = passes_of(header);
    std::size_t inflated_bytes = 0;
    for (const Pass& pass : passes) inflated_bytes += stored_bytes(header, pass);
    std::size_t compressed_bytes = 0;
    for (const ByteView piece : chunks.image_data) compressed_bytes += piece.size();
    check_promised_size(compressed_bytes, inflated_bytes);

    BufferPool& pool = options.working_pool();
    PoolBlock inflated(inflated_bytes, pool);
    {
        const Stream stream(chunks.image_data, compressed_bytes, pool);
        inflate(stream.view(), inflated.data(), inflated_bytes);
    }

    const PixelConversion conversion(chunks, options.palette_indices);
    PassDecoder decoder(header, conversion, region, out, pool);
    DecodeCounters counters;
    const Byte* stored = inflated.data();
    for (const Pass& pass : passes) {
        if (pass.width == 0) continue;
        counters.units_total += pass.height;
        counters.units_decoded += decoder.decode(pass, stored);
        stored += stored_bytes(header, pass);
    }
    if (options.counters != nullptr) *options.counters = counters;
}

}  // namespace penstock::png
