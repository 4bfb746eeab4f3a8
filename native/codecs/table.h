// The native codecs, in the order in which content is matched against them.
#pragma once

#include <span>
#include <string_view>

#include "codecs/codec.h"

namespace penstock {

[[nodiscard]] std::span<const Codec* const> all_codecs() noexcept;

/// The codec of that name, or null.
[[nodiscard]] const Codec* find_codec(std::string_view name) noexcept;

/// The codec whose content this is, or null.
[[nodiscard]] const Codec* sniff_codec(ByteView data) noexcept;

}  // namespace penstock
