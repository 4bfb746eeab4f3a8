// Codecs cross the boundary by name.
#pragma once

#include <string>

#include "codecs/codec.h"

namespace penstock::bindings {

/// Throws `unknown_format` if there is none.
[[nodiscard]] const Codec& codec_named(const std::string& name);

}  // namespace penstock::bindings
