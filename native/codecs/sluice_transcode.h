// Between JPEG and Sluice without loss: the coefficients move, and the way back gives the same file.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/image.h"
#include "codecs/codec.h"

namespace penstock::sluice {

class TableSet;

struct TranscodeOptions {
    const TableSet* tables = nullptr;  ///< null: those that come with the codec
    bool store_tables = false;         ///< whether the file contains its table set
    unsigned layer_bits = 0;           ///< without tables: bits that a second layer adds; 0: one layer
    std::uint64_t max_pixels = std::uint64_t{1} << 28;
};

/// The coefficients of a JPEG and all that it takes to restore the file.
///
/// Throws as `jpeg::take_apart` does for a file that cannot be restored, and `unsupported` for a sampling that Sluice
/// does not take.
[[nodiscard]] ByteBuffer from_jpeg(ByteView jpeg, const TranscodeOptions& options);

/// The JPEG that `from_jpeg` was given, byte for byte. Throws `unsupported` for a file without restoration data.
[[nodiscard]] ByteBuffer to_jpeg(ByteView data, std::uint64_t max_pixels);

/// Trains a table set on JPEG files; `first_pair` is K of spec/sluice.md. Files whose coefficients cannot be read are
/// left out; throws `unsupported` if none is left. With `layer_bits`, the set is for files of two layers.
[[nodiscard]] ByteBuffer train_tables(std::span<const ByteView> jpegs, unsigned first_pair, unsigned layer_bits = 0);

/// Bits that the second layer of a format adds, by its parameters; 0: it has one layer.
[[nodiscard]] unsigned layer_bits_of(const Parameters& parameters);

/// Bytes of the first layer, with all that comes before it: the prefix that decodes by itself. The whole data if there
/// is one layer only.
[[nodiscard]] std::size_t first_layer_bytes(ByteView data);

/// Makes tile decoders gather or not from now on, in the whole process; -1: as suits this processor. For tests and
/// benchmarks.
void force_gather(int gather) noexcept;

/// Default of `first_pair`.
inline constexpr unsigned kDefaultFirstPair = 22;

}  // namespace penstock::sluice
