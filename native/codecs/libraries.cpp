#include "codecs/libraries.h"

// clang-format off: jpeglib.h needs FILE and does not include it
#include <cstdio>
#include <jpeglib.h>
// clang-format on
#include <libdeflate.h>
#include <webp/decode.h>
#include <xxhash.h>

namespace penstock {

namespace {

#define PENSTOCK_TEXT_OF(value) #value
#define PENSTOCK_TEXT(value) PENSTOCK_TEXT_OF(value)

std::string dotted(unsigned major, unsigned minor, unsigned patch) {
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

// Hexadecimal 0xMMmmpp.
std::string webp_version() {
    const auto version = static_cast<unsigned>(WebPGetDecoderVersion());
    return dotted(version >> 16 & 0xff, version >> 8 & 0xff, version & 0xff);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> library_versions() {
    return {
        {"libdeflate", LIBDEFLATE_VERSION_STRING},
        {"libjpeg-turbo", PENSTOCK_TEXT(LIBJPEG_TURBO_VERSION)},
        {"libwebp", webp_version()},
        {"xxhash", dotted(XXH_VERSION_MAJOR, XXH_VERSION_MINOR, XXH_VERSION_RELEASE)},
    };
}

std::string webp_package() { return PENSTOCK_WEBP_PACKAGE; }

}  // namespace penstock
