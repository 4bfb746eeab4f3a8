// One sample from its bytes to its slots: checksum, header, the draw, the region's pixels, and what the batch wants of
// them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "codecs/decode.h"
#include "engine/batch.h"
#include "engine/fetch.h"
#include "engine/own_sample.h"
#include "engine/sample_table.h"
#include "engine/scratch.h"
#include "pixels/program.h"

namespace penstock {

enum class Channels : std::uint8_t { rgb, grey, unchanged };
enum class Verify : std::uint8_t { first, always, never };
/// Images that a batch gets undecoded: none; Weir and L3, for an accelerator that decodes and transforms them; or all,
/// to measure reading alone.
enum class Undecoded : std::uint8_t { none, for_device, all };

struct SampleOptions {
    Layout layout = Layout::nhwc;
    Channels channels = Channels::rgb;
    Verify verify = Verify::first;
    Undecoded undecoded = Undecoded::none;
    bool approximate = false;  ///< a rougher transform, and a reduced scale where the crop shrinks by 2 or more
    std::uint64_t max_pixels = std::uint64_t{1} << 28;
};

/// Tables of a codec and rows of the transforms, which each thread has beside all else.
inline constexpr std::size_t kThreadBytes = std::size_t{512} << 10;

/// Working memory of one decoding thread.
struct DecoderScratch {
    explicit DecoderScratch(MemoryAccount& memory) : pixels(memory) {}

    Scratch pixels;
    TransformScratch transform;
    ByteBuffer joined;  ///< a sample of a block, as large as the largest so far
};

/// Decodes samples of batches. Its only state is which samples were verified, so one object serves every thread.
class SampleDecoder {
  public:
    SampleDecoder(const SampleTable& table, TransformProgram program, const SampleOptions& options);

    /// Fills the sample's slots. Throws what is wrong with it, with the file in `where`.
    void decode(Batch& batch, std::size_t position, const SampleBytes& bytes, DecoderScratch& scratch);

    /// Converts a sample to the form that the table sets for the cache: all its fields decoded whole, or encoded again.
    /// Returns null if that fails or would take more than its room; the sample may still decode normally. Throws if
    /// memory is short.
    [[nodiscard]] std::shared_ptr<const OwnSample> recode(std::uint64_t id, const SampleBytes& bytes,
                                                          const std::shared_ptr<MemoryGauge>& gauge,
                                                          DecoderScratch& scratch) const;

  private:
    struct Encoded;
    struct Target;
    struct Whole;

    void decode_fields(Batch& batch, std::size_t position, const SampleBytes& bytes, DecoderScratch& scratch);
    [[nodiscard]] Encoded encoded(const FieldColumns& field, std::uint64_t id, const SampleBytes& bytes) const;
    [[nodiscard]] Encoded picture_of(std::uint64_t id, std::uint32_t fidelity, const SampleBytes& bytes,
                                     DecoderScratch& scratch) const;
    [[nodiscard]] ByteView field_bytes(const FieldColumns& field, std::uint64_t id, const SampleBytes& bytes) const;
    [[nodiscard]] ImageInfo info_of(const Encoded& data) const;
    [[nodiscard]] bool hands_over(const Encoded& picture, const ImageInfo& info) const;
    void decode_field(const Encoded& data, const Draw& draw, const Target& target, DecoderScratch& scratch) const;
    [[nodiscard]] DecodePlan plan_field(const Encoded& data, const Draw& draw, std::uint32_t scale) const;
    [[nodiscard]] Slot slot_for(const Encoded& data, const Draw& draw, PixelShape decoded, const Target& target) const;
    void place_pixels(const Encoded& data, const Draw& draw, const Target& target, DecoderScratch& scratch) const;
    [[nodiscard]] std::vector<Whole> plan_whole(std::uint64_t id, const SampleBytes& bytes) const;
    [[nodiscard]] static std::shared_ptr<const OwnSample> as_pixels(const std::vector<Whole>& fields, std::size_t room,
                                                                    const Extent& record,
                                                                    const std::shared_ptr<MemoryGauge>& gauge,
                                                                    DecoderScratch& scratch);
    [[nodiscard]] static std::shared_ptr<const OwnSample> as_weir(const std::vector<Whole>& fields, std::size_t room,
                                                                  const Extent& record,
                                                                  const std::shared_ptr<MemoryGauge>& gauge,
                                                                  DecoderScratch& scratch);
    [[nodiscard]] bool must_verify(std::uint64_t id) const noexcept;
    void set_verified(std::uint64_t id) noexcept;

    const SampleTable& table_;
    const TransformProgram program_;
    const TransformProgram mask_program_;
    const SampleOptions options_;
    std::unique_ptr<std::atomic<std::uint8_t>[]> verified_;  // a bit a sample
};

}  // namespace penstock
