// Between JPEG and Sluice without loss: the coefficients move, and the way back gives the same file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/buffer.h"
#include "base/image.h"
#include "codecs/codec.h"

namespace penstock::sluice {

class TableSet;

inline constexpr std::uint64_t kDefaultMaxPixels = std::uint64_t{1} << 28;

struct TranscodeOptions {
    const TableSet* tables = nullptr;  ///< null: those that come with the codec
    bool store_tables = false;         ///< whether the file contains its table set
    unsigned layer_bits = 0;           ///< without tables: bits that a second layer adds; 0: one layer
    std::uint64_t max_pixels = kDefaultMaxPixels;
};

/// The coefficients of a JPEG and all that it takes to restore the file.
///
/// Throws as `jpeg::take_apart` does for a file that cannot be restored, and `unsupported` for a sampling that Sluice
/// does not take.
[[nodiscard]] ByteBuffer from_jpeg(ByteView jpeg, const TranscodeOptions& options);

/// The JPEG that `from_jpeg` was given, byte for byte. Throws `unsupported` for a file without restoration data.
[[nodiscard]] ByteBuffer to_jpeg(ByteView data, std::uint64_t max_pixels);

/// The same image, and restoration data, coded with other tables.
[[nodiscard]] ByteBuffer recode(ByteView data, const TranscodeOptions& options);

/// Facts about a file, from its header.
struct Facts {
    std::uint64_t table_set = 0;
    bool has_tables = false;  ///< whether the table set is in the file
    bool is_default = false;  ///< whether the table set is the one that comes with the codec
    bool is_known = false;    ///< whether this process can decode the file
    std::uint32_t restoration_bytes = 0;
    std::uint32_t num_layers = 1;
    std::uint32_t tiles_across = 0;
    std::uint32_t tiles_down = 0;
    std::uint32_t tile_width = 0;
    std::uint32_t tile_height = 0;
};

/// Needs the 48 bytes of the header only.
[[nodiscard]] Facts facts_of(ByteView data);

/// Counts the symbols of JPEG files for a table set. Safe from many threads; the result does not depend on their order.
class Training {
  public:
    explicit Training(unsigned first_pair, unsigned layer_bits = 0);
    ~Training();

    /// Gives whether the file could be used: a JPEG whose coefficients Sluice takes.
    bool add(ByteView jpeg, std::uint64_t max_pixels);
    [[nodiscard]] std::size_t num_added() const;
    /// A table set of all files so far.
    [[nodiscard]] ByteBuffer finish() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

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
