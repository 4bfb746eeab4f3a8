// Versions of the libraries that the codecs stand on, for `penstock info` and for every benchmark line.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace penstock {

/// (name, version) in alphabetical order: of the library loaded where it can tell, else of its headers.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> library_versions();

/// Version of the Debian package of libwebp at build time, such as "1.2.4-0.2+deb12u1"; empty elsewhere.
[[nodiscard]] std::string webp_package();

}  // namespace penstock
