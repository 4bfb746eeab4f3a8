#include "pixels/stage.h"

#include <algorithm>
#include <cstring>

namespace penstock {

namespace {

constexpr std::uint32_t kPadding = 0xffffffff;  ///< in place of a source row or column

/// One direction of a stage's geometry.
struct Side {
    std::int32_t source;
    std::int32_t source_length;
    std::uint32_t size;
    std::int32_t window;
    std::int32_t window_length;
    std::int32_t valid;
    std::int32_t valid_length;
    std::uint32_t input;  ///< length of the whole input
    bool source_flipped;
    bool flipped;

    /// The part of the window that exists, in the coordinates of the resized image.
    [[nodiscard]] std::int32_t content_begin() const { return std::max(window, valid); }
    [[nodiscard]] std::int32_t content_length() const {
        return std::max(0, std::min(window + window_length, valid + valid_length) - content_begin());
    }
    /// How much padding stands before the content in the result.
    [[nodiscard]] std::int32_t padding_before() const {
        const std::int32_t before = content_begin() - window;
        return flipped ? window_length - content_length() - before : before;
    }
};

Side vertical_side(const Stage& stage, ImageSize input) {
    return {stage.source.y, stage.source.height, stage.size.height, stage.window.y, stage.window.height,
            stage.valid.y,  stage.valid.height,  input.height,      false,          false};
}

Side horizontal_side(const Stage& stage, ImageSize input) {
    return {stage.source.x, stage.source.width, stage.size.width, stage.window.x,       stage.window.width,
            stage.valid.x,  stage.valid.width,  input.width,      stage.source_flipped, stage.flipped};
}

std::uint32_t scaled_origin(const Side& side, std::uint32_t scale) {
    return static_cast<std::uint32_t>(side.source) / scale;
}

Axis axis_of(const Side& side, Filter filter, std::uint32_t scale) {
    Axis axis;
    const std::uint32_t origin = scaled_origin(side, scale);
    const auto end = static_cast<std::uint32_t>(side.source + side.source_length);
    axis.length = std::min((end + scale - 1) / scale, (side.input + scale - 1) / scale) - origin;
    axis.begin = static_cast<double>(side.source) / scale - origin;
    axis.end = static_cast<double>(end) / scale - origin;
    axis.size = side.size;
    axis.first = static_cast<std::uint32_t>(side.content_begin());
    axis.count = static_cast<std::uint32_t>(side.content_length());
    axis.filter = filter;
    axis.source_flipped = side.source_flipped;
    axis.flipped = side.flipped;
    if (side.source_flipped) {
        const double begin = axis.begin;
        axis.begin = axis.length - axis.end;
        axis.end = axis.length - begin;
    }
    return axis;
}

std::int32_t floor_modulo(std::int32_t value, std::int32_t period) { return (value % period + period) % period; }

/// Where position `at` of a padded line of `length` samples, itself beginning at 0, is found; kPadding for a fill.
std::uint32_t padded_index(std::int32_t at, std::int32_t length, PaddingMode mode) {
    if (at >= 0 && at < length) return static_cast<std::uint32_t>(at);
    switch (mode) {
        case PaddingMode::constant: return kPadding;
        case PaddingMode::edge: return static_cast<std::uint32_t>(std::clamp(at, 0, length - 1));
        case PaddingMode::symmetric: {
            const std::int32_t folded = floor_modulo(at, 2 * length);
            return static_cast<std::uint32_t>(std::min(folded, 2 * length - 1 - folded));
        }
        case PaddingMode::reflect: {
            if (length == 1) return 0;
            const std::int32_t folded = floor_modulo(at, 2 * length - 2);
            return static_cast<std::uint32_t>(std::min(folded, 2 * length - 2 - folded));
        }
    }
    return kPadding;
}

/// Source sample of every output sample of a side that is not resized, or resized to the nearest.
void index_side(const Side& side, const Stage& stage, Filter filter, AxisTable& table,
                std::vector<std::uint32_t>& out) {
    const auto length = static_cast<std::size_t>(side.window_length);
    out.assign(length, kPadding);
    if (stage.resized) {
        if (side.content_length() == 0) return;
        table.build_nearest(axis_of(side, filter, 1), 0);
        const auto before = static_cast<std::size_t>(side.padding_before());
        for (std::uint32_t i = 0; i < table.count(); ++i) {
            out[before + i] = table.first()[i] + static_cast<std::uint32_t>(side.source);
        }
        return;
    }
    for (std::size_t i = 0; i < length; ++i) {
        const std::uint32_t found =
            padded_index(side.window + static_cast<std::int32_t>(i) - side.valid, side.valid_length, stage.padding);
        const std::size_t place = side.flipped ? length - 1 - i : i;
        out[place] = found == kPadding ? kPadding : found + static_cast<std::uint32_t>(side.valid);
    }
}

Span side_span(const Side& side, const Stage& stage, Filter filter, std::uint32_t scale) {
    const auto length = static_cast<std::uint32_t>(side.content_length());
    if (stage.resized) {
        const std::uint32_t origin = scaled_origin(side, scale);
        if (length == 0) return {origin, origin + 1};
        const Span span = source_span(axis_of(side, filter, scale));
        return {span.begin + origin, span.end + origin};
    }
    const auto valid = static_cast<std::uint32_t>(side.valid);
    if (stage.padding == PaddingMode::constant) {
        const auto begin = length == 0 ? valid : static_cast<std::uint32_t>(side.content_begin());
        return {begin, begin + std::max(1u, length)};
    }
    Span span{kPadding, 0};
    for (std::int32_t i = 0; i < side.window_length; ++i) {
        const std::uint32_t found = padded_index(side.window + i - side.valid, side.valid_length, stage.padding);
        span = {std::min(span.begin, valid + found), std::max(span.end, valid + found + 1)};
    }
    return span;
}

/// Puts the first row last.
class UpendedSink final : public RowSink {
  public:
    UpendedSink(RowSink& inner, std::uint32_t height) : inner_(inner), last_(height - 1) {}
    [[nodiscard]] std::uint8_t* row(std::uint32_t y) override { return inner_.row(last_ - y); }
    void done(std::uint32_t y) override { inner_.done(last_ - y); }

