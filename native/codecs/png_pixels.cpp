#include "codecs/png_pixels.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace penstock::png {

namespace {

static_assert(std::endian::native == std::endian::little, "16-bit samples are swapped into native order");

using Byte = std::uint8_t;

bool is_single_byte_sample(const Header& header) { return header.samples() == 1 && header.depth <= 8; }

void swap_samples(const Byte* from, std::size_t num_samples, Byte* to) {
    for (std::size_t i = 0; i < num_samples; ++i) {
        std::uint16_t sample = 0;
        std::memcpy(&sample, from + 2 * i, 2);
        sample = static_cast<std::uint16_t>(sample << 8 | sample >> 8);
        std::memcpy(to + 2 * i, &sample, 2);
    }
}

// Adds an alpha sample: transparent where the stored colour is the key.
template <std::size_t kSampleBytes>
void add_alpha(const Byte* stored, const Byte* key, std::size_t color_samples, std::size_t count, Byte* out) {
    const std::size_t color_bytes = color_samples * kSampleBytes;
    for (std::size_t i = 0; i < count; ++i) {
        const Byte* color = stored + i * color_bytes;
        Byte* pixel = out + i * (color_bytes + kSampleBytes);
        const int alpha = std::memcmp(color, key, color_bytes) == 0 ? 0 : 0xff;
        if constexpr (kSampleBytes == 1) {
            std::memcpy(pixel, color, color_bytes);
        } else {
            swap_samples(color, color_samples, pixel);
        }
        std::memset(pixel + color_bytes, alpha, kSampleBytes);
    }
}

}  // namespace

PixelShape decoded_shape(const Chunks& chunks) noexcept {
    const Header& header = chunks.header;
    std::size_t channels = header.color == ColorType::palette ? 3 : header.samples();
    if (!chunks.transparency.empty()) ++channels;
    return {header.height, header.width, static_cast<Byte>(channels), static_cast<Byte>(header.depth == 16 ? 2 : 1)};
}

PixelConversion::PixelConversion(const Chunks& chunks, bool palette_indices) noexcept : depth_(chunks.header.depth) {
    const PixelShape shape = decoded_shape(chunks);
    const bool is_palette = chunks.header.color == ColorType::palette;
    const bool keyed = !chunks.transparency.empty();
    pixel_bytes_ = std::size_t{shape.channels} * shape.sample_bytes;
    if (is_palette) {
        if (palette_indices) pixel_bytes_ = 1;
        kind_ = palette_indices && depth_ == 8 ? Kind::copy : Kind::look_up;
        if (kind_ == Kind::look_up) fill_palette(chunks, palette_indices);
    } else if (is_single_byte_sample(chunks.header) && (keyed || depth_ < 8)) {
        kind_ = Kind::look_up;
        fill_greys(chunks);
    } else if (keyed) {
        kind_ = Kind::key;
        color_samples_ = static_cast<Byte>(chunks.header.samples());
        // The key is stored as 16-bit numbers; of an 8-bit image's only the low bytes count.
        const std::size_t step = depth_ == 16 ? 1 : 2;
        for (std::size_t i = 0; i < color_samples_ * std::size_t{shape.sample_bytes}; ++i) {
            key_[i] = chunks.transparency[i * step + step - 1];
        }
    } else if (depth_ == 16) {
        kind_ = Kind::swap_bytes;
    }
}

// An index without an entry decodes to opaque black, as libpng has it.
void PixelConversion::fill_palette(const Chunks& chunks, bool indices) noexcept {
    for (std::size_t i = 0; i < table_.size(); ++i) {
        std::array<Byte, 4>& entry = table_[i];
        entry = {0, 0, 0, 255};
        if (indices) entry[0] = static_cast<Byte>(i);
        if (indices || i >= chunks.palette.size() / 3) continue;
        std::copy_n(chunks.palette.data() + 3 * i, 3, entry.data());
        if (i < chunks.transparency.size()) entry[3] = chunks.transparency[i];
    }
}

// Few bits are stretched to 0…255; the key is compared as stored.
void PixelConversion::fill_greys(const Chunks& chunks) noexcept {
    const std::size_t top = (std::size_t{1} << depth_) - 1;
    for (std::size_t i = 0; i <= top; ++i) {
        const bool is_key = !chunks.transparency.empty() && chunks.transparency[1] == i;
        table_[i] = {static_cast<Byte>(i * 255 / top), static_cast<Byte>(is_key ? 0 : 255), 0, 0};
    }
}

void PixelConversion::convert(const Byte* stored, std::uint32_t begin, std::uint32_t count, Byte* out) const noexcept {
    const std::size_t sample_bytes = depth_ == 16 ? 2 : 1;
    switch (kind_) {
        case Kind::copy: std::memcpy(out, stored + begin * pixel_bytes_, count * pixel_bytes_); break;
        case Kind::swap_bytes: swap_samples(stored + begin * pixel_bytes_, count * pixel_bytes_ / 2, out); break;
        case Kind::key: {
            const Byte* from = stored + begin * sample_bytes * color_samples_;
            const auto add = sample_bytes == 1 ? &add_alpha<1> : &add_alpha<2>;
            add(from, key_.data(), color_samples_, count, out);
            break;
        }
        case Kind::look_up: look_up_pixels(table_, pixel_bytes_, stored, depth_, begin, count, out); break;
    }
}

}  // namespace penstock::png
