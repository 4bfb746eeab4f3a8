#include "pixels/resize_words.h"

#include <algorithm>

namespace penstock {

namespace {

std::uint16_t to_sample(double sum) noexcept { return static_cast<std::uint16_t>(std::clamp(sum + 0.5, 0.0, 65535.0)); }

void filter_row(const std::uint16_t* row, const AxisTable& taps, std::uint32_t channels, std::uint16_t* out) {
    for (std::uint32_t i = 0; i < taps.count(); ++i) {
        const double* weights = taps.fractions(i);
        const std::uint16_t* source = row + std::size_t{taps.first()[i]} * channels;
        for (std::uint32_t c = 0; c < channels; ++c) {
            double sum = 0;
            for (std::uint32_t tap = 0; tap < taps.groups()[i]; ++tap) sum += source[tap * channels + c] * weights[tap];
            *out++ = to_sample(sum);
        }
    }
}

/// One output row from `num_rows` rows that stand `ring` apart in a ring buffer.
void filter_column(const std::uint16_t* ring, std::size_t capacity, std::uint32_t first, std::uint32_t num_rows,
                   const double* weights, std::size_t samples, double* sums, std::uint16_t* out) {
    std::fill(sums, sums + samples, 0.0);
    for (std::uint32_t i = 0; i < num_rows; ++i) {
        const std::uint16_t* row = ring + (first + i) % capacity * samples;
        for (std::size_t s = 0; s < samples; ++s) sums[s] += row[s] * weights[i];
    }
    for (std::size_t s = 0; s < samples; ++s) out[s] = to_sample(sums[s]);
}

}  // namespace

void resize_words(ConstImageView source, const Axis& vertical, std::uint32_t top, const Axis& horizontal,
                  std::uint32_t left, ResizeScratch& scratch, RowSink& sink) {
    scratch.horizontal.build_fractions(horizontal, left);
    scratch.vertical.build_fractions(vertical, top);
    const AxisTable& columns = scratch.vertical;
    const std::size_t samples = std::size_t{horizontal.count} * source.shape.channels;
    const std::size_t capacity = columns.max_taps();
    scratch.quads.resize(samples * capacity * sizeof(std::uint16_t));
    scratch.sums.resize(samples);
    auto* ring = reinterpret_cast<std::uint16_t*>(scratch.quads.data());
    std::uint32_t next = 0;
    for (std::uint32_t y = 0; y < vertical.count; ++y) {
        const std::uint32_t first = columns.first()[y];
        const std::uint32_t num_rows = columns.groups()[y];
        for (next = std::max(next, first); next < first + num_rows; ++next) {
            filter_row(reinterpret_cast<const std::uint16_t*>(source.row(next)), scratch.horizontal,
                       source.shape.channels, ring + next % capacity * samples);
        }
        filter_column(ring, capacity, first, num_rows, columns.fractions(y), samples, scratch.sums.data(),
                      reinterpret_cast<std::uint16_t*>(sink.row(y)));
        sink.done(y);
    }
}

}  // namespace penstock
