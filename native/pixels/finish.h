// The last step of a transform: rows of 8- or 16-bit pixels become the type, range and layout of a batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/image.h"
#include "pixels/finish_kernels.h"
#include "pixels/operations.h"
#include "pixels/table_kernels.h"

namespace penstock {

/// Order of the channels of a pixel: side by side, or in planes.
enum class Layout : std::uint8_t { nhwc, nchw };

/// Memory of one sample in a batch: contiguous, and not owned.
struct Slot {
    void* data = nullptr;
    ImageSize size;
    std::uint8_t channels = 3;
    SampleType type = SampleType::uint8;
    Layout layout = Layout::nhwc;

    [[nodiscard]] std::size_t sample_bytes() const noexcept {
        return type == SampleType::uint8 ? 1 : type == SampleType::float32 ? 4 : 2;
    }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return std::size_t{size.height} * size.width * channels * sample_bytes();
    }
};

/// ToDtype and Normalize, joined.
class FinishPlan {
  public:
    void to_dtype(const ToDtypeOperation& operation);
    void normalize(const NormalizeOperation& operation);
    /// Call it after the last of these.
    void complete();

    /// The function of one channel of a source with samples of `sample_bytes`.
    [[nodiscard]] Affine affine(std::size_t channel, std::uint8_t sample_bytes) const noexcept;
    /// The float of every value of such a source, channel after channel (four of them).
    [[nodiscard]] std::vector<float> values(std::uint8_t sample_bytes) const;
    /// Returns the table for 8-bit sources, which lives as long as the plan.
    [[nodiscard]] FloatTable byte_table() const noexcept;
    /// Number of channels that the means are for; 0 for any number.
    [[nodiscard]] std::size_t channels() const noexcept { return channels_; }
    [[nodiscard]] bool is_float() const noexcept { return float_; }
    /// Returns whether integers keep their share of the range instead of their value.
    [[nodiscard]] bool scaled() const noexcept { return scaled_; }

  private:
    bool float_ = false;
    bool scaled_ = false;
    std::size_t channels_ = 0;
    std::array<double, 4> slopes_{1, 1, 1, 1};
    std::array<double, 4> offsets_{};
    std::vector<float> byte_values_;
};

/// Working memory of a `Finisher`.
struct FinishScratch {
    std::vector<std::uint8_t> row;
    std::vector<std::uint8_t> levels;
};

/// Throws `bad_argument` if pixels of `shape` cannot become `channels` channels of `type` by this plan.
void check_finish(const FinishPlan& plan, PixelShape shape, std::uint8_t channels, SampleType type);

/// Writes the rows of one sample. Throws `bad_argument` if pixels of `shape` do not fit the slot.
class Finisher {
  public:
    /// `tables`, if any, is what levels become before anything else. It lives as long as the finisher.
    Finisher(const FinishPlan& plan, PixelShape shape, const Slot& slot, FinishScratch& scratch,
             const ByteTables* tables = nullptr);

    /// Row `y` of the slot, from a row of pixels.
    void row(const std::uint8_t* pixels, std::uint32_t y);

  private:
    const std::uint8_t* adapt(const std::uint8_t* pixels);
    void row_of_bytes(const std::uint8_t* pixels, std::uint32_t y);
    void row_of_words(const std::uint16_t* pixels, std::uint32_t y);

    PixelShape shape_;
    Slot slot_;
    bool scaled_;
    FinishScratch& scratch_;
    const ByteTables* tables_;
    FloatTable floats_;
};

}  // namespace penstock
