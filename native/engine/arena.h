// Samples that stay in memory between epochs. Which, and as what, is decided elsewhere; here they are held, and
// counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/buffer.h"
#include "engine/fetch.h"
#include "engine/memory_account.h"
#include "engine/own_sample.h"

namespace penstock {

/// Safe from many threads. A record that is being decoded stays valid when it is dropped meanwhile.
class Arena {
  public:
    /// Keeps at most `limit_bytes`; what would exceed them is not kept, and counts as refused.
    Arena(std::size_t limit_bytes, std::shared_ptr<MemoryGauge> gauge)
        : limit_bytes_(limit_bytes), gauge_(std::move(gauge)) {}

    struct Found {
        std::shared_ptr<const SampleBytes> bytes;  ///< null if the sample is not here
        bool is_fresh = false;                     ///< read ahead, and used by no batch so far
    };

    [[nodiscard]] Found find(std::uint64_t id) const;
    /// Copies the record of a sample out of the bytes that were read, unless it is here already.
    void keep(std::uint64_t id, const SampleBytes& bytes, const Extent& record);
    /// The same for a sample whose batch is still to come: it is fresh until `keep` is said after its use.
    void keep_fresh(std::uint64_t id, const SampleBytes& bytes, const Extent& record);
    /// Takes a sample of a block over, in the place of one with fewer pieces if there is one. It is not kept if that
    /// would exceed the limit.
    void put(std::uint64_t id, std::shared_ptr<const OwnSample> sample, bool is_fresh);
    /// Sets bytes aside for a sample that is being decoded to be kept. False, and it counts as refused, if there are
    /// not so many left.
    [[nodiscard]] bool reserve(std::size_t bytes);
    /// Takes such a sample over in the place of what is here of it, and gives back what it left of its `reserved`
    /// bytes. Without a sample, all of them.
    void fill(std::uint64_t id, std::shared_ptr<const OwnSample> sample, std::size_t reserved);
    /// Counts a sample that should have been kept and could not be; it is dropped if it is here.
    void refuse(std::uint64_t id);
    void drop(std::uint64_t id);
    void clear();
    /// Drops every sample but these.
    void retain(const std::vector<std::uint64_t>& ids);

    /// Returns the bytes that are held of a sample; 0 if it is not here.
    [[nodiscard]] std::size_t held_bytes(std::uint64_t id) const;
    [[nodiscard]] std::size_t held_bytes() const;
    [[nodiscard]] std::size_t num_refused() const;

  private:
    struct Entry {
        std::shared_ptr<const OwnSample> kept;
        bool is_fresh = false;
    };

    void add(std::uint64_t id, const SampleBytes& bytes, const Extent& record, bool is_fresh);

    const std::size_t limit_bytes_;
    const std::shared_ptr<MemoryGauge> gauge_;
    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, Entry> kept_;
    std::size_t held_bytes_ = 0;  // what is reserved included
    std::size_t reserved_bytes_ = 0;
    std::size_t num_refused_ = 0;
};

}  // namespace penstock
