// `webp` through libwebp: lossy (VP8) and lossless (VP8L), RGB and RGBA, 8 bit. Animations are refused.
#include <webp/decode.h>
#include <webp/encode.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/error.h"
#include "codecs/builtin.h"
#include "codecs/webp_container.h"

namespace penstock {

namespace {

constexpr const char* kDamaged = "the file is damaged: restore it from its source";
constexpr std::uint32_t kMacroblockRows = 16;
constexpr std::uint32_t kFilterRows = 8;  // the strongest loop filter looks this far below

[[noreturn]] void throw_status(VP8StatusCode status, ByteView data) {
    switch (status) {
        case VP8_STATUS_NOT_ENOUGH_DATA:
        case VP8_STATUS_SUSPENDED:
            throw Error(ErrorCode::truncated,
                        "webp data of " + std::to_string(data.size()) + " bytes ends before the image does",
                        at_byte("webp", data.size()), "the file is cut off: restore it from its source");
        case VP8_STATUS_OUT_OF_MEMORY:
        case VP8_STATUS_USER_ABORT:  // the decoder ran out of memory for its rows; nothing else aborts
            throw Error(ErrorCode::out_of_memory, "libwebp could not allocate its working memory", "memory",
                        "lower max_pixels, or free memory");
        case VP8_STATUS_UNSUPPORTED_FEATURE:
            throw Error(ErrorCode::unsupported, "webp data uses a feature that libwebp does not know",
                        "bitstream of the webp data", "convert it with a tool that can read it");
        default: throw Error(ErrorCode::corrupt, "webp data is not valid", "bitstream of the webp data", kDamaged);
    }
}

// What has to be decoded of a lossy image so that the pixels of `wanted` equal those of a full decode.
//
// Chroma of VP8 has half the resolution and is interpolated between neighbours. At the edge of a crop libwebp has no
// neighbours, and it moves a crop's corner to even coordinates. So every inner edge gets one more chroma sample.
// An alpha plane with the horizontal filter predicts a row's first sample from the row above, which libwebp 1.2.4
// forgets at the top of a crop: with alpha a window starts at the top of the image.
Region lossy_window(const Region& wanted, const PixelShape& image) {
    const auto begin = [](std::uint32_t at) { return at == 0 ? 0 : (at - 1) & ~1U; };
    const auto end = [](std::uint32_t at, std::uint32_t limit) { return std::min(at | 1U, limit); };
    const std::uint32_t y = image.channels == 4 ? 0 : begin(wanted.y);
    const std::uint32_t x = begin(wanted.x);
    return {y, x, end(wanted.y + wanted.height, image.height) - y, end(wanted.x + wanted.width, image.width) - x};
}

// Rows that libwebp reconstructs for a window: it starts at the top and stops where the window is done.
std::uint32_t rows_decoded(const Region& window, const ImageInfo& info) {
    const std::uint32_t bottom = window.y + window.height;
    if (info.lossless) return bottom;
    return std::min(info.shape.height,
                    (bottom + kFilterRows + kMacroblockRows - 1) / kMacroblockRows * kMacroblockRows);
}

bool is_whole(const Region& region, const PixelShape& shape) {
    return region.width == shape.width && region.height == shape.height;
}

void set_output(WebPDecoderConfig& config, ImageView out) {
    if (out.row_stride > std::size_t{std::numeric_limits<int>::max()}) {
        throw Error(ErrorCode::bad_output, "rows of the output are more than 2 GiB apart", "out",
                    "pass a contiguous array");
    }
    config.output.colorspace = out.shape.channels == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = out.data;
    config.output.u.RGBA.stride = static_cast<int>(out.row_stride);
    config.output.u.RGBA.size = out.row_stride * (out.shape.height - 1) + out.shape.row_bytes();
}

// Decodes `window` (of the full-size image) or, at a scale, the whole image; `out` has the size of the result.
void decode_window(ByteView data, const ImageInfo& info, const DecodeOptions& wishes, const Region& window,
                   ImageView out) {
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) {
        throw Error(ErrorCode::unsupported, "the installed libwebp has another interface than the one built for",
                    "libwebp", "rebuild penstock");
    }
    set_output(config, out);
    WebPDecoderOptions& options = config.options;
    options.no_fancy_upsampling = wishes.fast ? 1 : 0;
    if (wishes.scale != 1) {
        options.use_scaling = 1;
        options.scaled_width = static_cast<int>(out.shape.width);
        options.scaled_height = static_cast<int>(out.shape.height);
    } else if (!is_whole(window, info.shape)) {
        options.use_cropping = 1;
        options.crop_left = static_cast<int>(window.x);
        options.crop_top = static_cast<int>(window.y);
        options.crop_width = static_cast<int>(window.width);
        options.crop_height = static_cast<int>(window.height);
    }
    VP8StatusCode status = WebPDecode(data.data(), data.size(), &config);
    // Inside of an alpha plane or a Huffman table, it calls want of memory damage, too; a second try tells them apart.
    if (status == VP8_STATUS_BITSTREAM_ERROR) status = WebPDecode(data.data(), data.size(), &config);
    WebPFreeDecBuffer(&config.output);
    if (status != VP8_STATUS_OK) throw_status(status, data);
    // libwebp reads the header again, and checks that the image fits the output; a smaller one would leave it
    // unwritten.
    ImageInfo now = info;
    now.shape.width = static_cast<std::uint32_t>(config.input.width);
    now.shape.height = static_cast<std::uint32_t>(config.input.height);
    check_same_image("webp", now, info);
    if (config.output.width != static_cast<int>(out.shape.width) ||
        config.output.height != static_cast<int>(out.shape.height)) {
        now.shape = {};
        check_same_image("webp", now, info);
    }
}

void refuse_pixels(const PixelShape& shape) {
    if (shape.sample_bytes != 1 || shape.channels < 3) {
        throw Error(ErrorCode::unsupported,
                    "webp holds 8-bit RGB or RGBA, not " + std::to_string(shape.channels) + " channel(s) of " +
                        std::to_string(shape.sample_bytes * 8) + " bits",
                    "pixels",
                    shape.sample_bytes != 1 ? "choose png or raw, or convert to 8 bits"
                                            : "choose png or raw, or make grey RGB: numpy.stack([grey] * 3, axis=-1)");
    }
    if (shape.width > WEBP_MAX_DIMENSION || shape.height > WEBP_MAX_DIMENSION) {
        throw Error(ErrorCode::unsupported,
                    "image of " + std::to_string(shape.width) + "x" + std::to_string(shape.height) +
                        " pixels is larger than webp's " + std::to_string(WEBP_MAX_DIMENSION) + " a side",
                    "pixels", "choose png or raw");
    }
}

// libwebp's two dials of lossless effort, turned together as in its own presets.
constexpr std::array<float, 7> kLosslessEffort{0, 20, 25, 50, 75, 90, 100};

WebPConfig config_for(const Parameters& parameters) {
    WebPConfig config;
    const std::int64_t method = parameters.integer("method", 4);
    bool valid = WebPConfigInit(&config) != 0 && method >= 0 && method <= 6;
    if (valid) {
        config.method = static_cast<int>(method);
        config.lossless = parameters.text("q", "") == "lossless" ? 1 : 0;
        config.exact = config.lossless;
        config.quality = config.lossless != 0 ? kLosslessEffort[static_cast<std::size_t>(method)]
                                              : static_cast<float>(parameters.integer("q", 90));
        valid = WebPValidateConfig(&config) != 0;
    }
    if (!valid) {
        throw Error(ErrorCode::bad_parameter, "libwebp does not accept these parameters", "format",
                    "choose q from 0 to 100 (or lossless) and method from 0 to 6");
    }
    return config;
}

// Where libwebp writes; it does not always report that writing failed.
struct Output {
    ByteBuffer bytes;
    bool is_out_of_memory = false;
};

int append_output(const std::uint8_t* bytes, std::size_t size, const WebPPicture* picture) {
    auto* output = static_cast<Output*>(picture->custom_ptr);
    try {
        output->bytes.append(bytes, size);
    } catch (...) {
        output->is_out_of_memory = true;
    }
    return output->is_out_of_memory ? 0 : 1;
}

// A WebPPicture that frees what libwebp hangs on it.
class Picture {
  public:
    Picture(ConstImageView pixels, bool argb, Output& out) : output_(out) {
        if (WebPPictureInit(&picture_) == 0) throw_error(VP8_ENC_ERROR_INVALID_CONFIGURATION);
        picture_.use_argb = argb ? 1 : 0;
        picture_.width = static_cast<int>(pixels.shape.width);
        picture_.height = static_cast<int>(pixels.shape.height);
        picture_.writer = append_output;
        picture_.custom_ptr = &out;
        const auto import = pixels.shape.channels == 4 ? WebPPictureImportRGBA : WebPPictureImportRGB;
        if (import(&picture_, pixels.data, static_cast<int>(pixels.row_stride)) == 0) {
            WebPPictureFree(&picture_);
            throw_error(VP8_ENC_ERROR_OUT_OF_MEMORY);
        }
    }
    ~Picture() { WebPPictureFree(&picture_); }
    Picture(const Picture&) = delete;
    Picture& operator=(const Picture&) = delete;

