#include "records/source_files.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"

namespace penstock {

namespace {

constexpr std::size_t kMostKeptOpen = 256;

}  // namespace

SourceFiles::SourceFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {
    if (paths_.size() <= kMostKeptOpen) kept_open_.resize(paths_.size());
}

std::shared_ptr<const InputFile> SourceFiles::opened(std::int32_t file) const {
    const auto index = static_cast<std::size_t>(file);
    if (kept_open_.empty()) return std::make_shared<const InputFile>(paths_[index]);
    const std::lock_guard lock(mutex_);
    if (kept_open_[index] == nullptr) kept_open_[index] = std::make_shared<const InputFile>(paths_[index]);
    return kept_open_[index];
}

ByteBuffer SourceFiles::read(const Place& place) const {
    const std::shared_ptr<const InputFile> file = opened(place.file);
    const auto offset = static_cast<std::size_t>(place.offset);
    const std::size_t rest = file->size() > offset ? file->size() - offset : 0;
    const std::size_t wanted = place.length == Place::kWhole ? rest : static_cast<std::size_t>(place.length);
    if (wanted > rest) {
        throw Error(ErrorCode::truncated,
                    "the file ends at byte " + std::to_string(file->size()) + ", before the image in it",
                    describe(place), "the source changed or is damaged: restore it, then build again");
    }
    ByteBuffer bytes(wanted);
    bytes.resize(file->read_at(offset, {bytes.data(), wanted}));
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
    const std::shared_ptr<const InputFile> file = opened(place.file);
    bytes.resize(file->read_at(static_cast<std::size_t>(place.offset), {bytes.data(), bytes.size()}));
    return bytes;
}

std::string SourceFiles::describe(const Place& place) const {
    const std::string& path = paths_[static_cast<std::size_t>(place.file)];
    return place.offset == 0 ? path : path + ", byte " + std::to_string(place.offset);
}

}  // namespace penstock
