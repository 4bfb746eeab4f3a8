// Decoding: the whole image straight into the caller's rows, or a window of it that is a little wider than the region,
// because a pixel at the edge of what libjpeg puts out is upsampled without its neighbour.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "codecs/jpeg.h"
#include "codecs/jpeg_huffman.h"
#include "codecs/jpeg_library.h"
#include "codecs/jpeg_strips.h"

namespace penstock::jpeg {

namespace {

constexpr std::uint32_t kRowsPerCall = 16;  // the most that an MCU row puts out

/// Pixels that libjpeg is asked for; it skips rows above and stops below.
struct Window {
    JDIMENSION left = 0;
    JDIMENSION width = 0;
    JDIMENSION top = 0;
    JDIMENSION height = 0;
};

bool is_subsampled_across(const jpeg_decompress_struct& info) {
    for (int i = 0; i < info.num_components; ++i) {
        if (info.comp_info[i].h_samp_factor != info.max_h_samp_factor) return true;
    }
    return false;
}

bool is_subsampled_down(const jpeg_decompress_struct& info) {
    for (int i = 0; i < info.num_components; ++i) {
        if (info.comp_info[i].v_samp_factor != info.max_v_samp_factor) return true;
    }
    return false;
}

// Smoothing fills in coefficients that a progressive file never sent, from blocks all around: those files, which are
// not complete, are decoded whole.
bool will_be_smoothed(const jpeg_decompress_struct& info) {
    if (!info.do_block_smoothing || !info.progressive_mode || info.coef_bits == nullptr) return false;
    for (int i = 0; i < info.num_components; ++i) {
        for (int k = 1; k < DCTSIZE2; ++k) {
            if (info.coef_bits[i][k] != 0) return true;
        }
    }
    return false;
}

// libjpeg-turbo before 2.1.3 overruns its output where jpeg_crop_scanline() meets plain upsampling.
constexpr bool kCropNeedsFancy = LIBJPEG_TURBO_VERSION_NUMBER < 2001003;

// Whether libjpeg crops this file wrongly: with scaling, chroma may be transformed at more than the image's scale and
// yet need upsampling (luma of 4x2 or 2x4), for which jpeg_crop_scanline() of libjpeg-turbo before 3.0 takes a wrong
// width. Those rows are decoded in full; the library in use may be older than the one built for, so always.
bool crops_wrongly(const jpeg_decompress_struct& info) {
    for (int i = 0; i < info.num_components; ++i) {
        const jpeg_component_info& component = info.comp_info[i];
#if JPEG_LIB_VERSION >= 70
        const int scaled = component.DCT_h_scaled_size;
        const int least = info.min_DCT_h_scaled_size;
#else
        const int scaled = component.DCT_scaled_size;
        const int least = info.min_DCT_scaled_size;
#endif
        const bool is_full_size = component.h_samp_factor * scaled == info.max_h_samp_factor * least &&
                                  component.v_samp_factor * scaled == info.max_v_samp_factor * least;
        if (scaled != least && !is_full_size) return true;
    }
    return false;
}

void check_agreement(const jpeg_decompress_struct& info, const ImageInfo& seen) {
    const int channels = info.num_components == 1 ? 1 : 3;
    if (info.image_width == seen.shape.width && info.image_height == seen.shape.height &&
        channels == seen.shape.channels) {
        return;
    }
    throw Error(ErrorCode::corrupt, "jpeg has two headers that disagree", "header of the jpeg data",
                "the file is damaged: restore it from its source");
}

void set_output(jpeg_decompress_struct& info, const DecodeOptions& options) {
    info.scale_num = 1;
    info.scale_denom = options.scale;
    info.dct_method = options.fast ? JDCT_IFAST : JDCT_ISLOW;
    info.do_fancy_upsampling = options.fast ? FALSE : TRUE;
    info.out_color_space = JCS_RGB;
    if (info.num_components == 1) info.out_color_space = JCS_GRAYSCALE;
    if (info.num_components == 4) info.out_color_space = JCS_CMYK;
}

// What to ask of libjpeg for `region`, before it rounds the left side down to an MCU.
Window window_for(const jpeg_decompress_struct& info, const Region& region) {
    if (will_be_smoothed(info)) return {0, info.output_width, 0, info.output_height};
    if (crops_wrongly(info) || (kCropNeedsFancy && !info.do_fancy_upsampling))
        return {0, info.output_width, region.y, region.height};
    const JDIMENSION margin = is_subsampled_across(info) ? 2 : 0;
    const JDIMENSION left = std::max(region.x, margin) - margin;
    const JDIMENSION right = std::min(region.x + region.width + margin, info.output_width);
    if (margin == 0) return {left, right - left, region.y, region.height};
    // A window that leaves a component fewer than three samples across makes libjpeg choose plainer upsampling, for
    // all components: of those that have a fourth of the pixels, but also of their neighbours.
    const auto least = static_cast<JDIMENSION>(3 * info.max_h_samp_factor);
    const JDIMENSION wide_right = std::min(std::max(right, left + least), info.output_width);
    const JDIMENSION wide_left = std::min(left, wide_right - std::min(wide_right, least));
    return {wide_left, wide_right - wide_left, region.y, region.height};
}

/// A pixel as Pillow's `convert("RGB")` makes it of CMYK, which every JPEG stores inverted.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, std::size_t num_pixels) {
    for (std::size_t i = 0; i < num_pixels; ++i) {
        const unsigned light = cmyk[4 * i + 3];
        for (std::size_t c = 0; c < 3; ++c) {
            const unsigned product = (255U - cmyk[4 * i + c]) * light + 128;
            rgb[3 * i + c] = static_cast<std::uint8_t>(light - ((product + (product >> 8)) >> 8));
        }
    }
}

void read_rows(jpeg_decompress_struct& info, std::uint8_t* first, std::size_t stride, JDIMENSION num_rows) {
    std::array<JSAMPROW, kRowsPerCall> rows;
    while (num_rows > 0) {
        const JDIMENSION wanted = std::min(num_rows, kRowsPerCall);
        for (JDIMENSION i = 0; i < wanted; ++i) rows[i] = first + i * stride;
        const JDIMENSION done = jpeg_read_scanlines(&info, rows.data(), wanted);
        first += done * stride;
        num_rows -= done;
    }
}

/// Rows that are wider than the region, or not yet RGB, pass through a few rows of scratch.
struct ThroughScratch {
    const Window& window;
    const Region& region;
    ImageView out;
    std::uint8_t* scratch;
    std::size_t stride;

