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

/// A regular file open for reading. Reads are positioned, so that several threads may share one.
class InputFile {
  public:
    /// Throws `open_failed`; folders, pipes and devices are refused here, at once, not at the first read.
    explicit InputFile(std::string path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    /// Size when the file was opened; 0 for files that the kernel makes up (/proc), whose length is only known at their
    /// end.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Fills `out` from `offset` on and gives the bytes read: fewer than asked for only at the end of the file.
    [[nodiscard]] std::size_t read_at(std::size_t offset, std::span<std::uint8_t> out) const;

    /// Reads from the current position to the end, regardless of `size`. Throws `read_failed` beyond `max_bytes`.
    [[nodiscard]] ByteBuffer read_rest(std::size_t max_bytes) const;
    /// Throws `read_failed`: the file has more than `max_bytes`.
    [[noreturn]] void refuse_length(std::size_t max_bytes) const;

  private:
    std::string path_;
    int descriptor_ = -1;
    std::size_t size_ = 0;
};

/// Size and CRC-32C of a file, read in large pieces.
[[nodiscard]] std::pair<std::uint64_t, std::uint32_t> file_checksum(const std::string& path);

/// Events that a published file must survive: a power cut (`fsync` of file and folder), or only a crash of the process.
enum class Durability { process, power_cut };

/// Publishes `bytes` at `path`: written beside it under a hidden name, then renamed over it.
///
/// On failure nothing is left behind and an existing file is untouched. Keeps the mode of a file it replaces;
/// follows symbolic links; devices and pipes are written in place. The folder must exist. The hidden file stands in
/// `work_folder`, on the same disk, if one is given: there a killed process leaves what it had of it.
void write_file(const std::string& path, ByteView bytes, Durability durability = Durability::process,
                const std::string& work_folder = {});

/// Creates a folder and those above it, unless they exist.
void make_folders(const std::string& path);

/// Waits until the disk holds everything that was written to the file system of an open file or folder.
void sync_file_system(int descriptor);
/// Waits until the disk holds the names in a folder. Nothing where the file system cannot do that for folders.
void sync_folder(const std::string& folder);
/// The folder that a path stands in; "." for a bare name.
[[nodiscard]] std::string folder_of(const std::string& path);

}  // namespace penstock
