// Sharpening and blurs in vectors of avx2.
#include "pixels/neighbor_kernels.h"

#if defined(__x86_64__)

#include "pixels/neighbor_rows.h"

namespace penstock {

const NeighborKernels kNeighborAvx2 = kKernels;

}  // namespace penstock

#endif
