// The parts of `metadata.cpp`, one per format that holds metadata, and what they share.
#pragma once

#include <string>

#include "codecs/metadata.h"

namespace penstock {

/// Latin-1 as UTF-8.
[[nodiscard]] std::string utf8_of_latin1(ByteView text);
[[nodiscard]] bool is_utf8(ByteView text) noexcept;

/// Adds a TEXT, whose key and value are UTF-8.
void add_text(Metadata& metadata, std::string_view key, std::string_view value);

namespace png {
void read_metadata(ByteView file, Metadata& metadata);
}
namespace jpeg {
void read_metadata(ByteView file, Metadata& metadata);
}
namespace webp {
void read_metadata(ByteView file, Metadata& metadata);
}
namespace weir {
void read_metadata(ByteView file, Metadata& metadata);
}

}  // namespace penstock