  private:
    RowSink& inner_;
    std::uint32_t last_;
};

/// Puts padding left and right of the content, and whole rows of it above and below.
class PaddingSink final : public RowSink {
  public:
    PaddingSink(RowSink& inner, const std::vector<std::uint8_t>& pixel, const Side& rows, const Side& columns)
        : inner_(inner),
          pixel_(pixel),
          above_(static_cast<std::uint32_t>(rows.padding_before())),
          height_(static_cast<std::uint32_t>(rows.window_length)),
          left_(static_cast<std::size_t>(columns.padding_before())),
          content_(static_cast<std::size_t>(columns.content_length())),
          width_(static_cast<std::size_t>(columns.window_length)) {
        for (std::uint32_t y = 0; y < above_; ++y) fill_row(y);
    }

    [[nodiscard]] std::uint8_t* row(std::uint32_t y) override {
        row_ = inner_.row(above_ + y);
        return row_ + left_ * pixel_.size();
    }
    void done(std::uint32_t y) override {
        fill(row_, left_);
        fill(row_ + (left_ + content_) * pixel_.size(), width_ - left_ - content_);
        inner_.done(above_ + y);
    }
    /// The rows below the `num_rows` of content.
    void finish(std::uint32_t num_rows) {
        for (std::uint32_t y = above_ + num_rows; y < height_; ++y) fill_row(y);
    }

  private:
    void fill(std::uint8_t* out, std::size_t pixels) const {
        for (std::size_t i = 0; i < pixels; ++i) std::memcpy(out + i * pixel_.size(), pixel_.data(), pixel_.size());
    }
    void fill_row(std::uint32_t y) {
        fill(inner_.row(y), width_);
        inner_.done(y);
    }

