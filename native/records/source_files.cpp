#include "records/source_files.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "storage/reading.h"
#include "storage/system_error.h"

namespace penstock {

namespace {

constexpr std::size_t kMostKeptOpen = 256;

}  // namespace

SourceFiles::SourceFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {
    if (paths_.size() <= kMostKeptOpen) kept_open_.resize(paths_.size());
}

SourceFiles::SourceFiles(std::vector<std::string> paths, std::shared_ptr<ByteStore> store)
    : paths_(std::move(paths)), store_(std::move(store)) {}

bool SourceFiles::is_stored(std::int32_t file) const {
    return store_ != nullptr && !paths_[static_cast<std::size_t>(file)].starts_with('/');
}

std::size_t SourceFiles::stored_size(std::int32_t file) const {
    return static_cast<std::size_t>(store_->open(static_cast<std::uint32_t>(file))->size());
}

std::size_t SourceFiles::read_at(std::int32_t file, std::size_t offset, std::span<std::uint8_t> out) const {
    if (!is_stored(file)) return opened(file)->read_at(offset, out);
    const std::shared_ptr<const ByteFile> object = store_->open(static_cast<std::uint32_t>(file));
    std::size_t filled = 0;
    for (int attempt = 0; filled < out.size();) {
        const std::int64_t count = object->read_some(offset + filled, out.subspan(filled));
        if (count == 0) break;
        if (count > 0) {
            filled += static_cast<std::size_t>(count);
            continue;
        }
        if (attempt == kReadRetries) {
            throw_storage_error(ErrorCode::read_failed, "read", object->path(), static_cast<int>(-count));
        }
        pause_before_retry(attempt++);
    }
    return filled;
}

std::shared_ptr<const InputFile> SourceFiles::opened(std::int32_t file) const {
    const auto index = static_cast<std::size_t>(file);
    if (kept_open_.empty()) return std::make_shared<const InputFile>(paths_[index]);
    const std::lock_guard lock(mutex_);
    if (kept_open_[index] == nullptr) kept_open_[index] = std::make_shared<const InputFile>(paths_[index]);
    return kept_open_[index];
}

ByteBuffer SourceFiles::read(const Place& place) const {
    // Held for the whole read, because a table of many files keeps none open.
    const std::shared_ptr<const InputFile> local = is_stored(place.file) ? nullptr : opened(place.file);
    const std::size_t size = local != nullptr ? local->size() : stored_size(place.file);
    const auto offset = static_cast<std::size_t>(place.offset);
    const std::size_t rest = size > offset ? size - offset : 0;
    const std::size_t wanted = place.length == Place::kWhole ? rest : static_cast<std::size_t>(place.length);
    if (wanted > rest) {
        throw Error(ErrorCode::truncated, "the file ends at byte " + std::to_string(size) + ", before the image in it",
                    describe(place), "the source changed or is damaged: restore it, then build again");
    }
    ByteBuffer bytes(wanted);
    const std::span<std::uint8_t> room(bytes.data(), wanted);
    bytes.resize(local != nullptr ? local->read_at(offset, room) : read_at(place.file, offset, room));
    if (bytes.size() < wanted) {
        throw Error(ErrorCode::truncated, "the file became shorter while it was read", describe(place),
                    "leave the source alone while it is read, then build again");
    }
    if (place.checksum != Place::kUnknown && crc32c(bytes.view()) != place.checksum) {
        throw Error(ErrorCode::checksum, "the bytes do not match their checksum", describe(place),
                    "the source is damaged: restore it, or find all damage with `penstock verify`");
    }
    return bytes;
}

ByteBuffer SourceFiles::read(const Place& place, const Pieces& pieces) const {
    if (pieces.empty()) return read(place);
    ByteBuffer whole;
    for (const auto& [offset, length] : pieces) {
        const ByteBuffer piece = read({place.file, offset, length, Place::kUnknown});
        whole.append(piece.data(), piece.size());
    }
    const std::int64_t rest = place.length - static_cast<std::int64_t>(whole.size());
    if (rest > 0) {
        const auto& [offset, length] = pieces.back();
        const ByteBuffer behind = read({place.file, offset + length, rest, Place::kUnknown});
        whole.append(behind.data(), behind.size());
    }
    return whole;
}

ByteBuffer SourceFiles::read_head(const Place& place, std::int64_t max_bytes) const {
    const std::int64_t wanted = place.length == Place::kWhole ? max_bytes : std::min(place.length, max_bytes);
    ByteBuffer bytes(static_cast<std::size_t>(wanted));
    bytes.resize(read_at(place.file, static_cast<std::size_t>(place.offset), {bytes.data(), bytes.size()}));
    return bytes;
}

std::string SourceFiles::describe(const Place& place) const {
    const std::string& path = paths_[static_cast<std::size_t>(place.file)];
    return place.offset == 0 ? path : path + ", byte " + std::to_string(place.offset);
}

}  // namespace penstock
