#include "codecs/sluice_tables.h"

#include <pthread.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/codec.h"

namespace penstock::sluice {

namespace {

constexpr std::size_t kHeaderBytes = 16;
constexpr std::array<std::uint8_t, 4> kMagic{'S', 'L', 'T', 'B'};
constexpr std::size_t kTokens = 0;
constexpr std::size_t kPairs = 1;
constexpr std::size_t kCounts = 2;

[[noreturn]] void refuse(std::string what, std::size_t at) {
    throw Error(ErrorCode::corrupt, "sluice table set " + std::move(what), at_byte("sluice table set", at),
                "the tables are damaged: restore them from the dataset's manifest, or train them again");
}

unsigned num_tokens(unsigned refinement_bits) { return refinement_bits == 0 ? kNumTokens : 1U << refinement_bits; }

// Checks the header; gives the number of tables of each kind.
std::array<unsigned, 3> read_head(ByteView bytes, unsigned refinement_bits) {
    if (bytes.size() < kHeaderBytes) refuse("is shorter than its header", bytes.size());
    if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) refuse("does not begin with its magic bytes", 0);
    if (bytes[4] != 1) {
        throw Error(ErrorCode::unsupported, "sluice table set of version " + std::to_string(bytes[4]) + " is not known",
                    at_byte("sluice table set", 4), "use a newer version of penstock");
    }
    const unsigned first_pair = bytes[5];
    if (first_pair < 2 || first_pair > kPositions || first_pair % 2 != 0) refuse("has no such first pair", 5);
    const std::array<unsigned, 3> counts{bytes[6], bytes[7], bytes[8]};
    if (counts[kTokens] == 0 || counts[kCounts] == 0) refuse("lacks tables", 6);
    if ((counts[kPairs] == 0) != (first_pair == kPositions)) refuse("has pair tables without pairs, or none", 7);
    if (counts[kTokens] + counts[kPairs] + counts[kCounts] > kMaxTables) refuse("has too many tables", 6);
    if (bytes[9] != refinement_bits) refuse("belongs to another layer", 9);
    if (refinement_bits != 0 && first_pair != kPositions) refuse("has pairs in the second layer", 5);
    if ((bytes[10] | bytes[11]) != 0) refuse("has a header that is not known", 10);
    const std::size_t expected =
        kHeaderBytes +
        2 * (num_tokens(refinement_bits) * counts[kTokens] + kNumSymbols * (counts[kPairs] + counts[kCounts])) +
        kNumClasses * num_contexts(first_pair);
    if (bytes.size() != expected) refuse("has another length than its header says", bytes.size());
    std::uint32_t crc = 0;
    std::memcpy(&crc, &bytes[12], sizeof crc);
    if (crc32c(bytes.subspan(kHeaderBytes)) != crc) {
        throw Error(ErrorCode::checksum, "sluice table set does not match its checksum",
                    at_byte("sluice table set", 12), "restore the tables from the dataset's manifest");
    }
    return counts;
}

}  // namespace

std::uint64_t table_set_id(ByteView bytes) noexcept { return XXH64(bytes.data(), bytes.size(), 0); }

std::string table_set_name(std::uint64_t id) {
    std::array<char, 17> digits{};
    (void)std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(id));
    return digits.data();
}

TableSet::TableSet(ByteView bytes) {
    if (!is_layered_table_set(bytes)) {
        read(bytes, 0);
        return;
    }
    const LayeredTables parts = split_layered_table_set(bytes);
    read(parts.coarse, 0);
    refinement_.reset(new TableSet());
    refinement_->read(parts.refinement, parts.bits);
    layer_bits_ = parts.bits;
    bytes_.resize(0);
    bytes_.append(bytes.data(), bytes.size());
    id_ = table_set_id(bytes);
}

void TableSet::read(ByteView bytes, unsigned refinement_bits) {
    const std::array<unsigned, 3> counts = read_head(bytes, refinement_bits);
    bytes_.append(bytes.data(), bytes.size());
    id_ = table_set_id(bytes);
    decode_.first_pair = bytes[5];
    const unsigned num_tables = counts[kTokens] + counts[kPairs] + counts[kCounts];
    decode_.entries.reserve(std::size_t{num_tables} * kNumSlots);
    encode_.reserve(std::size_t{num_tables} * kNumSymbols);
    std::size_t at = kHeaderBytes;
    read_tables(at, counts[kTokens], num_tokens(refinement_bits));
    read_tables(at, counts[kPairs] + counts[kCounts], kNumSymbols);
    read_map(at, counts);
}

void TableSet::read_tables(std::size_t& at, unsigned count, unsigned num_symbols) {
    for (unsigned table = 0; table < count; ++table) {
        std::uint32_t begin = 0;
        for (unsigned symbol = 0; symbol < kNumSymbols; ++symbol) {
            std::uint16_t frequency = 0;
            if (symbol < num_symbols) {
                std::memcpy(&frequency, bytes_.data() + at, sizeof frequency);
                if (frequency == 0 || begin + frequency > kNumSlots) refuse("has a frequency that does not fit", at);
                at += 2;
            }
            for (std::uint32_t i = 0; i < frequency; ++i) {
                decode_.entries.push_back(i | symbol << kSlotBits | std::uint32_t{frequency} << 16);
            }
            const std::uint64_t reciprocal =
                frequency == 0 ? 0 : ((std::uint64_t{1} << 42) + frequency - 1) / frequency;
            encode_.push_back({reciprocal, frequency, static_cast<std::uint16_t>(begin)});
            begin += frequency;
        }
        if (begin != kNumSlots) refuse("has a table whose frequencies do not add up to 1024", at);
    }
}

