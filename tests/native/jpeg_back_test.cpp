// The back half of JPEG decoding: every path of this processor against the plain one, also for coefficients that no
// encoder writes, and regions against the crop of the whole. Planes have their size to the byte, so that a sanitizer
// sees the first one too many. Whether the plain one is libjpeg-turbo's twin is shown by tests/parity.
#include "codecs/jpeg_back.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "claims.h"
#include "codecs/jpeg.h"
#include "codecs/jpeg_back_kernels.h"
#include "codecs/jpeg_strips.h"

using namespace penstock;
using namespace penstock::jpeg;

namespace {

using Bytes = std::vector<std::uint8_t>;

struct Noise {
    std::uint64_t state;

    std::uint32_t next() {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::uint32_t>(state >> 33);
    }
    int within(int limit) { return static_cast<int>(next() % static_cast<std::uint32_t>(2 * limit + 1)) - limit; }
    std::uint32_t below(std::uint32_t limit) { return next() % limit; }
};

void fill_group(CoefficientGroup& group, Noise& noise, int num_positions, int limit) {
    group.num_positions = num_positions;
    group.wide_positions = 0;
    for (std::size_t k = 0; k < kBlockPositions; ++k) {
        const bool wide = limit > 127 || noise.below(2) == 0;
        if (wide) group.wide_positions |= std::uint64_t{1} << k;
        // What is not stored may be anything.
        for (std::size_t lane = 0; lane < kGroupBlocks; ++lane) {
            group.wide[k][lane] = static_cast<std::int16_t>(noise.within(limit));
            group.narrow[k][lane] = static_cast<std::int8_t>(noise.within(std::min(limit, 127)));
        }
    }
}

struct Samples {
    unsigned size;
    std::size_t stride;
    Bytes bytes;
    RunTargets targets;

    Samples(unsigned block_size, unsigned wanted) : size(block_size), stride(8 * block_size + 5) {
        bytes.assign(stride * 8 * size - 5, 77);
        targets.stride = stride;
        for (std::size_t run = 0; run < kGroupRuns; ++run) {
            if ((wanted >> run & 1) != 0) targets.runs[run] = bytes.data() + run * size * stride;
        }
    }
};

Bytes transformed(const CoefficientGroup& group, const QuantTable& quant, unsigned size, unsigned wanted) {
    Samples samples(size, wanted);
    inverse_dct(group, quant, size, samples.targets);
    return samples.bytes;
}

Parameters parameter(const char* key, const char* value) {
    std::vector<std::pair<std::string, std::string>> items;
    items.emplace_back(key, value);
    return Parameters(std::move(items));
}

template <typename Make>
void check_paths_agree(Make&& make) {
    force_simd_path(SimdPath::portable);
    const auto expected = make();
    for (const SimdPath path : simd_paths()) {
        force_simd_path(path);
        CHECK(make() == expected);
    }
    force_simd_path(best_simd_path());
}

struct Planes {
    std::vector<Bytes> bytes;
    std::vector<PlaneView> views;
};

/// Noise for exactly the samples that `region` needs, the same for every region.
Planes planes_for(const ImageGeometry& geometry, const Region& region) {
    Planes planes;
    for (std::size_t i = 0; i < geometry.num_components; ++i) {
        const SampleWindow window = samples_for(geometry.components[i], region);
        const std::size_t width = window.x_end - window.x_begin;
        const std::size_t height = window.y_end - window.y_begin;
        const std::size_t stride = width + 3;
        planes.bytes.emplace_back(stride * (height - 1) + width + kPlaneSlack);
        for (std::uint32_t y = window.y_begin; y < window.y_end; ++y) {
            for (std::uint32_t x = window.x_begin; x < window.x_end; ++x) {
                Noise noise{i * 1000003 + y * 10007 + x};
                noise.next();
                planes.bytes[i][(y - window.y_begin) * stride + x - window.x_begin] =
                    static_cast<std::uint8_t>(noise.next());
            }
        }
        planes.views.push_back({planes.bytes[i].data(), stride, window.x_begin, window.y_begin});
    }
    return planes;
}

Bytes pixels_of(const ImageGeometry& geometry, const Region& region) {
    const Planes planes = planes_for(geometry, region);
    const std::size_t row_bytes = std::size_t{region.width} * geometry.num_components;
    Bytes out(row_bytes * region.height);
    write_pixels(geometry, planes.views, region, out.data(), row_bytes);
    return out;
}

constexpr std::array<std::array<Sampling, 3>, 10> kSamplings{{
    {{{1, 1}, {1, 1}, {1, 1}}},
    {{{2, 1}, {1, 1}, {1, 1}}},
    {{{1, 2}, {1, 1}, {1, 1}}},
    {{{2, 2}, {1, 1}, {1, 1}}},
    {{{4, 1}, {1, 1}, {1, 1}}},
    {{{4, 2}, {1, 1}, {1, 1}}},
    {{{1, 4}, {1, 1}, {1, 2}}},
    {{{2, 2}, {2, 1}, {1, 2}}},
    {{{1, 1}, {2, 2}, {1, 1}}},
    {{{2, 4}, {1, 1}, {1, 1}}},
}};

}  // namespace

