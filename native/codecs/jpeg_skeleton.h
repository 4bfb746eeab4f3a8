// A JPEG without the data of its scans, in few bytes: segments that follow from the image, or that most files share,
// become one to a few bytes each. "Skeleton" in spec/jpeg-restoration.md.
#pragma once

#include "base/buffer.h"
#include "base/image.h"
#include "codecs/jpeg_coefficients.h"

namespace penstock::jpeg {

/// Appends the operations that give `skeleton`, and their end mark, to `out`.
void write_skeleton(ByteView skeleton, const CoefficientImage& image, ByteBuffer& out);

/// Carries out the operations at the start of `data`, which is moved behind their end mark. Throws `corrupt` or
/// `truncated`, and where the result would have more than `max_bytes`.
[[nodiscard]] ByteBuffer read_skeleton(ByteView& data, const CoefficientImage& image, std::size_t max_bytes);

}  // namespace penstock::jpeg