void TableSet::read_map(std::size_t at, const std::array<unsigned, 3>& counts) {
    const ByteView map = bytes_.view().subspan(at);
    const unsigned first_pair = decode_.first_pair;
    const unsigned each = num_contexts(first_pair);
    const std::array<unsigned, 4> limits{0, counts[kTokens], counts[kTokens] + counts[kPairs],
                                         counts[kTokens] + counts[kPairs] + counts[kCounts]};
    const unsigned first_pair_context = first_pair < kPositions ? position_contexts(first_pair, first_pair) : each;
    for (unsigned context = 0; context < kNumClasses * each; ++context) {
        const unsigned in_class = context % each;
        std::size_t kind = in_class >= first_pair_context ? kPairs : kTokens;
        if (in_class >= kEvenContexts && in_class < kPositionContexts) kind = kCounts;
        if (map[context] < limits[kind] || map[context] >= limits[kind + 1]) {
            refuse("maps a context to a table of another kind", at + context);
        }
    }
    map_.assign(map.begin(), map.end());
    for (unsigned c = 0; c < kNumClasses; ++c) {
        const std::uint8_t* const from = map_.data() + c * each;
        decode_.dc[c] = from[kDcContext];
        for (unsigned i = 0; i < 64; ++i) decode_.even[c][i] = from[kEvenContexts + i % 8];
        std::memcpy(decode_.odd[c], from + kOddContexts, 64);
        for (unsigned k = 1; k < kPositions; ++k) {
            // The second position of a pair has no contexts of its own; a copy keeps every entry a table that exists.
            const unsigned first = k < first_pair ? k : k - (k - first_pair) % 2;
            std::memcpy(decode_.positions[c][k], from + position_contexts(first, first_pair), 64);
        }
        std::memset(decode_.positions[c][0], from[kDcContext], 64);
    }
}

ByteBuffer write_table_set(const TableSetParts& parts) {
    ByteBuffer out;
    const std::array<std::uint8_t, 12> head{kMagic[0],
                                            kMagic[1],
                                            kMagic[2],
                                            kMagic[3],
                                            1,
                                            static_cast<std::uint8_t>(parts.first_pair),
                                            static_cast<std::uint8_t>(parts.counts[kTokens]),
                                            static_cast<std::uint8_t>(parts.counts[kPairs]),
                                            static_cast<std::uint8_t>(parts.counts[kCounts]),
                                            static_cast<std::uint8_t>(parts.refinement_bits),
                                            0,
                                            0};
    out.append(head.data(), head.size());
    out.resize(kHeaderBytes);
    out.append(parts.frequencies.data(), parts.frequencies.size() * sizeof(std::uint16_t));
    out.append(parts.context_map.data(), parts.context_map.size());
    const std::uint32_t crc = crc32c(out.view().subspan(kHeaderBytes));
    std::memcpy(out.data() + 12, &crc, sizeof crc);
    return out;
}

// Known table sets -------------------------------------------------------------------------------------------------

namespace {

struct Registry {
    std::mutex mutex;
    std::map<std::uint64_t, std::weak_ptr<const TableSet>> known;
    std::map<std::uint64_t, std::shared_ptr<const TableSet>> kept;  // those that stay for good

    static Registry& get() {
        // Never destroyed: threads may decode until the process ends. A forking thread holds the lock meanwhile, so
        // that the child finds it whole.
        static auto* registry = [] {
            auto* made = new Registry;
            (void)::pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
                                   [] { get().mutex.unlock(); });
            return made;
        }();
        return *registry;
    }

    // A known set; forgets the sets that nobody holds any more.
    std::shared_ptr<const TableSet> find(std::uint64_t id) {
        const auto found = known.find(id);
        return found == known.end() ? nullptr : found->second.lock();
    }

    void forget_unused() {
        std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
    }
};

// A set that comes with the codec; it is never freed, so nothing counts its users.
std::shared_ptr<const TableSet> find_default(std::uint64_t id) {
    const TableSet* const found = default_tables().id() == id ? &default_tables() : find_default_layered_tables(id);
    return {std::shared_ptr<const TableSet>{}, found};
}

}  // namespace

std::shared_ptr<const TableSet> hold_tables(ByteView bytes) {
    if (auto found = find_tables(table_set_id(bytes)); found != nullptr) return found;
    auto made = std::make_shared<const TableSet>(bytes);
    Registry& registry = Registry::get();
    const std::lock_guard lock(registry.mutex);
    if (auto found = registry.find(made->id()); found != nullptr) return found;  // another thread was faster
    registry.forget_unused();
    registry.known[made->id()] = made;
    return made;
}

std::shared_ptr<const TableSet> keep_tables(ByteView bytes) {
    std::shared_ptr<const TableSet> tables = hold_tables(bytes);
    if (find_default(tables->id()) != nullptr) return tables;
    Registry& registry = Registry::get();
    const std::lock_guard lock(registry.mutex);
    if (!registry.kept.contains(tables->id()) && registry.kept.size() >= kMaxKept) {
        throw Error(ErrorCode::bad_argument,
                    "this process keeps " + std::to_string(kMaxKept) + " sluice table sets already", "tables",
                    "write files that contain their table set, or datasets, which release theirs when they are closed");
    }
    registry.kept[tables->id()] = tables;
    return tables;
}

std::shared_ptr<const TableSet> find_tables(std::uint64_t id) {
    if (auto standard = find_default(id); standard != nullptr) return standard;
    Registry& registry = Registry::get();
    const std::lock_guard lock(registry.mutex);
    return registry.find(id);
}

std::size_t num_known_tables() {
    Registry& registry = Registry::get();
    const std::lock_guard lock(registry.mutex);
    registry.forget_unused();
    return registry.known.size();
}

}  // namespace penstock::sluice
