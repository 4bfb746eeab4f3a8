// What a lossless codec encodes is what it decodes (PENSTOCK_FUZZ_CODEC): any shape, any samples, any parameters, on
// every SIMD path. Five bytes of shape and parameters, then samples, which are repeated or continued to fill the image.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "codecs/table.h"
#include "harness.h"

namespace {

using namespace penstock;
using namespace penstock::fuzz;

constexpr std::size_t kHeadBytes = 5;
constexpr std::uint32_t kMaxSide = 67;  // two tiles of Weir each way; at 131 a run took four times as long
constexpr std::string_view kCodec = PENSTOCK_FUZZ_CODEC;

PixelShape read_shape(ByteView head) {
    const bool has_16_bits = kCodec != "l3" && (head[0] & 4) != 0;
    return {1 + head[1] % kMaxSide, 1 + head[2] % kMaxSide, static_cast<std::uint8_t>(1 + (head[0] & 3)),
            static_cast<std::uint8_t>(has_16_bits ? 2 : 1)};
}

Parameters read_parameters(ByteView head) {
    std::vector<std::pair<std::string, std::string>> items;
    if (kCodec == "weir") {
        items.emplace_back("variant", (head[3] & 1) != 0 ? "dense" : "fast");
        items.emplace_back("effort", std::to_string(1 + (head[3] >> 1) % 3));
    } else if (kCodec == "l3") {
        items.emplace_back("patch", std::to_string(8 + head[3] % 121));
    } else if (kCodec == "png") {
        items.emplace_back("level", std::to_string(head[3] % 7));
    }
    return Parameters(std::move(items));
}

// Bytes of the image: the input again and again, or once and then zeros, or as small steps up and down.
void fill(std::vector<std::uint8_t>& pixels, ByteView samples, std::uint8_t kind) {
    if (samples.empty()) return;
    std::uint8_t level = 0;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        const std::uint8_t sample = samples[i % samples.size()];
        level = static_cast<std::uint8_t>(level + sample % 7 - 3);
        pixels[i] = kind % 3 == 0 ? sample : kind % 3 == 1 ? level : i < samples.size() ? sample : std::uint8_t{0};
    }
}

void check_same(Target& decoded, const std::vector<std::uint8_t>& pixels) {
    const ImageView view = decoded.view();
    const std::size_t row_bytes = view.shape.row_bytes();
    for (std::uint32_t y = 0; y < view.shape.height; ++y) {
        if (std::memcmp(view.row(y), pixels.data() + y * row_bytes, row_bytes) != 0) fail("decodes other pixels");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < kHeadBytes) return 0;
    const Codec* codec = find_codec(kCodec);
    if (codec == nullptr) fail("is not in the table");
    const ByteView head(bytes, kHeadBytes);
    const PixelShape shape = read_shape(head);
    // As long as it must be and no longer: an encoder that reads beyond is seen.
    std::vector<std::uint8_t> pixels(shape.row_bytes() * shape.height);
    fill(pixels, {bytes + kHeadBytes, size - kHeadBytes}, head[4]);
    std::vector<std::uint8_t> first;
    for (const SimdPath path : simd_paths()) {
        force_simd_path(path);
        const ByteBuffer file = codec->encode({pixels.data(), shape.row_bytes(), shape}, read_parameters(head));
        const ByteView view = file.view();
        if (first.empty()) first.assign(view.begin(), view.end());
        if (!std::equal(view.begin(), view.end(), first.begin(), first.end())) fail("paths write different bytes");
        std::optional<Target> decoded = decode(*codec, {first.data(), first.size()}, {}, 0x5a);
        if (!decoded) fail("refuses what it has written");
        check_same(*decoded, pixels);
    }
    return 0;
}
