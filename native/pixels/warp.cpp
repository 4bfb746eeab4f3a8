#include "pixels/warp.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/cpu.h"
#include "pixels/stage.h"
#include "pixels/warp_kernels.h"

namespace penstock {

namespace {

const WarpKernels& active_kernels() noexcept {
#if defined(__x86_64__)
    const SimdPath path = active_simd_path();
    if (path >= SimdPath::avx512) return kWarpAvx512;
    if (path >= SimdPath::avx2) return kWarpAvx2;
#endif
    return kWarpPlain;
}

/// Output pixels [begin, end) of a row.
struct Run {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

/// One warp of one image.
struct Job {
    const Warp& warp;
    ConstImageView image;
    const std::vector<std::uint8_t>& fill;
    std::size_t pixel_bytes;

    [[nodiscard]] double width() const { return image.shape.width; }
    [[nodiscard]] double height() const { return image.shape.height; }

    /// Where output pixel (x, y) lies in the input.
    [[nodiscard]] Point position(std::uint32_t x, std::uint32_t y) const {
        const WarpMap& m = warp.map;
        const double xin = x + 0.5;
        const double yin = y + 0.5;
        const Point at{m[0] * xin + m[1] * yin + m[2], m[3] * xin + m[4] * yin + m[5]};
        if (!warp.perspective()) return at;
        const double w = m[6] * xin + m[7] * yin + 1;
        return {at.x / w, at.y / w};
    }
    [[nodiscard]] bool inside(Point at) const {
        return at.x >= 0.0 && at.x < width() && at.y >= 0.0 && at.y < height();
    }
    void fill_pixels(std::uint8_t* row, Run run) const {
        for (std::uint32_t x = run.begin; x < run.end; ++x) {
            std::memcpy(row + x * pixel_bytes, fill.data(), pixel_bytes);
        }
    }
};

/// Bounds of positions in the input.
struct Bounds {
    double left;
    double top;
    double right;
    double bottom;
};

/// The pixels of a row for which a·X + b >= 0, X being the centre of a pixel.
struct Range {
    double low;
    double high;

    void keep(double a, double b) {
        if (a > 0) low = std::max(low, -b / a);
        if (a < 0) high = std::min(high, -b / a);
        if (a == 0 && b < 0) high = -1;
    }
};

/// Pixels of row `y` whose positions are within bounds. A position is a ratio of linear functions, so these are one
/// run. Rounding moves its ends by far less than a millionth of a pixel, which callers leave as a margin. None where
/// the denominator may be 0.
Run run_within(const Job& job, std::uint32_t y, const Bounds& bounds) {
    const WarpMap& m = job.warp.map;
    const double yin = y + 0.5;
    const double width = job.warp.size.width;
    const double w = m[7] * yin + 1;
    constexpr double small = 1e-6;
    if (m[6] * 0.5 + w < small || m[6] * (width - 0.5) + w < small) return {};
    const double u = m[1] * yin + m[2];
    const double v = m[4] * yin + m[5];
    Range range{0, width};
    range.keep(m[0] - bounds.left * m[6], u - bounds.left * w);
    range.keep(bounds.right * m[6] - m[0], bounds.right * w - u);
    range.keep(m[3] - bounds.top * m[6], v - bounds.top * w);
    range.keep(bounds.bottom * m[6] - m[3], bounds.bottom * w - v);
    if (!(range.low <= range.high)) return {};
    const auto begin = static_cast<std::uint32_t>(std::max(0.0, std::ceil(range.low - 0.5)));
    const auto end = static_cast<std::uint32_t>(std::max(0.0, std::floor(range.high - 0.5) + 1));
    return {std::min(begin, end), std::min(end, job.warp.size.width)};
}

std::int64_t floor_of(double value) { return static_cast<std::int64_t>(std::floor(value)); }

/// One channel around a position: rows and columns outside are repeated as Pillow repeats them.
template <typename Sample>
class Neighbours {
  public:
    Neighbours(ConstImageView image, std::int64_t x, std::size_t channel)
        : image_(image), x_(x), channel_(channel), stride_(image.shape.channels) {}

    [[nodiscard]] bool has_row(std::int64_t y) const { return y >= 0 && y < std::int64_t{image_.shape.height}; }
    void enter_row(std::int64_t y) {
        const auto row = std::clamp<std::int64_t>(y, 0, std::int64_t{image_.shape.height} - 1);
        row_ = reinterpret_cast<const Sample*>(image_.row(static_cast<std::size_t>(row)));
    }
    [[nodiscard]] double at(std::int64_t dx) const {
        const auto x = std::clamp<std::int64_t>(x_ + dx, 0, std::int64_t{image_.shape.width} - 1);
        return row_[static_cast<std::size_t>(x) * stride_ + channel_];
    }

