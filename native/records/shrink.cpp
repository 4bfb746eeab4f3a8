#include "records/shrink.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pixels/resize.h"

namespace penstock {

namespace {

Axis whole_axis(std::uint32_t length, std::uint32_t size, Filter filter) {
    Axis axis;
    axis.end = length;
    axis.length = length;
    axis.size = size;
    axis.count = size;
    axis.filter = filter;
    return axis;
}

void take_nearest(ConstImageView source, ImageView out) {
    AxisTable rows, columns;
    rows.build_nearest(whole_axis(source.shape.height, out.shape.height, Filter::nearest), 0);
    columns.build_nearest(whole_axis(source.shape.width, out.shape.width, Filter::nearest), 0);
    const std::size_t pixel_bytes = std::size_t{source.shape.channels} * source.shape.sample_bytes;
    for (std::uint32_t y = 0; y < out.shape.height; ++y) {
        const std::uint8_t* from = source.row(rows.first()[y]);
        std::uint8_t* to = out.row(y);
        for (std::uint32_t x = 0; x < out.shape.width; ++x, to += pixel_bytes) {
            std::memcpy(to, from + columns.first()[x] * pixel_bytes, pixel_bytes);
        }
    }
}

std::uint32_t scaled(std::uint32_t side, double factor) {
    return std::max(1u, static_cast<std::uint32_t>(std::lround(side * factor)));
}

}  // namespace

PixelShape limited(const PixelShape& shape, const SizeLimit& limit) noexcept {
    const std::uint32_t longer = std::max(shape.width, shape.height);
    const std::uint32_t shorter = std::min(shape.width, shape.height);
    double factor = 1;
    if (limit.max_side != 0 && longer > limit.max_side) factor = std::min(factor, double(limit.max_side) / longer);
    if (limit.short_side != 0 && shorter > limit.short_side) {
        factor = std::min(factor, double(limit.short_side) / shorter);
    }
    PixelShape result = shape;
    if (factor < 1) {
        result.width = scaled(shape.width, factor);
        result.height = scaled(shape.height, factor);
    }
    return result;
}

OwnedImage shrink(const OwnedImage& image, const PixelShape& shape, bool nearest) {
    OwnedImage result(shape, BufferPool::shared());
    if (nearest) {
        take_nearest(image.view(), result.view());
        return result;
    }
    ImageSink sink(result.view());
    ResizeScratch scratch;
    resize(image.view(), whole_axis(image.shape().height, shape.height, Filter::lanczos), 0,
           whole_axis(image.shape().width, shape.width, Filter::lanczos), 0, scratch, sink);
    return result;
}

}  // namespace penstock
