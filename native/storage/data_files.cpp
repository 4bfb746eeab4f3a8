#include "storage/data_files.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "storage/system_error.h"

namespace penstock {

namespace {

// What direct reads ask for on every disk in use, where the kernel (before 6.1) does not say.
constexpr std::uint64_t kUsualAlignment = 4096;
constexpr std::size_t kMostOpen = 1 << 16;

int open_for_reading(const std::string& path, int flags) {
    int descriptor = -1;
    // Not blocking: a pipe must be refused, not waited for.
    do descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

// Of the descriptors that the process may have, the part that one loader keeps for itself.
std::size_t most_open() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMostOpen;
    return std::clamp<std::size_t>(limit.rlim_cur / 8, 1, kMostOpen);
}

// 0 if the file cannot be read directly.
std::uint64_t direct_alignment(int descriptor) {
    // As the kernel lays it out: the C library's struct may not know the fields.
    struct ::statx status{};
    const long failed = ::syscall(SYS_statx, descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status);
    if (failed != 0 || (status.stx_mask & STATX_DIOALIGN) == 0) return kUsualAlignment;
    return std::max(status.stx_dio_offset_align, status.stx_dio_mem_align);
}

}  // namespace

std::string FileNames::path(std::uint32_t file) const {
    const std::uint64_t begin = file == 0 ? 0 : ends[file - 1];
    if (begin > ends[file] || ends[file] > text.size()) {
        throw Error(ErrorCode::bad_argument, "the list of files is damaged", folder, "list the files anew");
    }
    return folder + std::string(text.data() + begin, ends[file] - begin);
}

DataFile::DataFile(std::string path, Caching caching) : path_(std::move(path)) {
    if (caching == Caching::none) descriptor_ = open_for_reading(path_, O_DIRECT);
    const bool is_direct = descriptor_ >= 0;
    // EINVAL: this file system has no direct reads. Any other problem shows again.
    if (!is_direct) descriptor_ = open_for_reading(path_, 0);
    if (descriptor_ < 0) throw_storage_error(ErrorCode::open_failed, "open for reading", path_, errno);
    struct stat status{};
    int problem = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
    if (problem == 0 && S_ISDIR(status.st_mode)) problem = EISDIR;
    if (problem != 0) {
        ::close(descriptor_);
        throw_storage_error(ErrorCode::open_failed, "open for reading", path_, problem);
    }
    if (!S_ISREG(status.st_mode)) {
        ::close(descriptor_);
        throw Error(ErrorCode::open_failed, "could not open for reading: this is a pipe or a device, not a file", path_,
                    "put a regular file in its place");
    }
    // io_uring takes O_NONBLOCK for a wish to fail rather than wait, with regular files too.
    (void)::fcntl(descriptor_, F_SETFL, is_direct ? O_DIRECT : 0);
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (is_direct) alignment_ = std::max<std::uint64_t>(direct_alignment(descriptor_), 1);
    if (is_direct && alignment_ == 1) ::fcntl(descriptor_, F_SETFL, 0);
    drops_ = caching == Caching::none && alignment_ == 1;
}

DataFile::~DataFile() { ::close(descriptor_); }

std::int64_t DataFile::read_some(std::uint64_t offset, std::span<std::uint8_t> room) const {
    for (;;) {
        const ssize_t count = ::pread(descriptor_, room.data(), room.size(), static_cast<off_t>(offset));
        if (count >= 0) return count;
        if (errno != EINTR) return -errno;
    }
}

void DataFile::drop(std::uint64_t offset, std::uint64_t length) const noexcept {
    if (!drops_) return;
    (void)::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(length), POSIX_FADV_DONTNEED);
}

DataFiles::DataFiles(FileNames names, Caching caching, std::size_t max_open)
    : names_(std::move(names)), caching_(caching), max_open_(std::min(max_open, most_open())) {}

bool DataFiles::forget_all() {
    Recent forgotten;  // closed after the lock is gone
    const std::lock_guard lock(mutex_);
    kept_.clear();
    forgotten.swap(recent_);
    return !forgotten.empty();
}

bool is_out_of_descriptors(const Error& error) noexcept {
    return error.system_error() == EMFILE || error.system_error() == ENFILE;
}

std::shared_ptr<const ByteFile> DataFiles::open(std::uint32_t file) {
    if (max_open_ > 0) {
        const std::lock_guard lock(mutex_);
        if (const auto found = kept_.find(file); found != kept_.end()) {
            recent_.splice(recent_.begin(), recent_, found->second);
            return found->second->second;
        }
    }
    // Without the lock: another thread may open the same file meanwhile, which costs a descriptor and no more.
    std::shared_ptr<const DataFile> opened;
    try {
        opened = std::make_shared<const DataFile>(names_.path(file), caching_);
    } catch (const Error& error) {
        if (!is_out_of_descriptors(error) || !forget_all()) throw;
        opened = std::make_shared<const DataFile>(names_.path(file), caching_);
    }
    if (opened->alignment() > alignment()) alignment_.store(opened->alignment(), std::memory_order_relaxed);
    if (max_open_ == 0) return opened;
    const std::lock_guard lock(mutex_);
    if (kept_.contains(file)) return opened;
    recent_.emplace_front(file, opened);
    kept_[file] = recent_.begin();
    if (recent_.size() > max_open_) {
        kept_.erase(recent_.back().first);
        recent_.pop_back();
    }
    return opened;
}

}  // namespace penstock