  private:
    ConstImageView image_;
    std::int64_t x_;
    std::size_t channel_;
    std::size_t stride_;
    const Sample* row_ = nullptr;
};

double linear(double a, double b, double t) { return a + (b - a) * t; }

double cubic(double a, double b, double c, double d, double t) {
    const double p2 = -a + c;
    const double p3 = 2 * (a - b) + c - d;
    const double p4 = -a + b - c + d;
    return b + t * (p2 + t * (p3 + t * p4));
}

template <typename Sample>
double bilinear_at(Neighbours<Sample>& near, std::int64_t y, double dx, double dy) {
    near.enter_row(y);
    const double above = linear(near.at(0), near.at(1), dx);
    if (!near.has_row(y + 1)) return linear(above, above, dy);
    near.enter_row(y + 1);
    return linear(above, linear(near.at(0), near.at(1), dx), dy);
}

template <typename Sample>
double bicubic_at(Neighbours<Sample>& near, std::int64_t y, double dx, double dy) {
    double rows[4];
    for (std::int64_t i = 0; i < 4; ++i) {
        if (i > 0 && !near.has_row(y - 1 + i)) {
            rows[i] = rows[i - 1];
            continue;
        }
        near.enter_row(y - 1 + i);
        rows[i] = cubic(near.at(-1), near.at(0), near.at(1), near.at(2), dx);
    }
    return cubic(rows[0], rows[1], rows[2], rows[3], dy);
}

/// One pixel with care at the borders.
template <typename Sample>
void filter_pixel(const Job& job, Filter filter, Point at, std::uint8_t* out) {
    const double x = at.x - 0.5;
    const double y = at.y - 0.5;
    const std::int64_t column = floor_of(x);
    const std::int64_t row = floor_of(y);
    const double dx = x - static_cast<double>(column);
    const double dy = y - static_cast<double>(row);
    constexpr double top = sizeof(Sample) == 1 ? 255.0 : 65535.0;
    for (std::size_t c = 0; c < job.image.shape.channels; ++c) {
        Neighbours<Sample> near(job.image, column, c);
        const double value =
            filter == Filter::bilinear ? bilinear_at(near, row, dx, dy) : bicubic_at(near, row, dx, dy);
        const auto sample = static_cast<Sample>(std::clamp(value, 0.0, top));
        std::memcpy(out + c * sizeof(Sample), &sample, sizeof(Sample));
    }
}

template <typename Sample>
void filter_run(const Job& job, Filter filter, std::uint32_t y, Run run, std::uint8_t* row) {
    for (std::uint32_t x = run.begin; x < run.end; ++x) {
        const Point at = job.position(x, y);
        std::uint8_t* out = row + x * job.pixel_bytes;
        if (job.inside(at)) {
            filter_pixel<Sample>(job, filter, at, out);
        } else {
            std::memcpy(out, job.fill.data(), job.pixel_bytes);
        }
    }
}

/// Bilinear and bicubic.
template <typename Sample>
void filter_rows(const Job& job, Filter filter, RowSink& sink) {
    constexpr double margin = 1e-6;
    const double width = job.width();
    const double height = job.height();
    const Bounds image{-margin, -margin, width + margin, height + margin};
    // All neighbours exist, and eight bytes can be read from each: the last row is left out.
    const double before = filter == Filter::bilinear ? 0.5 : 1.5;
    const Bounds inner{before + margin, before + margin, width - before - margin, height - before - 1 - margin};
    const std::size_t channels = job.image.shape.channels;
    const WarpKernels& kernels = active_kernels();
    const auto kernel = filter == Filter::bilinear ? kernels.bilinear[channels - 1] : kernels.bicubic[channels - 1];
    for (std::uint32_t y = 0; y < job.warp.size.height; ++y) {
        std::uint8_t* row = sink.row(y);
        Run some = run_within(job, y, image);
        if (some.end == some.begin) some = {0, job.warp.perspective() ? job.warp.size.width : 0};
        Run fast = sizeof(Sample) == 1 ? run_within(job, y, inner) : Run{};
        if (fast.end <= fast.begin) fast = {some.end, some.end};
        job.fill_pixels(row, {0, some.begin});
        filter_run<Sample>(job, filter, y, {some.begin, fast.begin}, row);
        if (fast.end > fast.begin) {
            kernel({job.image.data, job.image.row_stride, job.warp.map.data(), job.warp.perspective(), y, fast.begin,
                    fast.end, row + fast.begin * job.pixel_bytes});
        }
        filter_run<Sample>(job, filter, y, {fast.end, some.end}, row);
        job.fill_pixels(row, {some.end, job.warp.size.width});
        sink.done(y);
    }
}

void copy_pixel(const Job& job, std::size_t y, std::size_t x, std::uint8_t* out) {
    std::memcpy(out, job.image.row(y) + x * job.pixel_bytes, job.pixel_bytes);
}

/// Positions pixel by pixel: perspectives, and images too large for positions of 16.16 bits.
void nearest_by_position(const Job& job, RowSink& sink) {
    for (std::uint32_t y = 0; y < job.warp.size.height; ++y) {
        std::uint8_t* row = sink.row(y);
        for (std::uint32_t x = 0; x < job.warp.size.width; ++x) {
            const Point at = job.position(x, y);
            std::uint8_t* out = row + x * job.pixel_bytes;
            if (job.inside(at)) {
                copy_pixel(job, static_cast<std::size_t>(at.y), static_cast<std::size_t>(at.x), out);
            } else {
                std::memcpy(out, job.fill.data(), job.pixel_bytes);
            }
        }
        sink.done(y);
    }
}

/// No turn and no shear: Pillow adds positions up, so that columns are the same in every row.
void nearest_by_columns(const Job& job, std::vector<std::uint32_t>& columns, RowSink& sink) {
    const WarpMap& m = job.warp.map;
    columns.resize(job.warp.size.width);
    Run some{job.warp.size.width, 0};
    double at = m[2] + m[0] * 0.5;
    for (std::uint32_t x = 0; x < job.warp.size.width; ++x, at += m[0]) {
        if (!(at >= 0.0 && at < job.width())) continue;
        columns[x] = static_cast<std::uint32_t>(at);
        some = {std::min(some.begin, x), x + 1};
    }
    if (some.end == 0) some = {};
    const std::uint32_t count = some.end - some.begin;
    const bool contiguous =
        count == 0 ||
        (m[0] > 0 && columns[some.end - 1] - columns[some.begin] + 1 == count &&
         std::adjacent_find(columns.begin() + some.begin, columns.begin() + some.end,
                            [](std::uint32_t a, std::uint32_t b) { return b != a + 1; }) == columns.begin() + some.end);
    double at_y = m[5] + m[4] * 0.5;
    for (std::uint32_t y = 0; y < job.warp.size.height; ++y, at_y += m[4]) {
        std::uint8_t* row = sink.row(y);
        if (!(at_y >= 0.0 && at_y < job.height()) || count == 0) {
            job.fill_pixels(row, {0, job.warp.size.width});
        } else {
            const auto source = static_cast<std::size_t>(at_y);
            job.fill_pixels(row, {0, some.begin});
            if (contiguous) {
                std::memcpy(row + some.begin * job.pixel_bytes,
                            job.image.row(source) + columns[some.begin] * job.pixel_bytes, count * job.pixel_bytes);
            } else {
                for (std::uint32_t x = some.begin; x < some.end; ++x) {
                    copy_pixel(job, source, columns[x], row + x * job.pixel_bytes);
                }
            }
            job.fill_pixels(row, {some.end, job.warp.size.width});
        }
        sink.done(y);
    }
}

/// Steps `x` for which start + x·step lies in [0, limit), of the run so far.
void keep_steps(std::int64_t start, std::int64_t step, std::int64_t limit, Run& run) {
    const auto floor_divide = [](std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a ^ b) < 0); };
    std::int64_t low = run.begin;
    std::int64_t high = run.end;
    if (step == 0) {
        if (start < 0 || start >= limit) high = low;
    } else if (step > 0) {
        low = std::max(low, -floor_divide(start, step));
        high = std::min(high, floor_divide(limit - 1 - start, step) + 1);
    } else {
        low = std::max(low, -floor_divide(limit - 1 - start, -step));
        high = std::min(high, floor_divide(start, -step) + 1);
    }
    run = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(std::max(low, high))};
    if (run.begin >= run.end) run = {};
}