    void read(jpeg_decompress_struct& info) const {
        const auto pixel_bytes = static_cast<std::size_t>(info.output_components);
        const std::size_t skipped = (region.x - window.left) * pixel_bytes;
        for (JDIMENSION y = window.top; y < region.y + region.height;) {
            const JDIMENSION num_rows = std::min(region.y + region.height - y, kRowsPerCall);
            read_rows(info, scratch, stride, num_rows);
            for (JDIMENSION i = 0; i < num_rows; ++i, ++y) {
                if (y < region.y) continue;
                const std::uint8_t* source = scratch + i * stride + skipped;
                std::uint8_t* target = out.row(y - region.y);
                if (info.out_color_space == JCS_CMYK) {
                    cmyk_to_rgb(source, target, region.width);
                } else {
                    std::memcpy(target, source, region.width * pixel_bytes);
                }
            }
        }
    }
};

/// Pixels that an MCU gives. A lone component has one block in its MCU, whatever its sampling factors say.
struct McuSize {
    JDIMENSION width;
    JDIMENSION height;

    McuSize(const jpeg_decompress_struct& info, std::uint32_t scale)
        : width(static_cast<JDIMENSION>(info.num_components == 1 ? 1 : info.max_h_samp_factor) * DCTSIZE / scale),
          height(static_cast<JDIMENSION>(info.num_components == 1 ? 1 : info.max_v_samp_factor) * DCTSIZE / scale) {}
};

/// Half-open, in MCUs.
struct Span {
    JDIMENSION begin;
    JDIMENSION end;

