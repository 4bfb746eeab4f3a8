// What can be said of a JPEG's coding without decoding it: how coarse it is, and whether its end is there.
#pragma once

#include "base/image.h"

namespace penstock::jpeg {

/// Whether the luma of a JPEG is quantised at least as coarsely as quality `quality` (1 to 100, on libjpeg's scale)
/// would: encoding it anew at that quality could only lose. Always true above 100, never below 1.
[[nodiscard]] bool is_at_most(ByteView data, int quality);

/// Throws `truncated` if no end marker follows the scans: the commonest damage, found at the cost of one search.
void check_end(ByteView data);

}  // namespace penstock::jpeg