    RowSink& inner_;
    const std::vector<std::uint8_t>& pixel_;
    std::uint32_t above_;
    std::uint32_t height_;
    std::size_t left_;
    std::size_t content_;
    std::size_t width_;
    std::uint8_t* row_ = nullptr;
};

template <std::size_t kPixelBytes>
void gather_row(const std::uint8_t* source, const std::vector<std::uint32_t>& columns, const std::uint8_t* padding,
                std::uint8_t* out) {
    for (const std::uint32_t column : columns) {
        const std::uint8_t* pixel = column == kPadding ? padding : source + std::size_t{column} * kPixelBytes;
        std::memcpy(out, pixel, kPixelBytes);
        out += kPixelBytes;
    }
}

using GatherRow = void (*)(const std::uint8_t*, const std::vector<std::uint32_t>&, const std::uint8_t*, std::uint8_t*);

GatherRow gather_for(std::size_t pixel_bytes) {
    switch (pixel_bytes) {
        case 1: return gather_row<1>;
        case 2: return gather_row<2>;
        case 3: return gather_row<3>;
        case 4: return gather_row<4>;
        case 6: return gather_row<6>;
        default: return gather_row<8>;
    }
}

bool is_run(const std::vector<std::uint32_t>& indices) {
    return indices.front() != kPadding && indices.back() != kPadding &&
           indices.back() - indices.front() + 1 == indices.size() &&
           std::adjacent_find(indices.begin(), indices.end(),
                              [](std::uint32_t a, std::uint32_t b) { return b != a + 1; }) == indices.end();
}

/// Crops, flips, pads and nearest neighbours: every output pixel is a copy of one pixel.
void gather(const Stage& stage, Filter filter, ConstImageView image, Region covered, ImageSize size,
            StageScratch& scratch, RowSink& sink) {
    index_side(vertical_side(stage, size), stage, filter, scratch.resize.vertical, scratch.rows);
    index_side(horizontal_side(stage, size), stage, filter, scratch.resize.horizontal, scratch.columns);
    for (std::uint32_t& column : scratch.columns) column = column == kPadding ? kPadding : column - covered.x;
    const bool contiguous = is_run(scratch.columns);
    const std::size_t pixel_bytes = scratch.fill.size();
    const GatherRow gather_pixels = gather_for(pixel_bytes);
    for (std::uint32_t y = 0; y < scratch.rows.size(); ++y) {
        std::uint8_t* out = sink.row(y);
        if (scratch.rows[y] == kPadding) {
            for (std::size_t x = 0; x < scratch.columns.size(); ++x) {
                std::memcpy(out + x * pixel_bytes, scratch.fill.data(), pixel_bytes);
            }
        } else if (contiguous) {
            const std::uint8_t* source = image.row(scratch.rows[y] - covered.y);
            std::memcpy(out, source + scratch.columns[0] * pixel_bytes, scratch.columns.size() * pixel_bytes);
        } else {
            gather_pixels(image.row(scratch.rows[y] - covered.y), scratch.columns, scratch.fill.data(), out);
        }
        sink.done(y);
    }
}

/// Weights as [tap][output], between the padding before and behind.
void set_weights(const Axis& axis, std::uint32_t origin, std::size_t before, std::uint8_t sample_bytes,
                 SideTable& out) {
    AxisTable table;
    table.build_fractions(axis, origin);
    const std::uint32_t* counts = table.groups();
    out.taps = *std::max_element(counts, counts + table.count());
    for (std::uint32_t i = 0; i < table.count(); ++i)
        out.first[before + i] = static_cast<std::int32_t>(table.first()[i]);
    const std::size_t length = out.first.size();
    const auto fill = [&](auto& weights, const auto& weight_at) {
        weights.assign(out.taps * length, 0);
        for (std::uint32_t i = 0; i < table.count(); ++i) {
            for (std::uint32_t tap = 0; tap < counts[i]; ++tap) weights[tap * length + before + i] = weight_at(i, tap);
        }
    };
    const auto fraction_at = [&](std::uint32_t i, std::uint32_t tap) { return table.fractions(i)[tap]; };
    if (sample_bytes == 2) return fill(out.fractions, fraction_at);
    fill(out.weights, [&](std::uint32_t i, std::uint32_t tap) { return to_weight(fraction_at(i, tap)); });
}

/// Copies: one tap of weight 1.
void set_copies(const std::vector<std::uint32_t>& sources, std::uint32_t origin, std::uint8_t sample_bytes,
                SideTable& out) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
        if (sources[i] != kPadding) out.first[i] = static_cast<std::int32_t>(sources[i] - origin);
    }
    if (sample_bytes == 2) {
        out.fractions.assign(sources.size(), 1.0);
    } else {
        out.weights.assign(sources.size(), std::int32_t{1} << kWeightBits);
    }
}