CLAIM(every_path_transforms_like_the_plain_one) {
    Noise noise{1};
    auto group = std::make_unique<CoefficientGroup>();
    for (const int limit : {3, 60, 127, 1023, 32767}) {
        for (const int num_positions : {1, 2, 6, 10, 11, 21, 22, 36, 63, 64}) {
            QuantTable quant;
            for (auto& step : quant) step = static_cast<std::uint16_t>(1 + noise.below(limit > 127 ? 65535 : 40));
            fill_group(*group, noise, num_positions, limit);
            for (const unsigned size : {8U, 4U, 2U, 1U}) {
                for (const unsigned wanted : {0xFFU, 0x01U, 0x80U, 0x2CU, 0x00U}) {
                    check_paths_agree([&] { return transformed(*group, quant, size, wanted); });
                }
            }
        }
    }
}

CLAIM(every_path_takes_quads_like_the_plain_one_and_leaves_zeros) {
    Noise noise{4};
    constexpr std::size_t kWords = kHalfBlocks / kQuadBlocks * kQuadWords;
    for (const std::size_t num_positions : {1U, 2U, 8U, 9U, 40U, 64U}) {
        std::vector<std::int16_t> source(kWords + 32);
        const std::size_t shift = (64 - reinterpret_cast<std::uintptr_t>(source.data()) % 64) % 64 / 2;
        std::int16_t* quads = source.data() + shift;
        std::vector<std::int16_t> values(kWords);
        for (std::size_t i = 0; i < kWords; ++i) {
            values[i] = static_cast<std::int16_t>(i % kQuadWords / kQuadBlocks < num_positions ? noise.next() : 0);
        }
        auto group = std::make_unique<CoefficientGroup>();
        check_paths_agree([&] {
            std::copy(values.begin(), values.end(), quads);
            active_back_kernels().take_quads(quads, *group, num_positions);
            CHECK(std::all_of(quads, quads + kWords, [](std::int16_t value) { return value == 0; }));
            std::vector<std::int16_t> taken;
            for (std::size_t k = 0; k < num_positions; ++k) {
                taken.insert(taken.end(), group->wide[k], group->wide[k] + kHalfBlocks);
            }
            return taken;
        });
    }
}

CLAIM(ordinary_files_take_our_path_and_rare_ones_do_not) {
    const PixelShape shape{90, 140, 3, 1};
    OwnedImage image(shape, BufferPool::shared());
    Noise noise{5};
    for (std::size_t i = 0; i < shape.bytes(); ++i) image.view().data[i] = static_cast<std::uint8_t>(noise.next());
    const auto is_ours = [&](const Parameters& parameters, const DecodeOptions& options) {
        const ByteBuffer file = encode(std::as_const(image).view(), parameters);
        Decompressor decompressor(file.view());
        decompressor.read_header();
        OwnedImage out({(90 + options.scale - 1) / options.scale, (140 + options.scale - 1) / options.scale, 3, 1},
                       BufferPool::shared());
        return decode_strips(decompressor, file.view(), options, out.view());
    };
    for (const SimdPath path : simd_paths()) {
        force_simd_path(path);
        const bool is_vector_path = path >= SimdPath::avx2;
        for (const char* subsampling : {"444", "422", "420"}) {
            const Parameters parameters = parameter("subsampling", subsampling);
            for (const std::uint32_t scale : {1U, 2U, 4U, 8U}) {
                DecodeOptions options;
                options.scale = scale;
                CHECK(is_ours(parameters, options) == is_vector_path);
            }
        }
        DecodeOptions plain;
        plain.plain = true;
        DecodeOptions fast;
        fast.fast = true;
        CHECK(is_ours(parameter("restart", "true"), DecodeOptions{}) == is_vector_path);
        CHECK(!is_ours(parameter("progressive", "true"), DecodeOptions{}));
        CHECK(!is_ours(Parameters(), plain));
        CHECK(!is_ours(Parameters(), fast));
    }
    force_simd_path(best_simd_path());
}

