#include "pixels/finish.h"

#include <cmath>
#include <cstring>
#include <string>

#include "base/cpu.h"
#include "base/error.h"

namespace penstock {

namespace {

[[noreturn]] void refuse(const std::string& problem, const char* fix) {
    throw Error(ErrorCode::bad_argument, problem, "transforms", fix);
}

const char* name_of(SampleType type) {
    switch (type) {
        case SampleType::uint8: return "uint8";
        case SampleType::uint16: return "uint16";
        case SampleType::float32: return "float32";
        case SampleType::float16: return "float16";
    }
    return "";
}

bool is_integer(SampleType type) { return type == SampleType::uint8 || type == SampleType::uint16; }

/// Whether pixels can become others by repeating a grey channel or leaving out an alpha channel.
bool adaptable(std::uint8_t from, std::uint8_t to) {
    return from == to || (to == 3 && from != 3) || (to == 1 && from == 2);
}

/// Samples in the order of the slot: `plane` 0 keeps pixels together.
template <typename From, typename To, typename Convert>
void convert_row(const From* row, std::size_t pixels, std::size_t channels, To* out, std::size_t plane,
                 Convert convert) {
    if (plane == 0) {
        for (std::size_t x = 0; x < pixels; ++x) {
            for (std::size_t c = 0; c < channels; ++c) out[x * channels + c] = convert(row[x * channels + c], c);
        }
        return;
    }
    for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t x = 0; x < pixels; ++x) out[c * plane + x] = convert(row[x * channels + c], c);
    }
}

/// The float of a 16-bit sample.
float value_at(const Affine& f, std::uint16_t sample) {
    const auto slope = static_cast<double>(f.high) + static_cast<double>(f.low);
    return static_cast<float>((sample - static_cast<double>(f.center)) * slope + static_cast<double>(f.offset));
}

template <typename Sample>
void adapt_row(const Sample* from, std::size_t from_channels, std::size_t to_channels, std::size_t pixels, Sample* to) {
    for (std::size_t x = 0; x < pixels; ++x) {
        const Sample* pixel = from + x * from_channels;
        for (std::size_t c = 0; c < to_channels; ++c) to[x * to_channels + c] = pixel[from_channels <= 2 ? 0 : c];
    }
}

}  // namespace

void FinishPlan::to_dtype(const ToDtypeOperation& operation) {
    if (is_integer(operation.type)) {
        if (float_) {
            refuse(std::string("ToDtype('") + name_of(operation.type) + "') after floating point",
                   "leave out the first ToDtype");
        }
        scaled_ = operation.scale;
        return;
    }
    if (!float_) scaled_ = operation.scale;
    float_ = true;
}

void FinishPlan::normalize(const NormalizeOperation& operation) {
    if (!float_) {
        refuse("Normalize needs floating point", "put ToDtype('float32', scale=True) before it");
    }
    const std::size_t count = operation.mean.size();
    if (count != operation.deviation.size() || count == 0 || count > 4) {
        refuse("Normalize has " + std::to_string(count) + " means and " + std::to_string(operation.deviation.size()) +
                   " standard deviations",
               "give as many of both as the image has channels, or one");
    }
    if (count > 1) channels_ = count;
    for (std::size_t c = 0; c < slopes_.size(); ++c) {
        const double deviation = operation.deviation[std::min(c, count - 1)];
        slopes_[c] /= deviation;
        offsets_[c] = (offsets_[c] - operation.mean[std::min(c, count - 1)]) / deviation;
    }
}

Affine FinishPlan::affine(std::size_t channel, std::uint8_t sample_bytes) const noexcept {
    const double top = sample_bytes == 1 ? 255.0 : 65535.0;
    const double slope = scaled_ ? slopes_[channel] / top : slopes_[channel];
    const double zero = -offsets_[channel] / slope;
    const auto center = static_cast<float>(zero);
    const auto high = static_cast<float>(slope);
    return {center, high, static_cast<float>(slope - static_cast<double>(high)),
            static_cast<float>((static_cast<double>(center) - zero) * slope)};
}

void FinishPlan::complete() {
    if (!float_) return;
    byte_values_.resize(4 * 256);
    for (std::size_t i = 0; i < byte_values_.size(); ++i) {
        const Affine f = affine(i / 256, 1);
        const float d = static_cast<float>(i % 256) - f.center;
        byte_values_[i] = std::fma(d, f.high, std::fma(d, f.low, f.offset));
    }
}

std::vector<float> FinishPlan::values(std::uint8_t sample_bytes) const {
    if (sample_bytes == 1) return byte_values_;
    std::vector<float> values(std::size_t{4} << 16);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = value_at(affine(i >> 16, 2), static_cast<std::uint16_t>(i & 0xffff));
    }
    return values;
}

FloatTable FinishPlan::byte_table() const noexcept {
    return {{affine(0, 1), affine(1, 1), affine(2, 1), affine(3, 1)}, byte_values_.data()};
}

const FinishKernels& active_finish_kernels() noexcept {
#if defined(__x86_64__)
    const SimdPath path = active_simd_path();
    if (path >= SimdPath::avx512) return kFinishAvx512;
    if (path >= SimdPath::avx2) return kFinishAvx2;
#endif
    return kFinishPlain;
}

