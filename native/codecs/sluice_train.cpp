// Trains a table set: contexts with like statistics share a table, found by k-means over their code lengths.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "codecs/sluice.h"
#include "codecs/sluice_layers.h"

namespace penstock::sluice {

namespace {

constexpr unsigned kTokenTables = 16;
constexpr unsigned kPairTables = 24;
constexpr unsigned kCountTables = 8;
constexpr unsigned kTokenTablesAlone = 36;  // if there are no pairs
constexpr unsigned kCountTablesAlone = 12;
constexpr int kMaxRounds = 40;

using Counts = std::array<double, kNumSymbols>;

/// Contexts of one kind and the tables that they share.
class Clustering {
  public:
    Clustering(const std::vector<std::uint32_t>& counts, std::vector<unsigned> contexts, unsigned num_tables,
               unsigned num_symbols)
        : counts_(counts), contexts_(std::move(contexts)), num_symbols_(num_symbols), tables_(num_tables) {
        for (const unsigned context : contexts_) {
            if (total(context) > 0) seen_.push_back(context);
        }
        share_out();
        for (int round = 0; round < kMaxRounds && improve(); ++round) {
        }
        sum_up();
    }

    /// Adds the tables' frequencies to `parts`, and the table of each context.
    void write(unsigned first_table, TableSetParts& parts) const {
        for (const Counts& table : tables_) write_frequencies(table, parts.frequencies);
        for (const unsigned context : contexts_) {
            const auto table = seen_.empty() ? 0U : assigned_[nearest_seen(context)];
            parts.context_map[context] = static_cast<std::uint8_t>(first_table + table);
        }
    }

  private:
    [[nodiscard]] const std::uint32_t* counts_of(unsigned context) const {
        return counts_.data() + std::size_t{context} * kNumSymbols;
    }
    [[nodiscard]] double total(unsigned context) const {
        return std::accumulate(counts_of(context), counts_of(context) + kNumSymbols, 0.0);
    }
    [[nodiscard]] double mean(unsigned context) const {
        double sum = 0;
        for (unsigned symbol = 0; symbol < num_symbols_; ++symbol)
            sum += static_cast<double>(symbol) * counts_of(context)[symbol];
        return sum / total(context);
    }

    // At first tables get equal shares of all symbols, by the mean symbol of their contexts.
    void share_out() {
        std::ranges::stable_sort(seen_, {}, [&](unsigned context) { return mean(context); });
        double all = 0;
        for (const unsigned context : seen_) all += total(context);
        double before = 0;
        for (const unsigned context : seen_) {
            const auto table = static_cast<unsigned>(before / all * static_cast<double>(tables_.size()));
            assigned_.push_back(std::min(table, static_cast<unsigned>(tables_.size()) - 1));
            before += total(context);
        }
    }

    void sum_up() {
        for (Counts& table : tables_) table.fill(0);
        for (std::size_t i = 0; i < seen_.size(); ++i) {
            for (unsigned symbol = 0; symbol < num_symbols_; ++symbol) {
                tables_[assigned_[i]][symbol] += counts_of(seen_[i])[symbol];
            }
        }
    }

    // One round of k-means: every context goes to the table that codes it in the fewest bits.
    bool improve() {
        sum_up();
        std::vector<Counts> bits(tables_.size());
        for (std::size_t t = 0; t < tables_.size(); ++t) {
            const double all = std::accumulate(tables_[t].begin(), tables_[t].end(), 0.0);
            for (unsigned symbol = 0; symbol < num_symbols_; ++symbol) {
                const double smallest = 0.01 + all * 2e-5;  // nothing is impossible
                bits[t][symbol] = -std::log2((tables_[t][symbol] + smallest) / (all + smallest * num_symbols_));
            }
        }
        bool changed = false;
        for (std::size_t i = 0; i < seen_.size(); ++i) {
            unsigned best = 0;
            double fewest = INFINITY;
            for (unsigned t = 0; t < tables_.size(); ++t) {
                double cost = 0;
                for (unsigned symbol = 0; symbol < num_symbols_; ++symbol) {
                    cost += counts_of(seen_[i])[symbol] * bits[t][symbol];
                }
                if (cost < fewest) {
                    fewest = cost;
                    best = t;
                }
            }
            changed = changed || best != assigned_[i];
            assigned_[i] = best;
        }
        return changed;
    }

    // Index into `seen_` of the context with the nearest number: neighbours in the map are alike.
    [[nodiscard]] std::size_t nearest_seen(unsigned context) const {
        const auto distance = [&](unsigned other) { return other > context ? other - context : context - other; };
        return static_cast<std::size_t>(std::ranges::min_element(seen_, {}, distance) - seen_.begin());
    }

