// What every target needs: a promise that is broken aloud, numbers drawn from the input, an output that is watched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/image.h"
#include "codecs/decode.h"

namespace penstock::fuzz {

inline constexpr std::size_t kGapBytes = 3;  // between rows: odd, so that no row is aligned by chance

[[noreturn]] inline void fail(const std::string& broken_promise) {
    std::fprintf(stderr, "broken promise of %s: %s\n", PENSTOCK_FUZZ_CODEC, broken_promise.c_str());
    std::abort();
}

/// A stream of small numbers that depends on the input only.
class Draw {
  public:
    explicit Draw(ByteView data) {
        for (const std::uint8_t byte : data) state_ = (state_ ^ byte) * 0x100000001b3U;
    }
    /// From 0 to `end` - 1.
    std::uint32_t below(std::uint32_t end) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::uint32_t>(state_ >> 33) % end;
    }

  private:
    std::uint64_t state_ = 0xcbf29ce484222325U;
};

/// A caller's own buffer: rows apart, poisoned, not a byte longer than it must be.
class Target {
  public:
    Target(const PixelShape& shape, std::uint8_t poison)
        : shape_(shape), poison_(poison), bytes_(stride() * (shape.height - 1) + shape.row_bytes(), poison) {}

    [[nodiscard]] ImageView view() { return {bytes_.data(), stride(), shape_}; }

    /// Fails if a byte between rows was written.
    void check_gaps() {
        for (std::uint32_t y = 0; y + 1 < shape_.height; ++y) {
            const std::uint8_t* gap = view().row(y) + shape_.row_bytes();
            if (std::any_of(gap, gap + kGapBytes, [this](std::uint8_t byte) { return byte != poison_; })) {
                fail("writes between rows");
            }
        }
    }

  private:
    [[nodiscard]] std::size_t stride() const { return shape_.row_bytes() + kGapBytes; }

    PixelShape shape_;
    std::uint8_t poison_;
    std::vector<std::uint8_t> bytes_;
};

/// Data is to blame, and the error says what, where and how to fix it.
inline void check_error(const Error& error) {
    const int family = static_cast<int>(error.code()) / 100;
    if (family != 3) fail("data gives an error of family " + std::to_string(family) + ": " + error.what());
    if (*error.what() == '\0' || error.where().empty() || error.fix().empty()) fail("error lacks what, where or fix");
}

/// Whether libjpeg-turbo runs with its vector code, whose pixels ours are for any coefficients. Under MemorySanitizer
/// it runs without, and the two differ where sums exceed 16 bits.
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
inline constexpr bool kLibjpegHasVectors = false;
#else
inline constexpr bool kLibjpegHasVectors = true;
#endif
#else
inline constexpr bool kLibjpegHasVectors = true;
#endif

/// Decodes into a target; nothing if the data is refused, as it may be.
inline std::optional<Target> decode(const Codec& codec, ByteView data, const DecodeOptions& options,
                                    std::uint8_t poison) {
    try {
        const DecodePlan plan = plan_decode(codec, data, options);
        Target target(plan.shape, poison);
        decode_image(codec, data, plan, target.view());
        target.check_gaps();
        return target;
    } catch (const Error& error) {
        check_error(error);
        return std::nullopt;
    }
}

inline Region draw_region(Draw& draw, const PixelShape& shape) {
    const std::uint32_t y = draw.below(shape.height);
    const std::uint32_t x = draw.below(shape.width);
    return {y, x, 1 + draw.below(shape.height - y), 1 + draw.below(shape.width - x)};
}

}  // namespace penstock::fuzz