    void encode(const WebPConfig& config) {
        const bool is_done = WebPEncode(&config, &picture_) != 0;
        if (output_.is_out_of_memory) throw_error(VP8_ENC_ERROR_BAD_WRITE);
        if (!is_done) throw_error(picture_.error_code);
    }

  private:
    [[noreturn]] static void throw_error(WebPEncodingError error) {
        if (error == VP8_ENC_ERROR_PARTITION0_OVERFLOW || error == VP8_ENC_ERROR_PARTITION_OVERFLOW) {
            throw Error(ErrorCode::unsupported, "image is too detailed for lossy webp, whose partitions are limited",
                        "pixels", "choose webp:lossless or a lower q");
        }
        if (error == VP8_ENC_ERROR_OUT_OF_MEMORY || error == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY ||
            error == VP8_ENC_ERROR_BAD_WRITE) {
            throw Error(ErrorCode::out_of_memory, "libwebp could not allocate its working memory", "memory",
                        "free memory, or encode a smaller image");
        }
        throw Error(ErrorCode::unsupported, "libwebp refused the image (its error " + std::to_string(error) + ")",
                    "pixels", "choose png or raw");
    }

    Output& output_;
    WebPPicture picture_{};
};

class WebpCodec final : public Codec {
  public:
    std::string_view name() const noexcept override { return "webp"; }

