// Quantisation tables as Sluice stores them: a byte of kind and a content that is short for the tables of JPEG's Annex
// K.
#pragma once

#include <optional>

#include "base/buffer.h"
#include "base/image.h"
#include "codecs/jpeg_back.h"

namespace penstock::sluice {

/// Reads the table that `data` begins with; gives its length in bytes. Nothing if it is damaged. `previous` is the
/// table of the component before, or null.
[[nodiscard]] std::optional<std::size_t> read_quantization(ByteView data, const jpeg::QuantTable* previous,
                                                           jpeg::QuantTable& table) noexcept;

/// Appends a table to `out` in its shortest form. All values are at least 1.
void write_quantization(const jpeg::QuantTable& table, const jpeg::QuantTable* previous, ByteBuffer& out);

}  // namespace penstock::sluice
