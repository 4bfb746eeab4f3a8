// Makes the checksums of a damaged file right again, so that a mutation reaches the code behind them.
#pragma once

#include <cstdint>
#include <span>

namespace penstock::fuzz {

/// Repairs in place: of PNG every chunk's CRC and the Adler-32 of the pixel stream, of Weir the CRCs of tiles, tables
/// and header. Other files, and files too damaged to find a checksum's place in, stay as they are.
void repair_checksums(std::span<std::uint8_t> file);

}  // namespace penstock::fuzz
