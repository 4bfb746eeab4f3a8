// Which code decodes and encodes tiles on this processor.
#include "base/cpu.h"
#include "codecs/weir.h"

namespace penstock::weir {

DecodeTile active_decode_tile() noexcept { return decode_tile_plain; }

EncodeTile active_encode_tile() noexcept { return encode_tile_plain; }

}  // namespace penstock::weir
