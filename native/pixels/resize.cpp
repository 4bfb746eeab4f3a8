#include "pixels/resize.h"

#include <algorithm>
#include <cstring>

#include "pixels/resize_kernels.h"
#include "pixels/resize_words.h"

namespace penstock {

namespace {

/// The source's rows, those near the end of its memory from a copy that may be read past.
class SlackRows {
  public:
    SlackRows(ConstImageView source, ByteBuffer& tail) : source_(source) {
        const std::uint32_t height = source.shape.height;
        const std::size_t row_bytes = source.shape.row_bytes();
        const std::size_t short_rows = (kRowSlack + source.row_stride - 1) / source.row_stride;
        tail_begin_ = height - static_cast<std::uint32_t>(std::min<std::size_t>(short_rows, height));
        tail_stride_ = row_bytes + kRowSlack;
        tail.resize((height - tail_begin_) * tail_stride_);
        tail_ = tail.data();
        for (std::uint32_t y = tail_begin_; y < height; ++y) {
            std::memcpy(tail.data() + (y - tail_begin_) * tail_stride_, source.row(y), row_bytes);
        }
    }

    [[nodiscard]] const std::uint8_t* row(std::uint32_t y) const noexcept {
        return y < tail_begin_ ? source_.row(y) : tail_ + (y - tail_begin_) * tail_stride_;
    }

  private:
    ConstImageView source_;
    const std::uint8_t* tail_ = nullptr;
    std::size_t tail_stride_ = 0;
    std::uint32_t tail_begin_ = 0;
};

/// Quads of rows, filtered along x when they are first asked for; as many are kept as an output row needs.
class QuadRing {
  public:
    QuadRing(ConstImageView source, const ResizeKernels& kernels, ResizeScratch& scratch)
        : source_(source), kernels_(kernels), scratch_(scratch), rows_(source, scratch.tail) {
        const AxisTable& horizontal = scratch.horizontal;
        const std::size_t quad_bytes = std::size_t{horizontal.count()} * source.shape.channels * 4;
        const std::size_t stride = (quad_bytes + kRowSlack + 63) / 64 * 64;
        const std::size_t capacity = scratch.vertical.max_groups();
        scratch.quads.resize(stride * capacity);
        scratch.slots.resize(capacity);
        scratch.window.resize(capacity);
        for (std::size_t i = 0; i < capacity; ++i) scratch.slots[i] = scratch.quads.data() + i * stride;
        taps_ = {horizontal.first(), horizontal.groups(), horizontal.weights(0), horizontal.count(),
                 horizontal.max_groups()};
        const std::size_t plan_bytes = kernels.plan_bytes(taps_, source.shape.channels);
        if (plan_bytes == 0) return;
        scratch.plan.resize(plan_bytes + 63);
        std::uint8_t* plan = scratch.plan.data() + (-reinterpret_cast<std::uintptr_t>(scratch.plan.data()) & 63);
        if (kernels.plan_rows(taps_, source.shape.channels, plan)) plan_ = plan;
    }

    /// Pointers to the `count` quads from `first` on. Asked for in order.
    [[nodiscard]] const std::uint8_t* const* quads(std::uint32_t first, std::uint32_t count) {
        const std::size_t capacity = scratch_.slots.size();
        next_ = std::max(next_, first);
        for (; next_ < first + count; ++next_) filter(next_, scratch_.slots[next_ % capacity]);
        for (std::uint32_t i = 0; i < count; ++i) scratch_.window[i] = scratch_.slots[(first + i) % capacity];
        return scratch_.window.data();
    }

  private:
    void filter(std::uint32_t quad, std::uint8_t* out) {
        const std::uint8_t* rows[4];
        // Below the last row its weights are 0; any row will do.
        for (std::uint32_t r = 0; r < 4; ++r) rows[r] = rows_.row(std::min(quad * 4 + r, source_.shape.height - 1));
        kernels_.filter_rows(rows, taps_, source_.shape.channels, plan_, out);
    }

    ConstImageView source_;
    const ResizeKernels& kernels_;
    ResizeScratch& scratch_;
    SlackRows rows_;
    Taps taps_{};
    const std::uint8_t* plan_ = nullptr;
    std::uint32_t next_ = 0;
};

void resize_bytes(ConstImageView source, const Axis& vertical, std::uint32_t top, const Axis& horizontal,
                  std::uint32_t left, ResizeScratch& scratch, RowSink& sink) {
    const ResizeKernels& kernels = active_resize_kernels();
    scratch.horizontal.build_weights(horizontal, left, 1);
    scratch.vertical.build_weights(vertical, top, kGroupTaps);
    kernels.pack(scratch.horizontal.weights(), scratch.horizontal.num_groups());
    kernels.pack(scratch.vertical.weights(), scratch.vertical.num_groups());
    QuadRing ring(source, kernels, scratch);
    const std::size_t samples = std::size_t{horizontal.count} * source.shape.channels;
    for (std::uint32_t y = 0; y < vertical.count; ++y) {
        const std::uint32_t num_quads = scratch.vertical.groups()[y];
        const auto* quads = ring.quads(scratch.vertical.first()[y] / kGroupTaps, num_quads);
        kernels.filter_columns(quads, scratch.vertical.weights(y), num_quads, samples, sink.row(y));
        sink.done(y);
    }
}

}  // namespace

void resize(ConstImageView source, const Axis& vertical, std::uint32_t top, const Axis& horizontal, std::uint32_t left,
            ResizeScratch& scratch, RowSink& sink) {
    const auto run = source.shape.sample_bytes == 1 ? resize_bytes : resize_words;
    run(source, vertical, top, horizontal, left, scratch, sink);
}

}  // namespace penstock
