// Encoding with libjpeg's accurate forward DCT, as Pillow encodes.
#include <algorithm>
#include <array>
#include <string>

#include "codecs/jpeg.h"
#include "codecs/jpeg_library.h"
#include "codecs/jpeg_rows.h"

namespace penstock::jpeg {

namespace {

constexpr JDIMENSION kRowsPerCall = 16;

void check_pixels(const PixelShape& shape) {
    const auto refuse = [](const std::string& what, const std::string& fix) {
        throw Error(ErrorCode::unsupported, what, "pixels", fix);
    };
    if (shape.sample_bytes != 1) refuse("jpeg holds 8-bit samples, not 16-bit", "convert to uint8, or choose png");
    if (shape.channels != 1 && shape.channels != 3) {
        refuse("jpeg holds 1 or 3 channels, not " + std::to_string(shape.channels),
               "drop alpha, or choose png or webp");
    }
    if (std::max(shape.width, shape.height) > JPEG_MAX_DIMENSION) {
        refuse("jpeg holds sides up to " + std::to_string(JPEG_MAX_DIMENSION) + ", not " + std::to_string(shape.width) +
                   "x" + std::to_string(shape.height),
               "split the image, or choose png");
    }
}

// Chroma stays 1x1; what varies is how many luma blocks share it.
void set_sampling(jpeg_compress_struct& info, std::string_view subsampling) {
    info.comp_info[0].h_samp_factor = subsampling == "444" ? 1 : 2;
    info.comp_info[0].v_samp_factor = subsampling == "420" ? 2 : 1;
}

void write_rows(jpeg_compress_struct& info, const ConstImageView& pixels) {
    std::array<JSAMPROW, kRowsPerCall> rows;
    while (info.next_scanline < info.image_height) {
        const JDIMENSION num_rows = std::min(info.image_height - info.next_scanline, kRowsPerCall);
        // libjpeg only reads through these pointers; its interface predates const.
        for (JDIMENSION i = 0; i < num_rows; ++i) rows[i] = const_cast<JSAMPROW>(pixels.row(info.next_scanline + i));
        jpeg_write_scanlines(&info, rows.data(), num_rows);
    }
}

}  // namespace

ByteBuffer encode(ConstImageView pixels, const Parameters& parameters) {
    check_pixels(pixels.shape);
    const int quality = static_cast<int>(parameters.integer("q", 95));
    const std::string_view subsampling = parameters.text("subsampling", "420");
    const bool progressive = parameters.flag("progressive");
    Compressor compressor;
    jpeg_compress_struct& info = compressor.info();
    info.image_width = pixels.shape.width;
    info.image_height = pixels.shape.height;
    info.input_components = pixels.shape.channels;
    info.in_color_space = pixels.shape.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    compressor.run([&] {
        jpeg_set_defaults(&info);
        jpeg_set_quality(&info, quality, TRUE);
        if (info.num_components == 3) set_sampling(info, subsampling);
        info.optimize_coding = parameters.flag("optimize") ? TRUE : FALSE;
        info.restart_in_rows = parameters.flag("restart") ? 1 : 0;
        if (progressive) jpeg_simple_progression(&info);
        jpeg_start_compress(&info, TRUE);
        write_rows(info, pixels);
        jpeg_finish_compress(&info);
    });
    return parameters.flag("restart") ? with_row_offsets(compressor.take()) : compressor.take();
}

}  // namespace penstock::jpeg