    // Frequencies of at least 1 that add up to kNumSlots and cost as few bits as possible.
    void write_frequencies(const Counts& table, std::vector<std::uint16_t>& out) const {
        const double all = std::max(1.0, std::accumulate(table.begin(), table.end(), 0.0));
        std::array<int, kNumSymbols> frequencies{};
        int sum = 0;
        for (unsigned symbol = 0; symbol < num_symbols_; ++symbol) {
            frequencies[symbol] = std::max(1, static_cast<int>(std::lround(table[symbol] / all * kNumSlots)));
            sum += frequencies[symbol];
        }
        while (sum != static_cast<int>(kNumSlots)) {
            const int change = sum > static_cast<int>(kNumSlots) ? -1 : 1;
            unsigned best = 0;
            double least = INFINITY;
            for (unsigned symbol = 0; symbol < num_symbols_; ++symbol) {
                const int now = frequencies[symbol];
                if (now + change < 1) continue;
                const double cost = table[symbol] * std::log2(static_cast<double>(now) / (now + change));
                if (cost < least) {
                    least = cost;
                    best = symbol;
                }
            }
            frequencies[best] += change;
            sum += change;
        }
        for (unsigned symbol = 0; symbol < num_symbols_; ++symbol) {
            out.push_back(static_cast<std::uint16_t>(frequencies[symbol]));
        }
    }

    const std::vector<std::uint32_t>& counts_;
    std::vector<unsigned> contexts_;
    unsigned num_symbols_;
    std::vector<Counts> tables_;
    std::vector<unsigned> seen_;      // contexts that occurred
    std::vector<unsigned> assigned_;  // their tables
};

}  // namespace

namespace {

std::size_t num_counts(unsigned first_pair) {
    return std::size_t{kNumClasses} * num_contexts(first_pair) * kNumSymbols;
}

template <typename Walk>
void count_symbols(const Layout& layout, Walk walk, std::vector<std::uint32_t>& counts) {
    for (std::uint32_t y = 0; y < layout.tiles_down(); ++y) {
        for (std::uint32_t x = 0; x < layout.tiles_across(); ++x) {
            const TileSymbols& tile = walk.walk(x, y);
            for (std::size_t i = 0; i < tile.symbols.size(); ++i) {
                ++counts[std::size_t{tile.contexts[i]} * kNumSymbols + tile.symbols[i]];
            }
        }
    }
}

ByteBuffer tables_from(const std::vector<std::uint32_t>& counts, unsigned first_pair, unsigned refinement_bits) {
    const bool pairs = first_pair < kPositions;
    const unsigned num_tokens = refinement_bits == 0 ? kNumTokens : 1U << refinement_bits;
    TableSetParts parts;
    parts.first_pair = first_pair;
    parts.refinement_bits = refinement_bits;
    parts.counts = {pairs ? kTokenTables : kTokenTablesAlone, pairs ? kPairTables : 0,
                    pairs ? kCountTables : kCountTablesAlone};
    const unsigned each = num_contexts(first_pair);
    parts.context_map.resize(std::size_t{kNumClasses} * each);
    std::array<std::vector<unsigned>, 3> contexts;
    const unsigned first_pair_context = pairs ? position_contexts(first_pair, first_pair) : each;
    for (unsigned context = 0; context < kNumClasses * each; ++context) {
        const unsigned in_class = context % each;
        std::size_t kind = in_class >= first_pair_context ? 1 : 0;
        if (in_class >= kEvenContexts && in_class < kPositionContexts) kind = 2;
        contexts[kind].push_back(context);
    }
    unsigned first_table = 0;
    for (std::size_t kind = 0; kind < contexts.size(); ++kind) {
        if (parts.counts[kind] == 0) continue;
        const Clustering clustering(counts, contexts[kind], parts.counts[kind], kind == 0 ? num_tokens : kNumSymbols);
        clustering.write(first_table, parts);
        first_table += parts.counts[kind];
    }
    return write_table_set(parts);
}

}  // namespace

TableTrainer::TableTrainer(unsigned first_pair, unsigned layer_bits)
    : first_pair_(first_pair),
      layer_bits_(layer_bits),
      counts_(num_counts(first_pair)),
      refinement_(layer_bits != 0 ? num_counts(kPositions) : 0) {}

void TableTrainer::add(const jpeg::CoefficientImage& image) {
    const Layout layout = default_layout(image);
    if (layer_bits_ == 0) {
        count_symbols(layout, SymbolWalk(image, layout, first_pair_), counts_);
        return;
    }
    const jpeg::CoefficientImage coarse = coarse_image(image, layer_bits_);
    count_symbols(layout, SymbolWalk(coarse, layout, first_pair_), counts_);
    count_symbols(layout, RefinementWalk(image, layout, layer_bits_), refinement_);
}

void TableTrainer::add(const TableTrainer& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    for (std::size_t i = 0; i < refinement_.size(); ++i) refinement_[i] += other.refinement_[i];
}

ByteBuffer TableTrainer::finish() const {
    ByteBuffer first = tables_from(counts_, first_pair_, 0);
    if (layer_bits_ == 0) return first;
    const ByteBuffer second = tables_from(refinement_, kPositions, layer_bits_);
    return write_layered_table_set({layer_bits_, first.view(), second.view()});
}

}  // namespace penstock::sluice
