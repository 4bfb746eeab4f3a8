// One accessor per codec file; only `table.cpp` includes this.
#pragma once

#include "codecs/codec.h"

namespace penstock {

const Codec& bmp_codec() noexcept;
const Codec& jpeg_codec() noexcept;
const Codec& l3_codec() noexcept;
const Codec& pjpeg_codec() noexcept;
const Codec& png_codec() noexcept;
const Codec& pnm_codec() noexcept;
const Codec& raw_codec() noexcept;
const Codec& sluice_codec() noexcept;
const Codec& webp_codec() noexcept;
const Codec& weir_codec() noexcept;

}  // namespace penstock
