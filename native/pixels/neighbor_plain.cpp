// Sharpening and blurs for every processor.
#include "pixels/neighbor_rows.h"

namespace penstock {

const NeighborKernels kNeighborPlain = kKernels;

}  // namespace penstock