/// Positions of 16.16 bits that are added up.
class FixedPositions {
  public:
    explicit FixedPositions(const WarpMap& m)
        : step_x_(fixed(m[0])),
          down_x_(fixed(m[1])),
          step_y_(fixed(m[3])),
          down_y_(fixed(m[4])),
          x_(fixed(m[2] + m[0] * 0.5 + m[1] * 0.5)),
          y_(fixed(m[5] + m[3] * 0.5 + m[4] * 0.5)) {}

    /// Whether all four corners have such positions.
    [[nodiscard]] static bool fit(const Warp& warp, ImageSize input) {
        const auto fits = [&](double x, double y) {
            const WarpMap& m = warp.map;
            return std::abs(x * m[0] + y * m[1] + m[2]) < 32768.0 && std::abs(x * m[3] + y * m[4] + m[5]) < 32768.0;
        };
        const double width = warp.size.width;
        const double height = warp.size.height;
        return fits(0, 0) && fits(width, height) && fits(0, height) && fits(width, 0) && input.width <= 32767 &&
               input.height <= 32767;
    }

    void write_row(const Job& job, std::uint32_t y, std::uint8_t* row) const {
        const std::int64_t x = x_ + y * down_x_;
        const std::int64_t v = y_ + y * down_y_;
        const std::int64_t width = std::int64_t{job.image.shape.width} << 16;
        Run some{0, job.warp.size.width};
        keep_steps(x, step_x_, width, some);
        keep_steps(v, step_y_, std::int64_t{job.image.shape.height} << 16, some);
        if (some.end == some.begin) return job.fill_pixels(row, {0, job.warp.size.width});
        job.fill_pixels(row, {0, some.begin});
        std::uint8_t* out = row + some.begin * job.pixel_bytes;
        if (step_x_ == 65536 && step_y_ == 0) {
            const auto column = static_cast<std::size_t>((x + some.begin * step_x_) >> 16);
            std::memcpy(out, job.image.row(static_cast<std::size_t>(v >> 16)) + column * job.pixel_bytes,
                        (some.end - some.begin) * job.pixel_bytes);
        } else {
            copy(job, x, v, some, row);
        }
        job.fill_pixels(row, {some.end, job.warp.size.width});
    }

