// Warped rows in vectors of avx512.
#include "pixels/warp_kernels.h"

#if defined(__x86_64__)

#include "pixels/warp_rows.h"

namespace penstock {

const WarpKernels kWarpAvx512 = kKernels;

}  // namespace penstock

#endif
