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

/// A checked table set. Never changes.
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

  private:
    void read_tables(std::size_t& at, unsigned count, unsigned num_symbols);
    void read_map(ByteView map, const std::array<unsigned, 3>& counts);

    ByteBuffer bytes_;
    std::uint64_t id_ = 0;
    DecodeTables decode_;
    std::vector<std::uint8_t> map_;
    std::vector<EncodeEntry> encode_;
};

/// The parts of a table set before they are bytes.
struct TableSetParts {
    unsigned first_pair = kPositions;
    std::array<unsigned, 3> counts{};        ///< tables of tokens, pairs and counts
    std::vector<std::uint16_t> frequencies;  ///< table after table, as stored
    std::vector<std::uint8_t> context_map;
};

[[nodiscard]] ByteBuffer write_table_set(const TableSetParts& parts);

/// XXH64 of the bytes.
[[nodiscard]] std::uint64_t table_set_id(ByteView bytes) noexcept;

/// An id as people and manifests write it: 16 hexadecimal digits.
[[nodiscard]] std::string table_set_name(std::uint64_t id);

/// The table set that comes with the codec.
[[nodiscard]] const TableSet& default_tables();

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
