#include "pixels/pass_tables.h"

#include <algorithm>
#include <array>
#include <utility>

namespace penstock {

namespace {

template <typename Value>
std::int64_t append(std::vector<Value>& to, const std::vector<Value>& values) {
    const auto begin = static_cast<std::int64_t>(to.size());
    to.insert(to.end(), values.begin(), values.end());
    return begin;
}

void append_pass(const StageTables& stage, Region input, PassTables& to) {
    const bool is_wide = !stage.rows.fractions.empty();
    const auto weights = [&](const SideTable& side) {
        return is_wide ? append(to.fractions, side.fractions) : append(to.weights, side.weights);
    };
    std::array<std::int64_t, kNumPassColumns> row{};
    row[kInputTop] = input.y;
    row[kInputLeft] = input.x;
    row[kInputHeight] = input.height;
    row[kInputWidth] = input.width;
    row[kOutputHeight] = static_cast<std::int64_t>(stage.rows.first.size());
    row[kOutputWidth] = static_cast<std::int64_t>(stage.columns.first.size());
    row[kRowTaps] = stage.rows.taps;
    row[kColumnTaps] = stage.columns.taps;
    row[kRowFirst] = append(to.first, stage.rows.first);
    row[kColumnFirst] = append(to.first, stage.columns.first);
    row[kRowWeights] = weights(stage.rows);
    row[kColumnWeights] = weights(stage.columns);
    std::ranges::copy(stage.fill, row.begin() + kFill);
    to.rows.insert(to.rows.end(), row.begin(), row.end());
}

StageTables copy_of(ImageSize size, std::uint8_t sample_bytes) {
    const Region whole{0, 0, size.height, size.width};
    return stage_tables(Stage::whole(size), Filter::nearest, {}, whole, size, sample_bytes);
}

}  // namespace

std::vector<PassTables> pass_tables(const TransformProgram& program, std::span<const ImageSize> sizes,
                                    std::span<const std::uint64_t> ids, std::uint64_t seed, std::uint64_t epoch,
                                    std::uint8_t sample_bytes) {
    std::vector<std::vector<StageTables>> stages;
    std::vector<Region> inputs;
    std::size_t num_passes = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const Draw draw = program.draw(sizes[i], {seed, epoch, ids[i]});
        stages.push_back(program.tables(draw, sample_bytes));
        inputs.push_back(program.region(draw));
        num_passes = std::max(num_passes, stages.back().size());
    }
    std::vector<PassTables> passes(num_passes);
    for (std::size_t p = 0; p < num_passes; ++p) {
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            const ImageSize size{inputs[i].height, inputs[i].width};
            const StageTables stage = p < stages[i].size() ? std::move(stages[i][p]) : copy_of(size, sample_bytes);
            append_pass(stage, inputs[i], passes[p]);
            inputs[i] = {0, 0, static_cast<std::uint32_t>(stage.rows.first.size()),
                         static_cast<std::uint32_t>(stage.columns.first.size())};
        }
    }
    return passes;
}

}  // namespace penstock
