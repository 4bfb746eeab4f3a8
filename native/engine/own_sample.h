// Bytes of one sample that own their memory, and are counted as long as anybody holds them.
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "engine/fetch.h"
#include "engine/memory_account.h"

namespace penstock {

/// Vector loads of a decoder may run over the end by so much.
inline constexpr std::size_t kSamplePadding = 64;

struct OwnSample {
    /// Copies `data`, the bytes of `record`.
    OwnSample(ByteView data, const Extent& record, std::uint32_t num_joined, std::shared_ptr<MemoryGauge> counted)
        : OwnSample(padded(data), record, num_joined, std::move(counted)) {}

    /// Takes ownership of `content`; its last `kSamplePadding` bytes do not belong to the sample.
    OwnSample(ByteBuffer content, const Extent& record, std::uint32_t num_joined, std::shared_ptr<MemoryGauge> counted)
        : memory(std::move(content)), gauge(std::move(counted)) {
        bytes = {record, {memory.data(), memory.size() - kSamplePadding}, num_joined};
        gauge->add(memory.size());
    }
    /// Takes over `content`, in which `kept_fields` lie; `record` says only where the sample came from.
    OwnSample(ByteBuffer content, const Extent& record, std::vector<KeptField> kept_fields,
              std::shared_ptr<MemoryGauge> counted)
        : OwnSample(std::move(content), record, 0, std::move(counted)) {
        fields = std::move(kept_fields);
        bytes.kept = fields;
    }
    ~OwnSample() { gauge->remove(memory.size()); }
    OwnSample(const OwnSample&) = delete;
    OwnSample& operator=(const OwnSample&) = delete;

    ByteBuffer memory;
    std::vector<KeptField> fields;  ///< of a sample that was decoded to be kept
    SampleBytes bytes;
    std::shared_ptr<MemoryGauge> gauge;

  private:
    static ByteBuffer padded(ByteView data) {
        ByteBuffer copy(data.size() + kSamplePadding);
        std::memcpy(copy.data(), data.data(), data.size());
        return copy;
    }
};

}  // namespace penstock
