// Warped rows for every processor.
#include "pixels/warp_rows.h"

namespace penstock {

const WarpKernels kWarpPlain = kKernels;

}  // namespace penstock
