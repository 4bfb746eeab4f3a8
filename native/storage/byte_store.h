// Where the bytes of a loader come from: files of a disk, or a store that somebody else implements.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace penstock {

/// A file or an object, open for positioned reads by any number of threads.
class ByteFile {
  public:
    ByteFile() = default;
    virtual ~ByteFile() = default;
    ByteFile(const ByteFile&) = delete;
    ByteFile& operator=(const ByteFile&) = delete;

    [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
    /// The path or name that messages show.
    [[nodiscard]] virtual const std::string& path() const noexcept = 0;
    /// Offsets, lengths and addresses of reads are multiples of it; 1 if any will do.
    [[nodiscard]] virtual std::uint64_t alignment() const noexcept { return 1; }
    /// The descriptor that a ring of the kernel reads; -1 if the bytes do not come from a file.
    [[nodiscard]] virtual int descriptor() const noexcept { return -1; }
    /// Says that bytes just read will not be wanted again.
    virtual void drop(std::uint64_t /*offset*/, std::uint64_t /*length*/) const noexcept {}
    /// Reads up to `room.size()` bytes, fewer only where it must. The number read, 0 at the end of the file, or the
    /// negative errno of a failure that may pass. Throws `Error` for any other failure. Blocks.
    [[nodiscard]] virtual std::int64_t read_some(std::uint64_t offset, std::span<std::uint8_t> room) const = 0;
};

/// Files by number. Safe from many threads.
class ByteStore {
  public:
    ByteStore() = default;
    virtual ~ByteStore() = default;
    ByteStore(const ByteStore&) = delete;
    ByteStore& operator=(const ByteStore&) = delete;

    /// Throws `open_failed`. Cheap where the bytes are far away: nothing is asked for before a read.
    [[nodiscard]] virtual std::shared_ptr<const ByteFile> open(std::uint32_t file) = 0;
    /// The largest alignment that a file asked for so far.
    [[nodiscard]] virtual std::uint64_t alignment() const noexcept { return 1; }
    /// Tells if files have descriptors, so that a ring can read them.
    [[nodiscard]] virtual bool has_descriptors() const noexcept { return false; }
    /// The name of blocking reads in statistics.
    [[nodiscard]] virtual const char* engine_name() const noexcept { return "store"; }
};

}  // namespace penstock
