#include <nanobind/nanobind.h>

#include "bindings/convert.h"
#include "bindings/interpreter_lock.h"
#include "bindings/register.h"
#include "pixels/quality.h"

namespace penstock::bindings {

namespace {

using Measure = double (*)(ConstImageView, ConstImageView, double);

// `max_value` 0 means: the largest that the sample type holds.
template <Measure kMeasure>
double compare(nb::handle a, nb::handle b, double max_value) {
    const BorrowedPixels pixels_a(a, false);
    const BorrowedPixels pixels_b(b, false);
    const Unlocked unlocked;
    const double type_max = pixels_a.view().shape.sample_bytes == 1 ? 255 : 65535;
    return kMeasure(pixels_a.view(), pixels_b.view(), max_value == 0 ? type_max : max_value);
}

}  // namespace

void register_pixels(nb::module_& module) {
    module.def(
        "psnr", &compare<&psnr>, nb::arg("a"), nb::arg("b"), nb::arg("max_value") = 0.0,
        nb::sig("def psnr(a: penstock.types.Pixels, b: penstock.types.Pixels, max_value: float = 0.0) -> float"));
    module.def(
        "ms_ssim", &compare<&ms_ssim>, nb::arg("a"), nb::arg("b"), nb::arg("max_value") = 0.0,
        nb::sig("def ms_ssim(a: penstock.types.Pixels, b: penstock.types.Pixels, max_value: float = 0.0) -> float"));
}

}  // namespace penstock::bindings
