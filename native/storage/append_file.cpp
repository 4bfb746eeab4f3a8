#include "storage/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "storage/system_error.h"

namespace penstock {

namespace {

constexpr std::size_t kCollectBytes = std::size_t{1} << 20;
constexpr std::size_t kWriteAheadBytes = std::size_t{16} << 20;

void write_all(int descriptor, ByteView bytes, const std::string& path) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw_storage_error(ErrorCode::write_failed, "write the file", path, errno);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

}  // namespace

AppendFile::AppendFile(std::string path) : path_(std::move(path)) {
    // A new file each time: emptying what is there would empty whatever a planted link leads to, or a published file
    // whose old name a power cut brought back.
    for (int attempt = 0; attempt < 2 && descriptor_ < 0; ++attempt) {
        if (attempt != 0 && ::unlink(path_.c_str()) != 0 && errno != ENOENT) break;
        do descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        while (descriptor_ < 0 && errno == EINTR);
        if (descriptor_ < 0 && errno != EEXIST) break;
    }
    if (descriptor_ < 0) throw_storage_error(ErrorCode::open_failed, "create the file", path_, errno);
}

AppendFile::~AppendFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void AppendFile::append(ByteView bytes) {
    checksum_ = crc32c(bytes, checksum_);
    size_ += bytes.size();
    if (pending_.size() + bytes.size() < kCollectBytes) {
        pending_.append(bytes.data(), bytes.size());
        return;
    }
    flush();
    write_all(descriptor_, bytes, path_);
    start_writing();
}

void AppendFile::pad_to(std::size_t alignment) {
    static constexpr std::array<std::uint8_t, 4096> zeros{};
    for (std::size_t missing = (alignment - size_ % alignment) % alignment; missing != 0;) {
        const std::size_t count = std::min(missing, zeros.size());
        append(ByteView(zeros).first(count));
        missing -= count;
    }
}

void AppendFile::flush() {
    write_all(descriptor_, pending_.view(), path_);
    pending_.resize(0);
}

// Lets the disk work while the rest of the file is made, so that little is left to wait for at the end.
void AppendFile::start_writing() {
#if defined(__linux__)
    const std::uint64_t written = size_ - pending_.size();
    if (written - started_ < kWriteAheadBytes) return;
    (void)::sync_file_range(descriptor_, static_cast<off_t>(started_), static_cast<off_t>(written - started_),
                            SYNC_FILE_RANGE_WRITE);
    started_ = written;
#endif
}

void AppendFile::publish(const std::string& path, Durability durability) {
    flush();
    const bool is_written = durability == Durability::process || ::fsync(descriptor_) == 0;
    if (!is_written || ::close(std::exchange(descriptor_, -1)) != 0) {
        throw_storage_error(ErrorCode::write_failed, "write the file", path_, errno);
    }
    if (::rename(path_.c_str(), path.c_str()) != 0) {
        throw_storage_error(ErrorCode::write_failed, "put the file in its place", path, errno);
    }
    if (durability == Durability::power_cut) sync_folder(folder_of(path));
}

}  // namespace penstock