void check_finish(const FinishPlan& plan, PixelShape shape, std::uint8_t channels, SampleType type) {
    if (!adaptable(shape.channels, channels)) {
        refuse("pixels of " + std::to_string(shape.channels) + " channels cannot become " + std::to_string(channels),
               "decode the image with the channels that the batch has");
    }
    if (plan.channels() != 0 && plan.channels() != channels) {
        refuse("Normalize is for " + std::to_string(plan.channels()) + " channels, the image has " +
                   std::to_string(channels),
               "give as many means as the image has channels");
    }
    if (plan.is_float() == is_integer(type)) {
        refuse(std::string("the transforms do not give ") + name_of(type), "add a ToDtype");
    }
    if (type == SampleType::uint8 && shape.sample_bytes == 2 && !plan.scaled()) {
        refuse("16-bit samples do not fit uint8", "add ToDtype('uint8', scale=True)");
    }
}

Finisher::Finisher(const FinishPlan& plan, PixelShape shape, const Slot& slot, FinishScratch& scratch,
                   const ByteTables* tables)
    : shape_(shape), slot_(slot), scaled_(plan.scaled()), scratch_(scratch), tables_(tables) {
    check_finish(plan, shape, slot.channels, slot.type);
    if (is_integer(slot.type)) return;
    if (shape.sample_bytes == 1) {
        floats_ = plan.byte_table();
    } else {
        for (std::size_t c = 0; c < slot.channels; ++c) floats_.affine[c] = plan.affine(c, shape.sample_bytes);
    }
}

void Finisher::row(const std::uint8_t* pixels, std::uint32_t y) {
    if (tables_ != nullptr) {
        // In the nearest cache: with AVX-512 this costs less than floats from a table of 256.
        scratch_.levels.resize(shape_.row_bytes());
        active_table_kernels().look_up(pixels, shape_.width, shape_.channels, *tables_, scratch_.levels.data());
        pixels = scratch_.levels.data();
    }
    pixels = adapt(pixels);
    if (shape_.sample_bytes == 1) return row_of_bytes(pixels, y);
    row_of_words(reinterpret_cast<const std::uint16_t*>(pixels), y);
}

const std::uint8_t* Finisher::adapt(const std::uint8_t* pixels) {
    if (shape_.channels == slot_.channels) return pixels;
    const std::size_t width = slot_.size.width;
    scratch_.row.resize(width * slot_.channels * shape_.sample_bytes);
    if (shape_.sample_bytes == 1) {
        adapt_row(pixels, shape_.channels, slot_.channels, width, scratch_.row.data());
    } else {
        adapt_row(reinterpret_cast<const std::uint16_t*>(pixels), shape_.channels, slot_.channels, width,
                  reinterpret_cast<std::uint16_t*>(scratch_.row.data()));
    }
    return scratch_.row.data();
}

void Finisher::row_of_bytes(const std::uint8_t* pixels, std::uint32_t y) {
    const std::size_t width = slot_.size.width;
    const std::size_t channels = slot_.channels;
    const bool planes = slot_.layout == Layout::nchw && channels > 1;
    const std::size_t plane = planes ? width * slot_.size.height : 0;
    const std::size_t begin = y * width * (planes ? 1 : channels);
    const FinishKernels& kernels = active_finish_kernels();
    switch (slot_.type) {
        case SampleType::uint8: {
            auto* out = static_cast<std::uint8_t*>(slot_.data) + begin;
            if (!planes) {
                std::memcpy(out, pixels, width * channels);
            } else {
                kernels.split(pixels, width, channels, out, plane);
            }
            return;
        }
        case SampleType::uint16: {
            const int shift = scaled_ ? 8 : 0;
            auto* out = static_cast<std::uint16_t*>(slot_.data) + begin;
            return convert_row(pixels, width, channels, out, plane, [shift](std::uint8_t value, std::size_t) {
                return static_cast<std::uint16_t>(value << shift);
            });
        }
        case SampleType::float32:
            return kernels.to_floats(pixels, width, channels, floats_, static_cast<float*>(slot_.data) + begin, plane);
        case SampleType::float16:
            return kernels.to_halves(pixels, width, channels, floats_, static_cast<std::uint16_t*>(slot_.data) + begin,
                                     plane);
    }
}

void Finisher::row_of_words(const std::uint16_t* pixels, std::uint32_t y) {
    const std::size_t width = slot_.size.width;
    const std::size_t channels = slot_.channels;
    const bool planes = slot_.layout == Layout::nchw && channels > 1;
    const std::size_t plane = planes ? width * slot_.size.height : 0;
    const std::size_t begin = y * width * (planes ? 1 : channels);
    const auto value_of = [this](std::uint16_t sample, std::size_t c) { return value_at(floats_.affine[c], sample); };
    switch (slot_.type) {
        case SampleType::uint8:
            return convert_row(pixels, width, channels, static_cast<std::uint8_t*>(slot_.data) + begin, plane,
                               [](std::uint16_t value, std::size_t) { return static_cast<std::uint8_t>(value >> 8); });
        case SampleType::uint16:
            return convert_row(pixels, width, channels, static_cast<std::uint16_t*>(slot_.data) + begin, plane,
                               [](std::uint16_t value, std::size_t) { return value; });
        case SampleType::float32:
            return convert_row(pixels, width, channels, static_cast<float*>(slot_.data) + begin, plane, value_of);
        case SampleType::float16:
            return convert_row(pixels, width, channels, static_cast<std::uint16_t*>(slot_.data) + begin, plane,
                               [&](std::uint16_t sample, std::size_t c) { return to_half(value_of(sample, c)); });
    }
}

}  // namespace penstock