  private:
    static std::int64_t fixed(double value) { return floor_of(value * 65536.0 + 0.5); }

    void copy(const Job& job, std::int64_t x, std::int64_t y, Run some, std::uint8_t* row) const {
        // The last row is left out of the fast run, because more bytes are read than a pixel has.
        Run fast = some;
        keep_steps(y, step_y_, (std::int64_t{job.image.shape.height} - 1) << 16, fast);
        if (job.image.shape.sample_bytes != 1 || fast.end <= fast.begin) fast = {some.end, some.end};
        const auto slow = [&](Run run) {
            for (std::uint32_t i = run.begin; i < run.end; ++i) {
                copy_pixel(job, static_cast<std::size_t>((y + i * step_y_) >> 16),
                           static_cast<std::size_t>((x + i * step_x_) >> 16), row + i * job.pixel_bytes);
            }
        };
        slow({some.begin, fast.begin});
        if (fast.end > fast.begin) {
            active_kernels().nearest[job.image.shape.channels - 1](
                {job.image.data, job.image.row_stride, static_cast<std::int32_t>(x + fast.begin * step_x_),
                 static_cast<std::int32_t>(y + fast.begin * step_y_), static_cast<std::int32_t>(step_x_),
                 static_cast<std::int32_t>(step_y_), fast.end - fast.begin, row + fast.begin * job.pixel_bytes});
        }
        slow({fast.end, some.end});
    }

    std::int64_t step_x_;
    std::int64_t down_x_;
    std::int64_t step_y_;
    std::int64_t down_y_;
    std::int64_t x_;
    std::int64_t y_;
};

void nearest_rows(const Job& job, WarpScratch& scratch, RowSink& sink) {
    const WarpMap& m = job.warp.map;
    if (job.warp.perspective()) return nearest_by_position(job, sink);
    if (m[1] == 0 && m[3] == 0) return nearest_by_columns(job, scratch.columns, sink);
    if (!FixedPositions::fit(job.warp, {job.image.shape.height, job.image.shape.width})) {
        return nearest_by_position(job, sink);
    }
    const FixedPositions positions(m);
    for (std::uint32_t y = 0; y < job.warp.size.height; ++y) {
        positions.write_row(job, y, sink.row(y));
        sink.done(y);
    }
}

}  // namespace

void run_warp(const Warp& warp, Filter filter, const Fill& fill, ConstImageView image, WarpScratch& scratch,
              RowSink& sink) {
    set_fill(fill, image.shape, scratch.fill);
    const Job job{warp, image, scratch.fill, scratch.fill.size()};
    if (filter == Filter::nearest) return nearest_rows(job, scratch, sink);
    if (image.shape.sample_bytes == 1) return filter_rows<std::uint8_t>(job, filter, sink);
    filter_rows<std::uint16_t>(job, filter, sink);
}

}  // namespace penstock
