#include "codecs/jpeg_segments.h"

#include <cstring>
#include <string>

#include "base/error.h"
#include "codecs/codec.h"

namespace penstock::jpeg {

namespace {

[[noreturn]] void fail(ErrorCode code, const std::string& what, std::size_t offset) {
    throw Error(code, what, at_byte("jpeg", offset), "the file is damaged: restore it from its source");
}

bool stands_alone(std::uint8_t marker) { return marker == kTem || (marker >= kRst0 && marker <= kSoi); }

}  // namespace

MarkerWalk::MarkerWalk(ByteView data) : data_(data) {
    if (data.size() < 2) fail(ErrorCode::truncated, "jpeg data ends before its first marker", data.size());
    if (data[0] != 0xFF || data[1] != kSoi) {
        throw Error(ErrorCode::corrupt, "jpeg data does not start with FF D8", at_byte("jpeg", 0),
                    "check that the file is a JPEG");
    }
}

Segment MarkerWalk::next() {
    const std::uint8_t marker = next_marker();
    if (stands_alone(marker) || marker == kEoi) return {marker, position_, {}};
    need(2);
    const std::size_t length = std::size_t{data_[position_]} << 8 | data_[position_ + 1];
    if (length < 2) fail(ErrorCode::corrupt, "a jpeg segment claims a length below 2", position_);
    need(length);
    const Segment segment{marker, position_, data_.subspan(position_ + 2, length - 2)};
    position_ += length;
    return segment;
}

std::uint8_t MarkerWalk::next_marker() {
    for (;;) {
        const void* found = nullptr;
        if (position_ < data_.size()) found = std::memchr(&data_[position_], 0xFF, data_.size() - position_);
        if (found == nullptr) need(data_.size() + 1);
        position_ = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - data_.data());
        while (position_ < data_.size() && data_[position_] == 0xFF) ++position_;
        need(1);
        const std::uint8_t marker = data_[position_++];
        if (marker != 0) return marker;
    }
}

void MarkerWalk::need(std::size_t bytes) const {
    if (data_.size() - position_ < bytes) {
        fail(ErrorCode::truncated, "jpeg data ends inside its header", data_.size());
    }
}

}  // namespace penstock::jpeg
