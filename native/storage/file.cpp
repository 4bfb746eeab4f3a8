#include "storage/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "storage/system_error.h"

namespace penstock {

namespace {

constexpr std::size_t kChecksumBytes = std::size_t{1} << 20;
constexpr std::size_t kFirstBytes = std::size_t{64} << 10;

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    [[nodiscard]] int number() const noexcept { return number_; }
    /// False with errno set if the system only now reports a failed write.
    [[nodiscard]] bool close() noexcept { return ::close(std::exchange(number_, -1)) == 0; }

  private:
    int number_;
};

// A NUL would cut the name short where the system reads it, and so name another file.
void check_path(const std::string& path) {
    if (!path.empty() && path.find('\0') == std::string::npos) return;
    throw Error(ErrorCode::bad_argument, path.empty() ? "path is empty" : "path contains a NUL byte", "path",
                "pass the name of a file");
}

int open_retrying(const char* path, int flags, mode_t mode = 0) {
    int descriptor = -1;
    do descriptor = ::open(path, flags | O_CLOEXEC, mode);
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

// False with errno set.
bool write_all(int descriptor, ByteView bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

// Where a rename has to land: a link stays a link, what it points to is replaced.
std::string resolve_links(const std::string& path) {
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
    const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
    return resolved != nullptr ? resolved.get() : path;
}

// A new file that vanishes again unless it is published.
class HiddenFile {
  public:
    HiddenFile(const std::string& target, const std::string& folder) : target_(target), descriptor_(create(folder)) {}
    ~HiddenFile() {
        if (!published_) ::unlink(path_.c_str());
    }
    HiddenFile(const HiddenFile&) = delete;
    HiddenFile& operator=(const HiddenFile&) = delete;

    void write(ByteView bytes, Durability durability) {
        const bool written = write_all(descriptor_.number(), bytes) &&
                             (durability == Durability::process || ::fsync(descriptor_.number()) == 0) &&
                             descriptor_.close();
        if (!written) throw_storage_error(ErrorCode::write_failed, "write the file", target_, errno);
    }

    /// Best effort: a disk without modes is not an error.
    void take_mode(mode_t mode) noexcept { (void)!::fchmod(descriptor_.number(), mode & 07777); }

    void publish() {
        if (::rename(path_.c_str(), target_.c_str()) != 0) {
            throw_storage_error(ErrorCode::write_failed, "put the file in its place", target_, errno);
        }
        published_ = true;
    }

  private:
    // The name is short whatever the target's is, and its process and number keep writers apart.
    int create(const std::string& folder) {
        static std::atomic<unsigned> counter{0};
        const std::string prefix = folder + "/.penstock-" + std::to_string(::getpid()) + "-";
        int descriptor = -1;
        do {
            path_ = prefix + std::to_string(counter.fetch_add(1, std::memory_order_relaxed)) + ".part";
            descriptor = open_retrying(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
        } while (descriptor < 0 && errno == EEXIST);
        if (descriptor < 0) throw_storage_error(ErrorCode::open_failed, "create the file", target_, errno);
        return descriptor;
    }

    const std::string& target_;
    std::string path_;
    Descriptor descriptor_;
    bool published_ = false;
};

void write_in_place(const std::string& path, ByteView bytes) {
    Descriptor file(open_retrying(path.c_str(), O_WRONLY));
    if (file.number() < 0) throw_storage_error(ErrorCode::open_failed, "open for writing", path, errno);
    if (!write_all(file.number(), bytes) || !file.close()) {
        throw_storage_error(ErrorCode::write_failed, "write", path, errno);
    }
}

}  // namespace

std::string folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

void sync_file_system(int descriptor) {
#if defined(__linux__)
    if (::syncfs(descriptor) != 0) {
        throw_storage_error(ErrorCode::write_failed, "wait for the disk", "the folder's file system", errno);
    }
#else
    (void)descriptor;
    ::sync();
#endif
}

void sync_folder(const std::string& folder) {
    const Descriptor opened(open_retrying(folder.c_str(), O_RDONLY | O_DIRECTORY));
    // EINVAL: a file system that has no such call for folders (some network disks); there is nothing to wait for.
    if (opened.number() < 0 || (::fsync(opened.number()) != 0 && errno != EINVAL)) {
        throw_storage_error(ErrorCode::write_failed, "make the names in the folder durable", folder, errno);
    }
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
    check_path(path_);
    // Not blocking: a pipe must be refused below, not waited for. Reads of regular files block all the same.
    descriptor_ = open_retrying(path_.c_str(), O_RDONLY | O_NONBLOCK);
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
    size_ = static_cast<std::size_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read_at(std::size_t offset, std::span<std::uint8_t> out) const {
    std::size_t filled = 0;
    while (filled < out.size()) {
        const ssize_t count =
            ::pread(descriptor_, out.data() + filled, out.size() - filled, static_cast<off_t>(offset + filled));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw_storage_error(ErrorCode::read_failed, "read", path_, errno);
        if (count == 0) break;
        filled += static_cast<std::size_t>(count);
    }
    return filled;
}

void InputFile::refuse_length(std::size_t max_bytes) const {
    throw Error(ErrorCode::read_failed,
                "the file has more than the " + std::to_string(max_bytes) + " bytes that are read of such a file",
                path_, "this is not the file it should be: restore it");
}

ByteBuffer InputFile::read_rest(std::size_t max_bytes) const {
    ByteBuffer content(kFirstBytes);
    std::size_t filled = 0;
    for (;;) {
        if (filled > max_bytes) refuse_length(max_bytes);
        if (filled == content.size()) content.resize(2 * filled);
        const ssize_t count = ::read(descriptor_, content.data() + filled, content.size() - filled);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw_storage_error(ErrorCode::read_failed, "read", path_, errno);
        if (count == 0) break;
        filled += static_cast<std::size_t>(count);
    }
    content.resize(filled);
    return content;
}

std::pair<std::uint64_t, std::uint32_t> file_checksum(const std::string& path) {
    const InputFile file(path);
    ByteBuffer piece(kChecksumBytes);
    std::uint64_t size = 0;
    std::uint32_t checksum = 0;
    for (;;) {
        const std::size_t count = file.read_at(size, {piece.data(), piece.size()});
        checksum = crc32c({piece.data(), count}, checksum);
        size += count;
        if (count < piece.size()) return {size, checksum};
    }
}

void write_file(const std::string& path, ByteView bytes, Durability durability, const std::string& work_folder) {
    check_path(path);
    const std::string target = resolve_links(path);
    struct stat status{};
    const bool exists = ::stat(target.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode)) {
        throw_storage_error(ErrorCode::open_failed, "open for writing", target, EISDIR);
    }
    if (exists && !S_ISREG(status.st_mode)) {
        write_in_place(target, bytes);
        return;
    }
    HiddenFile file(target, work_folder.empty() ? folder_of(target) : work_folder);
    if (exists) file.take_mode(status.st_mode);
    file.write(bytes, durability);
    file.publish();
    if (durability == Durability::power_cut) sync_folder(folder_of(target));
}

void make_folders(const std::string& path) {
    check_path(path);
    std::error_code problem;
    std::filesystem::create_directories(path, problem);
    if (!problem && !std::filesystem::is_directory(path, problem)) problem = {ENOTDIR, std::generic_category()};
    if (problem) throw_storage_error(ErrorCode::open_failed, "create the folder", path, problem.value());
}

}  // namespace penstock