    bool sniff(ByteView data) const noexcept override { return webp::has_signature(data); }

    bool can_scale(std::uint32_t scale) const noexcept override {
        return scale == 1 || scale == 2 || scale == 4 || scale == 8;
    }

    ImageInfo inspect(ByteView data) const override {
        WebPBitstreamFeatures features;
        const VP8StatusCode status = WebPGetFeatures(data.data(), data.size(), &features);
        if (status != VP8_STATUS_OK) throw_status(status, data);
        // libwebp also takes bare bitstreams, which no file is.
        if (!sniff(data)) throw Error(ErrorCode::corrupt, "no WebP signature", at_byte("webp", 0), kDamaged);
        if (features.has_animation != 0) {
            throw Error(ErrorCode::unsupported, "animated webp is not supported", "header of the webp data",
                        "save one frame as an image of its own");
        }
        ImageInfo info;
        info.shape = {static_cast<std::uint32_t>(features.height), static_cast<std::uint32_t>(features.width),
                      static_cast<std::uint8_t>(features.has_alpha != 0 ? 4 : 3), 1};
        info.lossless = features.format == 2;
        info.color = features.has_alpha != 0 ? "rgb+alpha" : "rgb";
        info.variant = info.lossless ? "lossless" : "lossy";
        info.orientation = webp::orientation_of(data);
        return info;
    }

    // Lossless images are held as 32-bit pixels, and a window that is wider than the region is cut out of a copy.
    [[nodiscard]] std::size_t working_bytes(const ImageInfo& info) const noexcept override {
        const std::size_t pixels = std::size_t{info.shape.width} * info.shape.height;
        return 5 * pixels + info.shape.bytes() + Codec::working_bytes(info);
    }

    void decode(ByteView data, const ImageInfo& info, const DecodeOptions& options, ImageView out) const override {
        const PixelShape whole = decoded_shape(info, options);
        const Region wanted = options.region.value_or(Region{0, 0, whole.height, whole.width});
        Region window = wanted;
        // libwebp crops before it scales, which moves the sampling grid: a region of a scaled image is cut out of it.
        if (options.scale != 1) window = {0, 0, whole.height, whole.width};
        if (options.scale == 1 && !info.lossless) window = lossy_window(wanted, whole);
        if (options.counters != nullptr) {
            const std::uint32_t rows = options.scale == 1 ? rows_decoded(window, info) : info.shape.height;
            *options.counters = {info.shape.height, rows};
        }
        if (window.width == wanted.width && window.height == wanted.height) {
            decode_window(data, info, options, window, out);
            return;
        }
        PixelShape window_shape = whole;
        window_shape.width = window.width;
        window_shape.height = window.height;
        OwnedImage scratch(window_shape, options.working_pool());
        decode_window(data, info, options, window, scratch.view());
        const std::size_t skipped_bytes = std::size_t{wanted.x - window.x} * whole.channels;
        for (std::uint32_t y = 0; y < wanted.height; ++y) {
            std::memcpy(out.row(y), scratch.view().row(wanted.y - window.y + y) + skipped_bytes, out.shape.row_bytes());
        }
    }

    ByteBuffer encode(ConstImageView pixels, const Parameters& parameters) const override {
        refuse_pixels(pixels.shape);
        const WebPConfig config = config_for(parameters);
        Output output;
        Picture(pixels, config.lossless != 0, output).encode(config);
        ByteBuffer& out = output.bytes;
        // libwebp drops an alpha channel that is opaque everywhere; a decode has to give back as many channels.
        if (pixels.shape.channels == 4 && inspect(out.view()).shape.channels == 3) {
            webp::add_opaque_alpha(out, pixels.shape.width, pixels.shape.height);
        }
        return std::move(out);
    }
};

}  // namespace

const Codec& webp_codec() noexcept {
    static const WebpCodec codec;
    return codec;
}

}  // namespace penstock
