// Tar writer, from front to back. The same members give the same bytes, at any time and for any user.
#pragma once

#include <string>
#include <string_view>

#include "base/image.h"
#include "storage/append_file.h"

namespace penstock {

/// Members of mode 0644, owner 0, time 0. Names that ustar cannot hold get a PAX header. One thread at a time.
class TarWriter {
  public:
    /// Creates the file. Throws `open_failed`.
    explicit TarWriter(const std::string& path) : file_(path) {}

    /// `name` is relative, of UTF-8, without a zero byte. Throws `write_failed`.
    void add(std::string_view name, ByteView content);

    /// Writes the end mark and puts the file in its place.
    void publish(const std::string& path);

  private:
    void add_block(std::string_view name, char type, ByteView content);

    AppendFile file_;
};

}  // namespace penstock
