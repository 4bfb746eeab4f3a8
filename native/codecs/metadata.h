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

/// Limit for the metadata of one file, including entry headers and checksum; entries beyond it are dropped. Profiles
/// and EXIF of real files have less than 1 MB, but a few kB of deflate can claim as much, and a few MB many times that.
inline constexpr std::size_t kMaxMetadataBytes = std::size_t{1} << 24;

/// Metadata of a file, and the parts that a dataset cannot hold.
class Metadata {
  public:
    /// Adds an entry. Drops a second entry with a tag that may occur once (all except TEXT), and an entry that makes
    /// the block longer than `kMaxMetadataBytes`.
    void add(std::string_view tag, ByteView content);
    /// Records that something was left out. Characters of its name that are not letters or digits become '?'.
    void drop(std::string_view tag);

    /// Largest content that the next entry may have, in bytes.
    [[nodiscard]] std::size_t room() const noexcept;

    /// Serializes the entries with their checksum; empty without entries.
    [[nodiscard]] ByteBuffer block() const;
    [[nodiscard]] const std::vector<std::string>& kept() const noexcept { return kept_; }  ///< tags, in their order
    [[nodiscard]] const std::vector<std::string>& dropped() const noexcept { return dropped_; }

  private:
    ByteBuffer entries_;
    std::vector<std::string> kept_;
    std::set<std::string, std::less<>> seen_;  // those that may stand once
    std::vector<std::string> dropped_;
};

/// Reads the metadata of a JPEG, PNG, WebP or Weir file; other formats have no metadata. A damaged part is dropped,
/// named by its chunk ("iCCP") or segment ("APP1"). Parts that only describe the coding (PLTE, Huffman tables) are not
/// metadata.
[[nodiscard]] Metadata read_metadata(ByteView file);

}  // namespace penstock
