// Tables and limits for every processor.
#include "pixels/table_rows.h"

namespace penstock {

const TableKernels kTablePlain{look_up_plain, widen_limits};

}  // namespace penstock
