// Metadata taken out of an image file, in the form that a dataset stores beside other bytes: spec/dataset.md,
// "Metadata". `embed.h` puts it back into a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"

namespace penstock {

/// What a file says beside its pixels, and what of that a dataset has no place for.
class Metadata {
  public:
    /// Notes an entry; the second one of a tag that may stand once (all but TEXT) is dropped.
    void add(std::string_view tag, ByteView content);
    /// Notes that something was left out; what is no letter or digit in its name becomes '?'.
    void drop(std::string_view tag);

    /// The entries with their checksum; empty if there are none.
    [[nodiscard]] ByteBuffer block() const;
    [[nodiscard]] const std::vector<std::string>& kept() const noexcept { return kept_; }  ///< tags, in their order
    [[nodiscard]] const std::vector<std::string>& dropped() const noexcept { return dropped_; }

  private:
    ByteBuffer entries_;
    std::vector<std::string> kept_;
    std::vector<std::string> dropped_;
};

/// Reads the metadata of a JPEG, PNG, WebP or Weir file; of other formats there is none. A damaged part is dropped,
/// named by its chunk ("iCCP") or segment ("APP1"); what only describes coding (PLTE, Huffman tables) is not metadata.
[[nodiscard]] Metadata read_metadata(ByteView file);

}  // namespace penstock
