#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/cpu.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/random.h"
#include "bindings/convert.h"
#include "bindings/register.h"

namespace penstock::bindings {

namespace nb = nanobind;

namespace {

constexpr std::array kPaths{SimdPath::portable, SimdPath::baseline, SimdPath::avx2, SimdPath::avx512, SimdPath::neon};

SimdPath path_of(const std::string& name) {
    for (const SimdPath path : kPaths) {
        if (simd_path_name(path) == name) return path;
    }
    throw Error(ErrorCode::bad_argument, "no SIMD path is called '" + name + "'", "force_simd_path",
                "choose one of portable, baseline, avx2, avx512, neon");
}

}  // namespace

void register_base(nb::module_& module) {
    module.def("simd_path", [] { return std::string(simd_path_name(active_simd_path())); });
    module.def("best_simd_path", [] { return std::string(simd_path_name(best_simd_path())); });
    module.def("simd_paths", [] {
        std::vector<std::string> names;
        for (const SimdPath path : simd_paths()) names.emplace_back(simd_path_name(path));
        return names;
    });
    module.def("force_simd_path", [](const std::string& name) { force_simd_path(path_of(name)); }, nb::arg("name"));
    module.def(
        "crc32c", [](nb::handle data, std::uint32_t previous) { return crc32c(BorrowedBytes(data).view(), previous); },
        nb::arg("data"), nb::arg("previous") = 0,
        nb::sig("def crc32c(data: penstock.types.Buffer, previous: int = 0) -> int"));
    module.def(
        "random_block",
        [](std::uint64_t seed, std::uint64_t index, std::uint32_t stream, std::uint32_t number) {
            return RandomKey{seed, index, stream}.block(number);
        },
        nb::arg("seed"), nb::arg("index"), nb::arg("stream"), nb::arg("number"));
    (void)BufferPool::shared();  // from here on forks are counted
    module.def("pool_idle_bytes", [] { return BufferPool::shared().idle_bytes(); });
}

}  // namespace penstock::bindings
