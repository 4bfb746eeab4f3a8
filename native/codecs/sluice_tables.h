// Table sets of Sluice: the probabilities of all symbols, as bytes, and in the forms that encoder and decoders want.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"
#include "codecs/sluice_model.h"

namespace penstock::sluice {

inline constexpr unsigned kMaxTables = 64;
inline constexpr unsigned kNumClasses = 2;  // the first component, the others

/// Tables for decoders. An entry of a slot: the slot's place in the symbol's range, from bit 10 the symbol, from bit 16
/// the frequency.
struct DecodeTables {
    alignas(64) std::uint8_t positions[kNumClasses][kPositions][64];  ///< table by [8 * remaining + magnitude class]
    alignas(64) std::uint8_t even[kNumClasses][64];                   ///< table by DC class
    alignas(64) std::uint8_t odd[kNumClasses][64];                    ///< table by 8 * neighbour class + DC class
    std::uint8_t dc[kNumClasses];
    unsigned first_pair = kPositions;
    std::vector<std::uint32_t> entries;  ///< [table][slot]
};

/// Numbers that the encoder needs to code a symbol.
struct EncodeEntry {
    std::uint64_t reciprocal;  ///< ceil(2^42 / frequency)
    std::uint16_t frequency;
    std::uint16_t begin;
};

inline constexpr unsigned kMaxLayerBits = 3;

/// A checked table set, for files of one layer or of two. Never changes.
class TableSet {
  public:
    /// Parses and checks; throws `corrupt` or `truncated`, and `unsupported` for another version.
    explicit TableSet(ByteView bytes);

    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    [[nodiscard]] unsigned first_pair() const noexcept { return decode_.first_pair; }
    [[nodiscard]] ByteView bytes() const noexcept { return bytes_.view(); }
    [[nodiscard]] const DecodeTables& decode() const noexcept { return decode_; }
    /// Table of each context: of class 0, then of class 1.
    [[nodiscard]] const std::vector<std::uint8_t>& context_map() const noexcept { return map_; }
    /// Entries by [table][symbol], kNumSymbols to a table.
    [[nodiscard]] const std::vector<EncodeEntry>& encode() const noexcept { return encode_; }
    /// Bits that the second layer of its files adds; 0: files of one layer.
    [[nodiscard]] unsigned layer_bits() const noexcept { return layer_bits_; }
    /// The tables of the second layer, if there is one. All others are those of the first.
    [[nodiscard]] const TableSet& refinement() const noexcept { return *refinement_; }

  private:
    TableSet() = default;
    void read(ByteView bytes, unsigned refinement_bits);
    void read_tables(std::size_t& at, unsigned count, unsigned num_symbols);
    void read_map(std::size_t at, const std::array<unsigned, 3>& counts);

    ByteBuffer bytes_;
    unsigned layer_bits_ = 0;
    std::unique_ptr<TableSet> refinement_;
    std::uint64_t id_ = 0;
    DecodeTables decode_;
    std::vector<std::uint8_t> map_;
    std::vector<EncodeEntry> encode_;
};

/// The parts of a table set before they are bytes.
struct TableSetParts {
    unsigned first_pair = kPositions;
    unsigned refinement_bits = 0;            ///< of a set for layer 2; else 0
    std::array<unsigned, 3> counts{};        ///< tables of tokens, pairs and counts
    std::vector<std::uint16_t> frequencies;  ///< table after table, as stored
    std::vector<std::uint8_t> context_map;
};

[[nodiscard]] ByteBuffer write_table_set(const TableSetParts& parts);

/// The parts of a layered table set.
struct LayeredTables {
    unsigned bits = 0;
    ByteView coarse;
    ByteView refinement;
};

[[nodiscard]] bool is_layered_table_set(ByteView bytes) noexcept;
/// Checks the head and the lengths, not the sets inside. Throws as `TableSet` does.
[[nodiscard]] LayeredTables split_layered_table_set(ByteView bytes);
[[nodiscard]] ByteBuffer write_layered_table_set(const LayeredTables& parts);

/// XXH64 of the bytes.
[[nodiscard]] std::uint64_t table_set_id(ByteView bytes) noexcept;

/// An id as people and manifests write it: 16 hexadecimal digits.
[[nodiscard]] std::string table_set_name(std::uint64_t id);

/// The table set that comes with the codec.
[[nodiscard]] const TableSet& default_tables();

/// The one for files of two layers, of which the second adds 1 to kMaxLayerBits bits.
[[nodiscard]] const TableSet& default_layered_tables(unsigned bits);

/// The one of them that has this id, or null.
[[nodiscard]] const TableSet* find_default_layered_tables(std::uint64_t id);

/// A table set as it ships: compressed with deflate, eight bytes to a number.
struct PackedTables {
    std::uint64_t id = 0;
    std::size_t num_bytes = 0;
    std::size_t packed_bytes = 0;
    const std::uint64_t* packed = nullptr;
};
/// By bits - 1.
extern const std::array<PackedTables, kMaxLayerBits> kPackedLayeredTables;

/// Makes a table set known to this process as long as the result is held by anyone. The same set is kept once. Throws
/// as `TableSet` does. Safe from many threads.
[[nodiscard]] std::shared_ptr<const TableSet> hold_tables(ByteView bytes);

/// Makes a table set known to this process for good. Throws as `TableSet` does, and `bad_argument` if kMaxKept other
/// sets are kept already. Safe from many threads.
std::shared_ptr<const TableSet> keep_tables(ByteView bytes);

inline constexpr std::size_t kMaxKept = 256;  ///< about 330 KB each

/// A known table set, the default one among them; null if none has this id. A forked child may call it.
[[nodiscard]] std::shared_ptr<const TableSet> find_tables(std::uint64_t id);

/// Number of table sets that are known, the default one not counted. For tests.
[[nodiscard]] std::size_t num_known_tables();

}  // namespace penstock::sluice
