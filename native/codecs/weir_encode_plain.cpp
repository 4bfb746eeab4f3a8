// The tile encoder for any processor.
#include "codecs/weir_encode_tile.h"

namespace penstock::weir {

std::size_t encode_tile_plain(const EncodeJob& job, std::uint8_t* out) noexcept {
    return encode_tile_with<PlainOps>(job, out);
}

}  // namespace penstock::weir
