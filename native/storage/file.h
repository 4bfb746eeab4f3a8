// Whole files: read into memory, or published so that a reader sees the old content, the new one, or nothing.
// Deliberately small: no listing, no cache, no retries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/buffer.h"
#include "base/image.h"

namespace penstock {

/// A file open for reading. Reads are positioned, so that several threads may share one.
class InputFile {
  public:
    /// Throws `open_failed`; a folder is refused here, not at the first read.
    explicit InputFile(std::string path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    /// As of opening; 0 for pipes and devices, whose length only their end tells.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool is_regular() const noexcept { return is_regular_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Fills `out` from `offset` on and gives the bytes read: fewer than asked for only at the end of the file.
    [[nodiscard]] std::size_t read_at(std::size_t offset, std::span<std::uint8_t> out) const;

    /// Everything from the current position to the end, whatever `size` said.
    [[nodiscard]] ByteBuffer read_rest() const;

  private:
    std::string path_;
    int descriptor_ = -1;
    std::size_t size_ = 0;
    bool is_regular_ = false;
};

/// Size and CRC-32C of a file, read in large pieces.
[[nodiscard]] std::pair<std::uint64_t, std::uint32_t> file_checksum(const std::string& path);

/// The content of a file, which may be a pipe.
[[nodiscard]] ByteBuffer read_file(const std::string& path);

/// Whether a published file has to survive a power cut (`fsync` of file and folder), or only a crash of ours.
enum class Durability { process, power_cut };

/// Publishes `bytes` at `path`: written beside it under a hidden name, then renamed over it.
///
/// On failure nothing is left behind and an existing file is untouched. Keeps the mode of a file it replaces;
/// follows symbolic links; devices and pipes are written in place. The folder must exist.
void write_file(const std::string& path, ByteView bytes, Durability durability = Durability::process);

/// Creates a folder and those above it, unless they exist.
void make_folders(const std::string& path);

}  // namespace penstock
