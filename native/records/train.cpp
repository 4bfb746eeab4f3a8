#include "records/train.h"

#include <utility>

#include "base/error.h"
#include "codecs/table.h"

namespace penstock {

namespace {

// The JPEG of a source, which may be inside a Sluice file.
ByteBuffer jpeg_at(const SourceFiles& files, const Place& place, std::uint64_t max_pixels) {
    ByteBuffer bytes = files.read(place);
    const Codec* const codec = sniff_codec(bytes.view());
    if (codec == nullptr || codec->name() != "sluice") return bytes;
    return sluice::to_jpeg(bytes.view(), max_pixels);
}

}  // namespace

TableTraining start_training(ThreadPool& pool, std::shared_ptr<const SourceFiles> files, std::vector<Place> places,
                             std::uint64_t max_pixels) {
    auto training = std::make_shared<sluice::Training>(sluice::kDefaultFirstPair);
    const std::size_t count = places.size();
    auto task = [training, files = std::move(files), places = std::move(places), max_pixels](std::size_t index) {
        if (places[index].file == Place::kAbsent) return;
        ByteBuffer jpeg;
        try {
            jpeg = jpeg_at(*files, places[index], max_pixels);
        } catch (const Error& error) {
            if (error.code() == ErrorCode::out_of_memory) throw;
            return;
        }
        (void)training->add(jpeg.view(), max_pixels);
    };
    return {pool.run(count, std::move(task)), training};
}

}  // namespace penstock