SideTable side_table(const Side& side, const Stage& stage, Filter filter, std::uint32_t origin,
                     std::uint8_t sample_bytes) {
    SideTable out;
    out.first.assign(static_cast<std::size_t>(side.window_length), kNoSource);
    if (!stage.resized || filter == Filter::nearest || side.content_length() == 0) {
        std::vector<std::uint32_t> sources;
        AxisTable nearest;
        index_side(side, stage, filter, nearest, sources);
        set_copies(sources, origin, sample_bytes, out);
    } else {
        set_weights(axis_of(side, filter, 1), origin - scaled_origin(side, 1),
                    static_cast<std::size_t>(side.padding_before()), sample_bytes, out);
    }
    return out;
}

/// The outputs in the other order.
void reverse_side(SideTable& side) {
    const auto length = static_cast<std::ptrdiff_t>(side.first.size());
    std::ranges::reverse(side.first);
    const auto reverse_taps = [&](auto& weights) {
        for (auto tap = weights.begin(); tap != weights.end(); tap += length) std::reverse(tap, tap + length);
    };
    reverse_taps(side.weights);
    reverse_taps(side.fractions);
}

}  // namespace

void set_fill(const Fill& fill, PixelShape shape, std::vector<std::uint8_t>& pixel) {
    pixel.resize(std::size_t{shape.channels} * shape.sample_bytes);
    for (std::size_t c = 0; c < shape.channels; ++c) {
        const float wanted = fill.empty() ? 0.0f : fill[std::min(c, fill.size() - 1)];
        const float top = shape.sample_bytes == 1 ? 255.0f : 65535.0f;
        const auto value = static_cast<std::uint16_t>(std::clamp(wanted, 0.0f, top));
        if (shape.sample_bytes == 1) {
            pixel[c] = static_cast<std::uint8_t>(value);
        } else {
            std::memcpy(pixel.data() + c * 2, &value, 2);
        }
    }
}

StageTables stage_tables(const Stage& stage, Filter filter, const Fill& fill, Region covered, ImageSize size,
                         std::uint8_t sample_bytes) {
    StageTables tables{side_table(vertical_side(stage, size), stage, filter, covered.y, sample_bytes),
                       side_table(horizontal_side(stage, size), stage, filter, covered.x, sample_bytes),
                       {}};
    if (stage.upended) reverse_side(tables.rows);
    std::vector<std::uint8_t> pixel;
    set_fill(fill, {1, 1, 4, sample_bytes}, pixel);
    for (std::size_t c = 0; c < tables.fill.size(); ++c) {
        std::memcpy(&tables.fill[c], pixel.data() + c * sample_bytes, sample_bytes);  // little-endian
    }
    return tables;
}

Region stage_region(const Stage& stage, Filter filter, ImageSize size, std::uint32_t scale) {
    const Span rows = side_span(vertical_side(stage, size), stage, filter, scale);
    const Span columns = side_span(horizontal_side(stage, size), stage, filter, scale);
    return {rows.begin, columns.begin, rows.end - rows.begin, columns.end - columns.begin};
}

void run_stage(const Stage& stage, Filter filter, const Fill& fill, ConstImageView image, Region covered,
               ImageSize size, std::uint32_t scale, StageScratch& scratch, RowSink& sink) {
    if (stage.upended) {
        Stage upright = stage;
        upright.upended = false;
        UpendedSink upended(sink, stage.output().height);
        return run_stage(upright, filter, fill, image, covered, size, scale, scratch, upended);
    }
    set_fill(fill, image.shape, scratch.fill);
    if (!stage.resized || filter == Filter::nearest) {
        return gather(stage, filter, image, covered, size, scratch, sink);
    }
    const Side rows = vertical_side(stage, size);
    const Side columns = horizontal_side(stage, size);
    const std::uint32_t top = covered.y - scaled_origin(rows, scale);
    const std::uint32_t left = covered.x - scaled_origin(columns, scale);
    if (!stage.padded()) {
        return resize(image, axis_of(rows, filter, scale), top, axis_of(columns, filter, scale), left, scratch.resize,
                      sink);
    }
    PaddingSink padding(sink, scratch.fill, rows, columns);
    const bool empty = rows.content_length() == 0 || columns.content_length() == 0;
    if (!empty) {
        resize(image, axis_of(rows, filter, scale), top, axis_of(columns, filter, scale), left, scratch.resize,
               padding);
    }
    padding.finish(empty ? 0 : static_cast<std::uint32_t>(rows.content_length()));
}

}  // namespace penstock
