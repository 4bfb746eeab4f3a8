// Layered table sets: one set for each layer, in one piece. spec/sluice.md, "Layered table set".
#include <libdeflate.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "codecs/codec.h"
#include "codecs/sluice_tables.h"

namespace penstock::sluice {

namespace {

constexpr std::size_t kHeadBytes = 12;
constexpr std::array<std::uint8_t, 4> kMagic{'S', 'L', 'T', 'L'};

[[noreturn]] void refuse(std::string what, std::size_t at) {
    throw Error(ErrorCode::corrupt, "layered sluice table set " + std::move(what), at_byte("sluice table set", at),
                "the tables are damaged: restore them from the dataset's manifest, or train them again");
}

TableSet unpack(const PackedTables& packed) {
    const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor(
        libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
    ByteBuffer bytes(packed.num_bytes);
    if (decompressor == nullptr ||
        libdeflate_deflate_decompress(decompressor.get(), packed.packed, packed.packed_bytes, bytes.data(),
                                      bytes.size(), nullptr) != LIBDEFLATE_SUCCESS) {
        throw Error(ErrorCode::out_of_memory, "tables of sluice could not be unpacked", "memory",
                    "free some memory and try again");
    }
    return TableSet(bytes.view());
}

template <unsigned kBits>
const TableSet& unpacked() {
    static const TableSet tables = unpack(kPackedLayeredTables[kBits - 1]);
    return tables;
}

}  // namespace

const TableSet& default_layered_tables(unsigned bits) {
    return bits == 1 ? unpacked<1>() : bits == 2 ? unpacked<2>() : unpacked<3>();
}

const TableSet* find_default_layered_tables(std::uint64_t id) {
    for (unsigned bits = 1; bits <= kMaxLayerBits; ++bits) {
        if (kPackedLayeredTables[bits - 1].id == id) return &default_layered_tables(bits);
    }
    return nullptr;
}

bool is_layered_table_set(ByteView bytes) noexcept {
    return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

LayeredTables split_layered_table_set(ByteView bytes) {
    if (bytes.size() < kHeadBytes) refuse("is shorter than its header", bytes.size());
    if (bytes[4] != 1) {
        throw Error(ErrorCode::unsupported,
                    "layered sluice table set of version " + std::to_string(bytes[4]) + " is not known",
                    at_byte("sluice table set", 4), "use a newer version of penstock");
    }
    const unsigned bits = bytes[5];
    if (bits < 1 || bits > kMaxLayerBits) refuse("adds " + std::to_string(bits) + " bits", 5);
    if ((bytes[6] | bytes[7]) != 0) refuse("has a header that is not known", 6);
    std::uint32_t length = 0;
    std::memcpy(&length, &bytes[8], sizeof length);
    const ByteView sets = bytes.subspan(kHeadBytes);
    if (length > sets.size()) refuse("has a first set that does not fit", 8);
    return {bits, sets.first(length), sets.subspan(length)};
}

ByteBuffer write_layered_table_set(const LayeredTables& parts) {
    ByteBuffer out(kHeadBytes);
    const auto length = static_cast<std::uint32_t>(parts.coarse.size());
    std::memset(out.data(), 0, kHeadBytes);
    std::memcpy(out.data(), kMagic.data(), kMagic.size());
    out.data()[4] = 1;
    out.data()[5] = static_cast<std::uint8_t>(parts.bits);
    std::memcpy(out.data() + 8, &length, sizeof length);
    out.append(parts.coarse.data(), parts.coarse.size());
    out.append(parts.refinement.data(), parts.refinement.size());
    return out;
}

}  // namespace penstock::sluice
