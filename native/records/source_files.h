// The files that a build reads images from: many small ones, or a few large ones that are entered by offset.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "storage/byte_store.h"
#include "storage/file.h"

namespace penstock {

/// Place of the bytes of an image.
struct Place {
    static constexpr std::int32_t kAbsent = -1;
    static constexpr std::int64_t kWhole = -1;
    static constexpr std::int64_t kUnknown = -1;

    std::int32_t file = kAbsent;
    std::int64_t offset = 0;
    std::int64_t length = kWhole;
    std::int64_t checksum = kUnknown;  ///< CRC-32C of the bytes, if it is known
};

/// Offsets and lengths of the pieces of an image, in their order; empty if it is in one piece.
using Pieces = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// A table of files on a local disk, or of objects of a store. Few files are kept open, many are opened as they are
/// needed. Safe from many threads.
class SourceFiles {
  public:
    /// Files on a local disk.
    explicit SourceFiles(std::vector<std::string> paths);
    /// Objects of a store. A path with a slash in front is a file on a local disk all the same.
    SourceFiles(std::vector<std::string> paths, std::shared_ptr<ByteStore> store);

    /// The bytes at a place. Throws `open_failed` or `read_failed`, `truncated` if the file ends before its end, and
    /// `checksum` if the bytes are not those that it speaks of.
    [[nodiscard]] ByteBuffer read(const Place& place) const;

    /// Reads the bytes of an image in pieces. If `place` is longer than the pieces, the remaining bytes come after the
    /// last one. Without pieces, reads the place alone.
    [[nodiscard]] ByteBuffer read(const Place& place, const Pieces& pieces) const;

    /// The first bytes at a place, at most `max_bytes`; fewer if the file has fewer.
    [[nodiscard]] ByteBuffer read_head(const Place& place, std::int64_t max_bytes) const;

    /// A place for people: the path, and the byte if the place is inside the file.
    [[nodiscard]] std::string describe(const Place& place) const;

    [[nodiscard]] std::size_t size() const noexcept { return paths_.size(); }

  private:
    [[nodiscard]] bool is_stored(std::int32_t file) const;
    [[nodiscard]] std::shared_ptr<const InputFile> opened(std::int32_t file) const;
    [[nodiscard]] std::size_t stored_size(std::int32_t file) const;
    [[nodiscard]] std::size_t read_at(std::int32_t file, std::size_t offset, std::span<std::uint8_t> out) const;

    std::vector<std::string> paths_;
    std::shared_ptr<ByteStore> store_;  // null if all files are on a local disk
    mutable std::mutex mutex_;
    mutable std::vector<std::shared_ptr<const InputFile>> kept_open_;  // empty if there are too many
};

}  // namespace penstock
