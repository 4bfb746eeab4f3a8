// Metadata taken out of an image file, in the form that a dataset stores beside other bytes: spec/dataset.md,
// "Metadata". `embed.h` puts it back into a file.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"

namespace penstock {

/// Of one file, heads of entries and checksum included; what does not fit any more is dropped. 16 MiB: profiles and
/// EXIF of real files have less than 1 MB, but a few kB of deflate can claim as much, and a few MB many times that.
inline constexpr std::size_t kMaxMetadataBytes = std::size_t{1} << 24;

/// What a file says beside its pixels, and what of that a dataset has no place for.
class Metadata {
  public:
    /// Notes an entry. The second one of a tag that may stand once (all but TEXT) is dropped, and so is one that makes
    /// the block longer than `kMaxMetadataBytes`.
    void add(std::string_view tag, ByteView content);
    /// Notes that something was left out; what is no letter or digit in its name becomes '?'.
    void drop(std::string_view tag);

    /// Bytes of content that a next entry may have.
    [[nodiscard]] std::size_t room() const noexcept;

    /// The entries with their checksum; empty if there are none.
    [[nodiscard]] ByteBuffer block() const;
    [[nodiscard]] const std::vector<std::string>& kept() const noexcept { return kept_; }  ///< tags, in their order
    [[nodiscard]] const std::vector<std::string>& dropped() const noexcept { return dropped_; }

  private:
    ByteBuffer entries_;
    std::vector<std::string> kept_;
    std::set<std::string, std::less<>> seen_;  // those that may stand once
    std::vector<std::string> dropped_;
};

/// Reads the metadata of a JPEG, PNG, WebP or Weir file; of other formats there is none. A damaged part is dropped,
/// named by its chunk ("iCCP") or segment ("APP1"); what only describes coding (PLTE, Huffman tables) is not metadata.
[[nodiscard]] Metadata read_metadata(ByteView file);

}  // namespace penstock
