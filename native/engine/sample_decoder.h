// One sample from its bytes to its slots: checksum, header, the draw, the region's pixels, and what the batch wants of
// them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/batch.h"
#include "engine/channels.h"
#include "engine/fetch.h"
#include "engine/sample_table.h"
#include "engine/scratch.h"

namespace penstock {

enum class Verify : std::uint8_t { first, always, never };

struct SampleOptions {
    Channels channels = Channels::rgb;
    Verify verify = Verify::first;
    bool approximate = false;  ///< a rougher transform, and a reduced scale where the crop shrinks by 2 or more
    std::uint64_t max_pixels = std::uint64_t{1} << 28;
};

/// Stateless but for which samples were verified: one object serves every thread.
class SampleDecoder {
  public:
    SampleDecoder(const SampleTable& table, const SampleOptions& options);

    /// Fills the sample's slots. Throws what is wrong with it, with the file in `where`.
    void decode(Batch& batch, std::size_t position, const Fetched& bytes, Scratch& scratch);

  private:
    struct Encoded;

    void decode_fields(Batch& batch, std::size_t position, const Fetched& bytes, Scratch& scratch);
    [[nodiscard]] Encoded encoded(const FieldColumns& field, std::uint64_t id, const Fetched& bytes) const;
    void decode_field(const Encoded& data, BatchField& out, std::size_t position, Scratch& scratch) const;
    [[nodiscard]] bool must_verify(std::uint64_t id) const noexcept;
    void set_verified(std::uint64_t id) noexcept;

    const SampleTable& table_;
    const SampleOptions options_;
    std::unique_ptr<std::atomic<std::uint8_t>[]> verified_;  // a bit a sample
};

}  // namespace penstock
