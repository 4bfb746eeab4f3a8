// Codecs over memory that changes: a plan of one image, then the bytes of another. Outputs have their size to the byte,
// so that a sanitizer sees the first one too many.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/random.h"
#include "claims.h"
#include "codecs/codec.h"
#include "codecs/decode.h"
#include "codecs/table.h"

using namespace penstock;

namespace {

using Bytes = std::vector<std::uint8_t>;

ByteView view_of(const Bytes& bytes) { return {bytes.data(), bytes.size()}; }

Bytes encoded(const char* codec, std::uint32_t width, std::uint32_t height, std::uint8_t channels) {
    const PixelShape shape{height, width, channels, 1};
    OwnedImage image(shape, BufferPool::shared());
    for (std::size_t i = 0; i < shape.bytes(); ++i) image.view().data[i] = static_cast<std::uint8_t>(i * i / 7);
    const ByteBuffer coded = find_codec(codec)->encode(std::as_const(image).view(), Parameters{});
    return {coded.data(), coded.data() + coded.size()};
}

Bytes pnm(std::uint32_t width, std::uint32_t height, char kind) {
    const std::string head =
        std::string("P") + kind + " " + std::to_string(width) + " " + std::to_string(height) + " 255\n";
    Bytes file(head.begin(), head.end());
    file.resize(head.size() + std::size_t{3} * width * height, 7);
    return file;
}

// 8 bits with a palette of two colours, or 24 bits.
Bytes bmp(std::int32_t width, std::int32_t height, std::uint16_t bits) {
    const std::uint32_t palette = bits == 8 ? 2 : 0;
    const std::uint32_t offset = 54 + 4 * palette;
    Bytes file(
        offset + (std::size_t{bits} * static_cast<std::size_t>(width) + 31) / 32 * 4 * static_cast<std::size_t>(height),
        1);
    const auto put = [&](std::size_t at, auto value) { std::memcpy(&file[at], &value, sizeof value); };
    std::memset(file.data(), 0, offset);
    std::memcpy(file.data(), "BM", 2);
    put(2, static_cast<std::uint32_t>(file.size()));
    put(10, offset);
    put(14, std::uint32_t{40});
    put(18, width);
    put(22, height);
    put(26, std::uint16_t{1});
    put(28, bits);
    put(46, palette);
    if (palette != 0) put(58, std::uint32_t{0x00102030});
    return file;
}

struct Pair {
    const char* codec;
    Bytes planned;
    Bytes found;
    bool palette_indices = false;
};

std::vector<Pair> pairs() {
    std::vector<Pair> list;
    for (const char* codec : {"png", "weir", "l3", "webp", "jpeg", "raw"}) {
        list.push_back({codec, encoded(codec, 40, 30, 3), encoded(codec, 300, 90, 3)});
        list.push_back({codec, encoded(codec, 300, 90, 3), encoded(codec, 40, 30, 3)});
    }
    for (const char* codec : {"png", "weir", "l3", "raw"}) {
        list.push_back({codec, encoded(codec, 40, 30, 1), encoded(codec, 40, 30, 4)});
    }
    list.push_back({"pnm", pnm(9, 5, '6'), pnm(90, 50, '6')});
    list.push_back({"pnm", pnm(9, 5, '5'), pnm(9, 5, '6')});
    list.push_back({"bmp", bmp(9, 5, 24), bmp(90, 50, 24)});
    list.push_back({"bmp", bmp(9, 5, 8), bmp(9, 5, 24), true});
    return list;
}

/// Memory of one size to the byte.
class Output {
  public:
    explicit Output(const PixelShape& shape)
        : data_(static_cast<std::uint8_t*>(std::malloc(shape.bytes()))), shape_(shape) {}
    ~Output() { std::free(data_); }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    [[nodiscard]] ImageView view() const { return {data_, shape_.row_bytes(), shape_}; }

  private:
    std::uint8_t* data_;
    PixelShape shape_;
};

bool is_refused(const Pair& pair) {
    const Codec& codec = *find_codec(pair.codec);
    DecodeOptions options;
    options.palette_indices = pair.palette_indices;
    const DecodePlan plan = plan_decode(codec, view_of(pair.planned), options);
    const Output out(plan.shape);
    try {
        decode_image(codec, view_of(pair.found), plan, out.view());
    } catch (const Error&) {
        return true;
    }
    return false;
}

}  // namespace

CLAIM(an_image_of_another_shape_than_planned_is_refused) {
    for (const SimdPath path : simd_paths()) {
        force_simd_path(path);
        for (const Pair& pair : pairs()) {
            const bool refused = is_refused(pair);
            if (!refused) std::fprintf(stderr, "%s\n", pair.codec);
            CHECK(refused);
        }
    }
}

CLAIM(bytes_that_are_written_to_while_decoded_do_no_harm) {
    for (Pair& pair : pairs()) {
        Bytes& data = pair.planned;
        const Bytes original = data;
        std::atomic<bool> ended = false;
        std::thread writer([&] {
            Random random({1, 0, 0});
            while (!ended.load()) {
                const std::size_t at = random.below(static_cast<std::uint32_t>(data.size()));
                data[at] = static_cast<std::uint8_t>(random.word());
                if (random.below(8) == 0) std::memcpy(data.data(), original.data(), original.size());
            }
        });
        const Codec& codec = *find_codec(pair.codec);
        for (int i = 0; i < 300; ++i) {
            for (const bool verify : {false, true}) {
                try {
                    DecodeOptions options;
                    options.max_pixels = 1 << 20;
                    options.verify = verify;
                    const DecodePlan plan = plan_decode(codec, view_of(data), options);
                    const Output out(plan.shape);
                    decode_image(codec, view_of(data), plan, out.view());
                } catch (const Error&) {
                }
            }
        }
        ended.store(true);
        writer.join();
    }
}

int main(int argc, char** argv) {
    if (argc == 2) return claims::run_named(argv[1]);
    for (const claims::Claim& claim : claims::all()) std::printf("%s\n", claim.name);
    return 0;
}
