#include "bindings/codec_named.h"

#include "base/error.h"
#include "codecs/table.h"

namespace penstock::bindings {

const Codec& codec_named(const std::string& name) {
    if (const Codec* codec = find_codec(name)) return *codec;
    throw Error(ErrorCode::unknown_format, "no native codec is called '" + name + "'", "codec",
                "see penstock.codecs.names()");
}

}  // namespace penstock::bindings
