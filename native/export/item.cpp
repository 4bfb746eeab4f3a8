#include "export/item.h"

#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/decode.h"
#include "codecs/embed.h"
#include "codecs/jpeg.h"
#include "codecs/sluice_transcode.h"
#include "codecs/table.h"

namespace penstock {

namespace {

ByteBuffer encode_anew(ByteView stored, const ExportPlan& plan) {
    const Codec* codec = sniff_codec(stored);
    if (codec == nullptr) {
        throw Error(ErrorCode::unknown_format, "the stored bytes are of no known image format", "byte 0",
                    "rebuild the dataset");
    }
    DecodeOptions options;
    options.max_pixels = plan.max_pixels;
    const DecodePlan decode = plan_decode(*codec, stored, options);
    OwnedImage image(decode.shape, BufferPool::shared());
    decode_image(*codec, stored, decode, image.view());
    return plan.codec->encode(std::as_const(image).view(), plan.parameters);
}

ByteBuffer as_jpeg(ByteView stored, std::uint64_t max_pixels) {
    const Codec* codec = sniff_codec(stored);
    if (codec != nullptr && codec->name() == "sluice") return sluice::to_jpeg(stored, max_pixels);
    return jpeg::with_segments_in_front(stored);
}

// Whether the bytes are a Sluice image with the tables of its dataset, which a file of its own does not have.
bool needs_tables(ByteView stored) {
    const Codec* const codec = sniff_codec(stored);
    if (codec == nullptr || codec->name() != "sluice") return false;
    const sluice::Facts facts = sluice::facts_of(stored);
    return !facts.has_tables && !facts.is_default;
}

ByteBuffer make_image(const ExportPlan& plan, const ExportItem& item, ExportCounters& counters) {
    Place place = item.place;  // its checksum is of the image alone, without the metadata that is read with it
    place.length += item.metadata_length;
    ByteBuffer stored = plan.files->read(place, item.pieces);
    const ByteView bytes = stored.view().first(static_cast<std::size_t>(item.place.length));
    if (crc32c(bytes) != item.checksum) {
        throw Error(ErrorCode::checksum, "the stored bytes do not match their checksum", "",
                    "the dataset is damaged: restore it, or find all damage with `penstock verify`");
    }
    ByteBuffer made;
    const bool is_recoded = item.way == ExportItem::Way::as_stored && needs_tables(bytes);
    const bool is_made = is_recoded || item.way != ExportItem::Way::as_stored;
    if (is_recoded) made = sluice::recode(bytes, {nullptr, false, 0, plan.max_pixels});
    if (item.way == ExportItem::Way::encode) made = encode_anew(bytes, plan);
    if (item.way == ExportItem::Way::as_jpeg) made = as_jpeg(bytes, plan.max_pixels);
    if (item.metadata_length == 0) return is_made ? std::move(made) : std::move(stored);
    std::vector<std::string> dropped;
    ByteBuffer whole = embed_metadata(is_made ? made.view() : bytes,
                                      read_metadata_block(stored.view().subspan(bytes.size())), dropped);
    counters.count_dropped(dropped);
    return whole;
}

}  // namespace

void ExportCounters::count_dropped(const std::vector<std::string>& tags) {
    const std::lock_guard lock(mutex_);
    for (const std::string& tag : tags) ++dropped_[tag];
}

std::map<std::string, std::uint64_t> ExportCounters::dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_;
}

ByteBuffer make_content(const ExportPlan& plan, const ExportItem& item, ExportCounters& counters) {
    if (item.place.file == Place::kAbsent) {
        ByteBuffer text;
        text.append(item.text.data(), item.text.size());
        return text;
    }
    try {
        return make_image(plan, item, counters);
    } catch (const Error& error) {
        const std::string place = plan.files->describe(item.place) + " ('" + item.name + "')";
        const std::string where = error.where().empty() ? place : place + ": " + error.where();
        throw Error(error.code(), error.what(), where, error.fix(), error.system_error());
    }
}

}  // namespace penstock
