// Warped rows in vectors of avx2.
#include "pixels/warp_kernels.h"

#if defined(__x86_64__)

#include "pixels/warp_rows.h"

namespace penstock {

const WarpKernels kWarpAvx2 = kKernels;

}  // namespace penstock

#endif
