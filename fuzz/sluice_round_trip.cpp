// From JPEG to Sluice and back. Whatever the bytes are, they are refused with an `Error`, or the JPEG comes back byte
// for byte and both files have the same pixels, in one layer and in two.
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "codecs/decode.h"
#include "codecs/sluice_transcode.h"
#include "codecs/table.h"
#include "harness.h"

namespace {

using namespace penstock;
using namespace penstock::fuzz;

constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 16;

std::optional<ByteBuffer> coded(ByteView jpeg, unsigned layer_bits) {
    try {
        sluice::TranscodeOptions options;
        options.max_pixels = kMaxPixels;
        options.layer_bits = layer_bits;
        return sluice::from_jpeg(jpeg, options);
    } catch (const Error& error) {
        check_error(error);
        return std::nullopt;
    }
}

void check_round_trip(ByteView jpeg, unsigned layer_bits) {
    const std::optional<ByteBuffer> file = coded(jpeg, layer_bits);
    if (!file) return;
    const ByteBuffer restored = sluice::to_jpeg(file->view(), kMaxPixels);
    if (restored.size() != jpeg.size() || std::memcmp(restored.data(), jpeg.data(), jpeg.size()) != 0) {
        fail("restores another file");
    }
    for (const std::uint32_t scale : {1U, 2U, 4U, 8U}) {
        DecodeOptions options;
        options.max_pixels = kMaxPixels;
        options.scale = scale;
        auto expected = decode(*find_codec("jpeg"), jpeg, options, 0);
        if (!expected) return;
        auto found = decode(*find_codec("sluice"), file->view(), options, 0);
        if (!found) fail("does not decode what it encoded");
        const ImageView a = expected->view();
        const ImageView b = found->view();
        if (a.shape != b.shape) fail("gives another shape than the jpeg");
        for (std::uint32_t y = 0; y < a.shape.height; ++y) {
            if (std::memcmp(a.row(y), b.row(y), a.shape.row_bytes()) != 0) fail("gives other pixels than the jpeg");
        }
        const ByteView prefix = file->view().first(sluice::first_layer_bytes(file->view()));
        auto coarse = decode(*find_codec("sluice"), prefix, options, 0);
        if (!coarse || coarse->view().shape != a.shape) fail("does not decode the first layer");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const ByteView jpeg(bytes, size);
    check_round_trip(jpeg, 0);
    check_round_trip(jpeg, 1 + static_cast<unsigned>(size % 3));
    return 0;
}
