// A large file written from front to back under a work name, and put in its place when it is whole.
#pragma once

#include <cstdint>
#include <string>

#include "base/buffer.h"
#include "base/image.h"
#include "storage/file.h"

namespace penstock {

/// Appends to a new file; small pieces are collected. One thread at a time.
class AppendFile {
  public:
    /// Creates the file; one that is there is removed first, a link is not followed. Throws `open_failed`.
    explicit AppendFile(std::string path);
    /// Closes; a file that was not published stays where it was written.
    ~AppendFile();
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;

    /// Throws `write_failed`.
    void append(ByteView bytes);
    /// Zero bytes up to the next multiple of `alignment`.
    void pad_to(std::size_t alignment);

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    /// CRC-32C of everything appended.
    [[nodiscard]] std::uint32_t checksum() const noexcept { return checksum_; }

    /// Renames the file. If it has to survive a power cut, its content is on the disk before, its name when this
    /// returns. Nothing may be appended afterwards.
    void publish(const std::string& path, Durability durability = Durability::power_cut);

  private:
    void flush();
    void start_writing();

    std::string path_;
    int descriptor_ = -1;
    ByteBuffer pending_;
    std::uint64_t size_ = 0;
    std::uint64_t started_ = 0;  // up to here the disk has been asked to write
    std::uint32_t checksum_ = 0;
};

}  // namespace penstock
