// One sample of a block, read part by part because the rest of its block is not needed now.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/own_sample.h"

namespace penstock {

/// Joins the parts of a sample, which arrive from several threads in any order. The thread that brings the last part
/// passes the sample on.
class PieceJoin {
  public:
    PieceJoin(std::size_t bytes, std::size_t num_parts) : content_(bytes + kSamplePadding), num_open_(num_parts) {}

    void add(std::size_t at, ByteView part) { std::memcpy(content_.data() + at, part.data(), part.size()); }
    /// True for the first part that fails: it tells what went wrong, the others only end.
    [[nodiscard]] bool fail() noexcept { return !failed_.exchange(true); }
    /// A part has ended, well or not. True for the last one of a sample that is whole.
    [[nodiscard]] bool end_part() noexcept { return num_open_.fetch_sub(1) == 1 && !failed_.load(); }

    [[nodiscard]] std::shared_ptr<const SampleBytes> take(const Extent& record, std::uint32_t num_pieces,
                                                          std::shared_ptr<MemoryGauge> gauge) {
        auto own = std::make_shared<const OwnSample>(std::move(content_), record, num_pieces, std::move(gauge));
        return {own, &own->bytes};
    }

  private:
    ByteBuffer content_;
    std::atomic<std::size_t> num_open_;
    std::atomic<bool> failed_{false};
};

}  // namespace penstock
