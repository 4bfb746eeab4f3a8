// Codecs cross the boundary by name.
#pragma once

#include <string>

#include "codecs/codec.h"

namespace penstock::bindings {

/// Returns the codec with this name. Throws `unknown_format` if it does not exist.
[[nodiscard]] const Codec& codec_named(const std::string& name);

}  // namespace penstock::bindings
