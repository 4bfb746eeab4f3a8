// Changes of colour in vectors of avx2.
#include "pixels/color_kernels.h"

#if defined(__x86_64__)

#include "pixels/color_rows.h"

namespace penstock {

const ColorKernels kColorAvx2 = kKernels;

}  // namespace penstock

#endif
