// Sharpening and blurs in vectors of avx512.
#include "pixels/neighbor_kernels.h"

#if defined(__x86_64__)

#include "pixels/neighbor_rows.h"

namespace penstock {

const NeighborKernels kNeighborAvx512 = kKernels;

}  // namespace penstock

#endif
