// The files a loader reads from, by number: opened when first wanted, a bounded number kept open.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "storage/byte_store.h"

namespace penstock {

/// Names as one text and where each of them ends: no object per file. Views; the caller keeps both alive.
struct FileNames {
    std::string folder;  ///< stands before every name, with its slash
    std::span<const char> text;
    std::span<const std::uint64_t> ends;

    [[nodiscard]] std::size_t size() const noexcept { return ends.size(); }
    [[nodiscard]] std::string path(std::uint32_t file) const;
};

/// Way in which the bytes of a file are read.
enum class Caching {
    system,  ///< through the page cache, which keeps them
    none,    ///< past it (O_DIRECT) where the file system lets us, else dropped from it after the read
};

/// A file open for positioned reads by any number of threads.
class DataFile final : public ByteFile {
  public:
    /// Throws `open_failed`.
    DataFile(std::string path, Caching caching);
    ~DataFile() override;

    [[nodiscard]] int descriptor() const noexcept override { return descriptor_; }
    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }
    /// Offsets, lengths and addresses of reads are multiples of it; 1 when reads go through the page cache.
    [[nodiscard]] std::uint64_t alignment() const noexcept override { return alignment_; }
    [[nodiscard]] bool is_direct() const noexcept { return alignment_ > 1; }
    /// Tells the page cache that bytes just read will not be wanted again, if so.
    void drop(std::uint64_t offset, std::uint64_t length) const noexcept override;
    [[nodiscard]] std::int64_t read_some(std::uint64_t offset, std::span<std::uint8_t> room) const override;

  private:
    std::string path_;
    int descriptor_ = -1;
    std::uint64_t size_ = 0;
    std::uint64_t alignment_ = 1;
    bool drops_ = false;
};

/// Returns whether a file could not be opened because too many are open: it may work once others are closed.
[[nodiscard]] bool is_out_of_descriptors(const Error& error) noexcept;

/// Opens files by number. Safe from many threads.
class DataFiles final : public ByteStore {
  public:
    /// Keeps up to `max_open` descriptors open for the next read, or fewer if the process may have few. 0 closes every
    /// file when its reader releases it. If the process has no descriptor left, the kept ones are closed.
    DataFiles(FileNames names, Caching caching, std::size_t max_open);

    [[nodiscard]] std::shared_ptr<const ByteFile> open(std::uint32_t file) override;
    [[nodiscard]] const FileNames& names() const noexcept { return names_; }
    [[nodiscard]] Caching caching() const noexcept { return caching_; }
    /// The largest alignment that a file asked for so far; 1 if none was direct.
    [[nodiscard]] std::uint64_t alignment() const noexcept override {
        return alignment_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] bool has_descriptors() const noexcept override { return true; }
    [[nodiscard]] const char* engine_name() const noexcept override { return "pread"; }

  private:
    /// Closes what is kept and not being read. False if nothing was.
    bool forget_all();

    using Recent = std::list<std::pair<std::uint32_t, std::shared_ptr<const DataFile>>>;

    const FileNames names_;
    const Caching caching_;
    const std::size_t max_open_;
    std::atomic<std::uint64_t> alignment_{1};
    std::mutex mutex_;
    Recent recent_;  // last used first
    std::unordered_map<std::uint32_t, Recent::iterator> kept_;
};

}  // namespace penstock
