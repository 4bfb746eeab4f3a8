// Tables with which an accelerator repeats `TransformProgram::apply`: the draws of many samples, pass by pass. This
// code touches no pixel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pixels/program.h"

namespace penstock {

/// The numbers of one sample in `PassTables::rows`. `src/penstock/kernels/device/resize.py` names them again.
enum PassColumn : std::uint8_t {
    kInputTop,  ///< where the input begins: in the image for the first pass, else 0
    kInputLeft,
    kInputHeight,
    kInputWidth,
    kOutputHeight,
    kOutputWidth,
    kRowTaps,
    kColumnTaps,
    kRowFirst,  ///< where its numbers begin in `first` …
    kColumnFirst,
    kRowWeights,  ///< … and in `weights` or `fractions`
    kColumnWeights,
    kFill,
    kNumPassColumns = kFill + 4
};

/// One pass of all samples; the tables of a side are those of `SideTable`, one behind the other.
struct PassTables {
    std::vector<std::int64_t> rows;  ///< `kNumPassColumns` a sample
    std::vector<std::int32_t> first;
    std::vector<std::int32_t> weights;
    std::vector<double> fractions;
};

/// The passes of images of these sizes with samples of `sample_bytes`, drawn as `program.draw` does. All images have as
/// many: those that need fewer are copied in the last ones. Throws `bad_argument` if a crop does not fit, or colours
/// change.
[[nodiscard]] std::vector<PassTables> pass_tables(const TransformProgram& program, std::span<const ImageSize> sizes,
                                                  std::span<const std::uint64_t> ids, std::uint64_t seed,
                                                  std::uint64_t epoch, std::uint8_t sample_bytes);

}  // namespace penstock
