#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/codec_named.h"
#include "bindings/convert.h"
#include "bindings/register.h"
#include "bindings/wait.h"
#include "engine/codec_batch.h"

namespace penstock::bindings {

namespace {

using Seconds = std::pair<double, double>;

Seconds finish(const TimedBatch& batch) {
    finish_or_interrupt(*batch.job);
    return {batch.time->wall_seconds, batch.time->cpu_seconds};
}

Seconds decode_many(ThreadPool& pool, const std::string& codec, const nb::sequence& images, std::size_t passes) {
    std::vector<std::unique_ptr<BorrowedBytes>> borrowed;
    std::vector<ByteView> views;
    for (const nb::handle image : images) {
        borrowed.push_back(std::make_unique<BorrowedBytes>(image));
        views.push_back(borrowed.back()->view());
    }
    return finish(start_decodes(pool, codec_named(codec), std::move(views), passes));
}

Seconds encode_many(ThreadPool& pool, const std::string& codec,
                    std::vector<std::pair<std::string, std::string>> parameters, const nb::sequence& images,
                    std::size_t passes) {
    std::vector<std::unique_ptr<BorrowedPixels>> borrowed;
    std::vector<ConstImageView> views;
    for (const nb::handle image : images) {
        borrowed.push_back(std::make_unique<BorrowedPixels>(image, false));
        views.emplace_back(borrowed.back()->view());
    }
    return finish(start_encodes(pool, codec_named(codec), std::move(views), Parameters(std::move(parameters)), passes));
}

}  // namespace

void register_codec_batch(nb::module_& module) {
    module.def(
        "decode_many", &decode_many, nb::arg("pool"), nb::arg("codec"), nb::arg("images"), nb::arg("passes") = 1,
        nb::sig(
            "def decode_many(pool: ThreadPool, codec: str, images: collections.abc.Sequence[penstock.types.Buffer], "
            "passes: int = 1) -> tuple[float, float]"),
        "Decodes every image `passes` times on the pool, throws the pixels away, and gives (wall, CPU) seconds.");
    module.def(
        "encode_many", &encode_many, nb::arg("pool"), nb::arg("codec"), nb::arg("parameters"), nb::arg("images"),
        nb::arg("passes") = 1,
        nb::sig("def encode_many(pool: ThreadPool, codec: str, parameters: collections.abc.Sequence[tuple[str, str]], "
                "images: collections.abc.Sequence[penstock.types.Pixels], passes: int = 1) -> tuple[float, float]"),
        "Encodes every image `passes` times on the pool, throws the files away, and gives (wall, CPU) seconds.");
}

}  // namespace penstock::bindings