    Span(JDIMENSION first_pixel, JDIMENSION end_pixel, JDIMENSION mcu_side)
        : begin(first_pixel / mcu_side), end((end_pixel + mcu_side - 1) / mcu_side) {}
    [[nodiscard]] std::uint64_t size() const { return end - begin; }
};

Span columns_of(const jpeg_decompress_struct& info, const Window& window, std::uint32_t scale) {
    return {window.left, window.left + window.width, McuSize(info, scale).width};
}

// Chroma that is upsampled downwards needs the row above and the row below, which libjpeg transforms for itself.
Span rows_of(const jpeg_decompress_struct& info, const Window& window, std::uint32_t scale) {
    const JDIMENSION margin = info.do_fancy_upsampling && is_subsampled_down(info) ? 1 : 0;
    return {std::max(window.top, margin) - margin, std::min(window.top + window.height + margin, info.output_height),
            McuSize(info, scale).height};
}

DecodeCounters count_units(const jpeg_decompress_struct& info, const Window& window, std::uint32_t scale) {
    const McuSize unscaled(info, 1);
    const Span all_columns(0, info.image_width, unscaled.width);
    const Span all_rows(0, info.image_height, unscaled.height);
    return {all_columns.size() * all_rows.size(),
            columns_of(info, window, scale).size() * rows_of(info, window, scale).size()};
}

}  // namespace

std::size_t working_bytes(const ImageInfo& info) noexcept {
    const std::size_t rows = 64 * info.shape.row_bytes();
    if (info.variant == "baseline" && !info.buffered) return rows;
    // All coefficients are there before the first pixel is: 16 bits each, in whole MCUs.
    const std::size_t components = info.shape.channels == 1 ? 1 : info.color == "rgb" ? 3 : 4;
    const auto padded = [](std::uint32_t side) { return (std::size_t{side} + 31) / 32 * 32; };
    return 2 * components * padded(info.shape.width) * padded(info.shape.height) + rows;
}

void decode(ByteView data, const ImageInfo& seen, const DecodeOptions& options, Scans scans, ImageView out) {
    Decompressor decompressor(data);
    jpeg_decompress_struct& info = decompressor.info();
    decompressor.read_header();
    check_agreement(info, seen);
    if (decode_strips(decompressor, data, options, out)) return;
    set_output(info, options);
    if (scans == Scans::any) info.do_block_smoothing = FALSE;
    decompressor.run([&] { jpeg_start_decompress(&info); });
    if (scans == Scans::all && jpeg_has_multiple_scans(&info)) decompressor.check_complete();

    const Region region = options.region.value_or(Region{0, 0, info.output_height, info.output_width});
    Window window = window_for(info, region);
    if (window.width != info.output_width) {
        decompressor.run([&] { jpeg_crop_scanline(&info, &window.left, &window.width); });  // widens it to whole MCUs
    }
    std::optional<HuffmanDecoder> huffman;
    if (!options.plain && HuffmanDecoder::suits(info)) {
        const Span columns = columns_of(info, window, options.scale);
        huffman.emplace(info, data, HuffmanDecoder::Columns{columns.begin, columns.end});
    }
    if (window.top != 0) decompressor.run([&] { jpeg_skip_scanlines(&info, window.top); });
    if (window.left == region.x && window.width == region.width && window.top == region.y &&
        info.out_color_space != JCS_CMYK) {
        decompressor.run([&] { read_rows(info, out.data, out.row_stride, region.height); });
    } else {
        const std::size_t stride = std::size_t{window.width} * static_cast<std::size_t>(info.output_components);
        ByteBuffer scratch(stride * kRowsPerCall);
        const ThroughScratch rows{window, region, out, scratch.data(), stride};
        decompressor.run([&] { rows.read(info); });
    }
    if (options.counters != nullptr) *options.counters = count_units(info, window, options.scale);
}

}  // namespace penstock::jpeg
