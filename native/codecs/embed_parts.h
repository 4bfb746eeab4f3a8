// The parts of `embed.cpp`, one per format that can hold metadata. Each gives the new file, and adds to `dropped` the
// tags that it could not hold.
#pragma once

#include <string>
#include <vector>

#include "codecs/embed.h"

namespace penstock {

using DroppedTags = std::vector<std::string>;

namespace png {
[[nodiscard]] ByteBuffer embed(ByteView file, const std::vector<MetadataEntry>& entries, DroppedTags& dropped);
}
namespace jpeg {
[[nodiscard]] ByteBuffer embed(ByteView file, const std::vector<MetadataEntry>& entries, DroppedTags& dropped);
}
namespace webp {
[[nodiscard]] ByteBuffer embed(ByteView file, const std::vector<MetadataEntry>& entries, DroppedTags& dropped);
}
namespace weir {
[[nodiscard]] ByteBuffer embed(ByteView file, const std::vector<MetadataEntry>& entries, DroppedTags& dropped);
}

}  // namespace penstock
