#include "records/inspect.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "codecs/table.h"

namespace penstock {

namespace {

constexpr std::int64_t kHeadBytes = 64 << 10;  // nearly every header; those with a large profile are read whole

Header header_of(ByteView data) {
    const Codec* codec = sniff_codec(data);
    return codec == nullptr ? Header{} : Header{codec->inspect(data).shape, codec};
}

Header read_header(const SourceFiles& files, const Place& place) {
    if (place.length == Place::kWhole || place.length > kHeadBytes) {
        try {
            return header_of(files.read_head(place, kHeadBytes).view());
        } catch (const Error& error) {
            if (error.code() == ErrorCode::out_of_memory) throw;
            if (error.code() != ErrorCode::truncated) return {};
        }
    }
    try {
        return header_of(files.read(place).view());
    } catch (const Error& error) {
        if (error.code() == ErrorCode::out_of_memory) throw;
        return {};
    }
}

}  // namespace

Inspecting start_inspect(ThreadPool& pool, std::shared_ptr<const SourceFiles> files, std::vector<Place> places) {
    auto headers = std::make_shared<std::vector<Header>>(places.size());
    const std::size_t count = places.size();
    auto task = [headers, files = std::move(files), places = std::move(places)](std::size_t index) {
        if (places[index].file != Place::kAbsent) (*headers)[index] = read_header(*files, places[index]);
    };
    return {pool.run(count, std::move(task)), headers};
}

}  // namespace penstock
