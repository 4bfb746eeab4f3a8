// Changes of colour in vectors of avx512.
#include "pixels/color_kernels.h"

#if defined(__x86_64__)

#include "pixels/color_rows.h"

namespace penstock {

const ColorKernels kColorAvx512 = kKernels;

}  // namespace penstock

#endif
