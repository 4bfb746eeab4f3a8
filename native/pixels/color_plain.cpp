// Changes of colour for every processor.
#include "pixels/color_rows.h"

namespace penstock {

const ColorKernels kColorPlain = kKernels<PlainMover>;

}  // namespace penstock
