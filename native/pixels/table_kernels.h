// Tables of levels and the limits of channels in 8-bit rows, by instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

/// A level for every level of each of up to four channels.
struct ByteTables {
    alignas(64) std::uint8_t levels[4][256];
    bool same = false;  ///< whether the channels in use have equal tables
};

constexpr std::size_t kMaxChannels = 4;

/// The lowest and highest levels of an image. Lane i has channel i % channels, for any number of channels up to four:
/// rows begin at lane 0.
struct LevelLimits {
    static constexpr std::size_t kLanes = 192;
    alignas(64) std::uint8_t lows[kLanes];
    alignas(64) std::uint8_t highs[kLanes];
};

struct TableKernels {
    /// Writes the levels of a row of `pixels` pixels; `out` may be `row`.
    void (*look_up)(const std::uint8_t* row, std::size_t pixels, std::size_t channels, const ByteTables& tables,
                    std::uint8_t* out);
    /// Widens the limits to the levels of a row.
    void (*widen)(const std::uint8_t* row, std::size_t samples, LevelLimits& limits);
};

extern const TableKernels kTablePlain;
extern const TableKernels kTableAvx2;
extern const TableKernels kTableAvx512;

/// The kernels of the path in use.
[[nodiscard]] const TableKernels& active_table_kernels() noexcept;

}  // namespace penstock