CLAIM(blocks_without_ac_are_flat) {
    auto group = std::make_unique<CoefficientGroup>();
    Noise noise{2};
    fill_group(*group, noise, 1, 100);
    QuantTable quant{};
    quant[0] = 8;
    for (std::size_t lane = 0; lane < kGroupBlocks; ++lane)
        group->narrow[0][lane] = static_cast<std::int8_t>(lane - 32);
    group->wide_positions = 0;
    for (const SimdPath path : simd_paths()) {
        force_simd_path(path);
        const Samples shape(8, 0xFF);
        const Bytes samples = transformed(*group, quant, 8, 0xFF);
        for (std::size_t lane = 0; lane < kGroupBlocks; ++lane) {
            for (std::size_t i = 0; i < 64; ++i) {
                CHECK(samples[(lane / 8 * 8 + i / 8) * shape.stride + lane % 8 * 8 + i % 8] == 128 - 32 + lane);
            }
        }
    }
    force_simd_path(best_simd_path());
}

CLAIM(every_path_converts_all_colours_like_the_plain_one) {
    Bytes y(256 * 256 + kPlaneSlack);
    Bytes cb(y.size());
    Bytes cr(y.size());
    for (std::size_t i = 0; i < 256 * 256; ++i) {
        y[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
        cb[i] = static_cast<std::uint8_t>(i);
        cr[i] = static_cast<std::uint8_t>(i / 256);
    }
    check_paths_agree([&] {
        Bytes out(3 * 256 * 256);
        active_back_kernels().ycc_to_rgb(y.data(), cb.data(), cr.data(), out.data(), 256 * 256);
        return out;
    });
}

CLAIM(regions_of_every_sampling_and_scale_are_the_crop_on_every_path) {
    Noise noise{3};
    for (const auto& sampling : kSamplings) {
        for (const Color color : {Color::ycc, Color::rgb}) {
            for (const std::uint32_t scale : {1U, 2U, 4U, 8U}) {
                for (const auto [width, height] : {std::array{67U, 45U}, {1U, 1U}, {9U, 130U}, {2301U, 17U}}) {
                    const auto geometry = geometry_of({width, height, color, sampling}, scale);
                    if (!geometry) continue;
                    const Region whole{0, 0, geometry->height, geometry->width};
                    const Bytes all = pixels_of(*geometry, whole);
                    check_paths_agree([&] { return pixels_of(*geometry, whole); });
                    for (int i = 0; i < 4; ++i) {
                        const std::uint32_t top = noise.below(whole.height);
                        const std::uint32_t left = noise.below(whole.width);
                        const Region region{top, left, 1 + noise.below(whole.height - top),
                                            1 + noise.below(whole.width - left)};
                        const Bytes part = pixels_of(*geometry, region);
                        for (std::uint32_t row = 0; row < region.height; ++row) {
                            CHECK(std::memcmp(&part[std::size_t{3} * row * region.width],
                                              &all[3 * (std::size_t{top + row} * whole.width + left)],
                                              std::size_t{3} * region.width) == 0);
                        }
                        check_paths_agree([&] { return pixels_of(*geometry, region); });
                    }
                }
            }
        }
    }
}

CLAIM(layouts_that_libjpeg_refuses_have_no_geometry) {
    constexpr Sampling kThird[3] = {{3, 1}, {2, 1}, {1, 1}};
    constexpr Sampling kMany[3] = {{4, 2}, {2, 1}, {1, 1}};
    constexpr Sampling kZero[3] = {{0, 1}, {1, 1}, {1, 1}};
    constexpr Sampling kPlain[4] = {};
    CHECK(!geometry_of({8, 8, Color::ycc, kThird}, 1));
    CHECK(!geometry_of({8, 8, Color::ycc, kMany}, 1));
    CHECK(!geometry_of({8, 8, Color::ycc, kZero}, 1));
    CHECK(!geometry_of({8, 8, Color::cmyk, kPlain}, 1));
    CHECK(!geometry_of({8, 8, Color::ycc, std::span(kPlain).first(2)}, 1));
    CHECK(!geometry_of({8, 8, Color::grey, std::span(kPlain).first(1)}, 3));
    CHECK(geometry_of({8, 8, Color::grey, std::span(kPlain).first(1)}, 8));
}

int main(int argc, char** argv) {
    if (argc == 2) return claims::run_named(argv[1]);
    for (const claims::Claim& claim : claims::all()) std::puts(claim.name);
    return 0;
}
