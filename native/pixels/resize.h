// Resizes pixels row by row into a sink.
#pragma once

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"
#include "pixels/axis.h"

namespace penstock {

/// Takes the rows of an image, top to bottom.
class RowSink {
  public:
    virtual ~RowSink() = default;
    /// Returns the memory for row `y`.
    [[nodiscard]] virtual std::uint8_t* row(std::uint32_t y) = 0;
    /// Row `y` is complete.
    virtual void done(std::uint32_t y) = 0;
};

/// Rows of an image in memory.
class ImageSink final : public RowSink {
  public:
    explicit ImageSink(ImageView image) : image_(image) {}
    [[nodiscard]] std::uint8_t* row(std::uint32_t y) override { return image_.row(y); }
    void done(std::uint32_t) override {}

  private:
    ImageView image_;
};

/// Working memory of a resize; grows to what the largest needed and stays.
struct ResizeScratch {
    AxisTable horizontal;
    AxisTable vertical;
    ByteBuffer plan;   ///< of the horizontal pass
    ByteBuffer quads;  ///< interleaved rows, as many as the filter is high
    ByteBuffer tail;   ///< the last rows of the source, with slack
    std::vector<double> sums;
    std::vector<std::uint8_t*> slots;
    std::vector<const std::uint8_t*> window;
};

/// Resizes `source`, whose first pixel is sample (`top`, `left`) of the axes, and which covers what they read.
///
/// Rows have `horizontal.count` pixels of the source's channels and depth. 8-bit results equal Pillow's bit for bit;
/// 16-bit ones too where Pillow has them (one channel), others the same arithmetic. Allocates nothing once `scratch`
/// has grown.
void resize(ConstImageView source, const Axis& vertical, std::uint32_t top, const Axis& horizontal, std::uint32_t left,
            ResizeScratch& scratch, RowSink& sink);

}  // namespace penstock
