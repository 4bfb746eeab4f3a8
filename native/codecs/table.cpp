#include "codecs/table.h"

#include <array>

#include "codecs/builtin.h"

namespace penstock {

std::span<const Codec* const> all_codecs() noexcept {
    // clang-format off: one codec a line
    static const std::array codecs{
        &bmp_codec(),
        &jpeg_codec(),
        &l3_codec(),
        &pjpeg_codec(),
        &png_codec(),
        &pnm_codec(),
        &raw_codec(),
        &sluice_codec(),
        &webp_codec(),
        &weir_codec(),
    };
    // clang-format on
    return codecs;
}

const Codec* find_codec(std::string_view name) noexcept {
    for (const Codec* codec : all_codecs()) {
        if (codec->name() == name) return codec;
    }
    return nullptr;
}

const Codec* sniff_codec(ByteView data) noexcept {
    for (const Codec* codec : all_codecs()) {
        if (codec->sniff(data)) return codec;
    }
    return nullptr;
}

}  // namespace penstock
