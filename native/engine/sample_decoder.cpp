#include "engine/sample_decoder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/table.h"
#include "engine/grey.h"
#include "engine/own_sample.h"
#include "engine/pieces.h"

namespace penstock {

/// The bytes of one field of a sample, and what to make of them.
struct SampleDecoder::Encoded {
    ByteView data;
    const Codec* codec;
    bool verify;  ///< whether the codec is to check its own checksums
    bool is_mask;
    PixelShape shape = {};  ///< of pixels, which have no codec
};

/// A field of a sample, to be decoded whole.
struct SampleDecoder::Whole {
    Encoded data;
    DecodePlan plan;
};

/// Where a field of a sample goes.
struct SampleDecoder::Target {
    BatchField& field;
    std::size_t position;
};

namespace {

Error within(const Error& error, const std::string& place) {
    const std::string where = error.where().empty() ? place : place + ": " + error.where();
    return {error.code(), error.what(), where, error.fix(), error.system_error()};
}

const Codec& codec_of(ByteView data) {
    if (const Codec* codec = sniff_codec(data)) return *codec;
    throw Error(
        ErrorCode::unknown_format, "the content is of no image format that a loader decodes", "byte 0",
        "remove the file from the folder, or build a dataset of it: `penstock build` also takes what is decoded "
        "in Python, such as TIFF");
}

void copy_encoded(ByteView data, BatchField& field, std::size_t position) {
    if (data.size() > std::numeric_limits<std::uint32_t>::max()) {
        throw Error(ErrorCode::too_large, "a record of " + std::to_string(data.size()) + " bytes fits no batch",
                    "record", "split the image, or load it decoded");
    }
    const SlotShape shape{{static_cast<std::uint32_t>(data.size()), 1, 1}, 1, SampleType::uint8};
    std::memcpy(field.take(position, shape), data.data(), data.size());
}

ImageSize size_of(const ImageInfo& info) { return {info.shape.height, info.shape.width}; }

/// Positions inside a file, and inside an image, are 32-bit numbers on an accelerator.
constexpr std::uint64_t kMostForDevice = 0x7fffffff;

constexpr std::size_t kFieldAlignment = 64;

std::size_t aligned_up(std::size_t bytes) { return (bytes + kFieldAlignment - 1) / kFieldAlignment * kFieldAlignment; }

PixelShape without_colours(PixelShape shape) {
    shape.channels = 1;
    return shape;
}

// The part of some pixels that lies in a region.
ConstImageView cropped(const std::uint8_t* pixels, PixelShape whole, const Region& region) {
    PixelShape shape = whole;
    shape.height = region.height;
    shape.width = region.width;
    const std::size_t pixel_bytes = std::size_t{whole.channels} * whole.sample_bytes;
    return {pixels + region.y * whole.row_bytes() + region.x * pixel_bytes, whole.row_bytes(), shape};
}

// The largest scale up to `most` that the codec decodes at.
std::uint32_t best_scale(const Codec& codec, std::uint32_t most) {
    std::uint32_t scale = most;
    while (scale > 1 && !codec.can_scale(scale)) scale /= 2;
    return scale;
}

}  // namespace

SampleDecoder::SampleDecoder(const SampleTable& table, TransformProgram program, const SampleOptions& options)
    : table_(table), program_(std::move(program)), mask_program_(program_.for_masks()), options_(options) {
    if (options.verify == Verify::first) {
        verified_ = std::make_unique<std::atomic<std::uint8_t>[]>((table.num_samples + 7) / 8);
    }
}

// What comes from elsewhere is checked every time: a network may change bytes without a word.
bool SampleDecoder::must_verify(std::uint64_t id) const noexcept {
    if (table_.store != nullptr) return true;
    if (options_.verify != Verify::first) return options_.verify == Verify::always;
    return (verified_[id / 8].load(std::memory_order_relaxed) >> (id % 8) & 1) == 0;
}

void SampleDecoder::set_verified(std::uint64_t id) noexcept {
    if (options_.verify != Verify::first) return;
    verified_[id / 8].fetch_or(static_cast<std::uint8_t>(1u << (id % 8)), std::memory_order_relaxed);
}

void SampleDecoder::decode(Batch& batch, std::size_t position, const SampleBytes& bytes, DecoderScratch& scratch) {
    try {
        decode_fields(batch, position, bytes, scratch);
    } catch (const Error& error) {
        throw within(error, table_.files.path(bytes.extent.file));
    } catch (const std::bad_alloc&) {
        throw Error(ErrorCode::out_of_memory, "could not allocate working memory", table_.files.path(bytes.extent.file),
                    "give the process more memory");
    }
}

void SampleDecoder::decode_fields(Batch& batch, std::size_t position, const SampleBytes& bytes,
                                  DecoderScratch& scratch) {
    const BatchWish& wish = batch.wish();
    const std::uint64_t id = wish.ids[position];
    const auto field = [&](std::size_t index) -> Encoded {
        if (!bytes.kept.empty()) {
            const KeptField& kept = bytes.kept[index];
            return {kept.data, kept.codec, false, table_.fields[index].is_mask, kept.shape};
        }
        return index == 0 ? picture_of(id, wish.fidelity, bytes, scratch) : encoded(table_.fields[index], id, bytes);
    };
    if (options_.undecoded == Undecoded::all) {
        for (std::size_t index = 0; index < table_.fields.size(); ++index) {
            copy_encoded(field(index).data, batch.field(index), position);
        }
        set_verified(id);
        return;
    }
    const Encoded picture = field(0);
    const ImageInfo info = info_of(picture);
    const Draw draw = program_.draw(size_of(info), {wish.seed, wish.epoch, id});
    if (hands_over(picture, info)) {
        copy_encoded(picture.data, batch.field(0), position);
    } else {
        decode_field(picture, draw, {batch.field(0), position}, scratch);
    }
    for (std::size_t index = 1; index < table_.fields.size(); ++index) {
        const Encoded mask = field(index);
        if (size_of(info_of(mask)) != draw.source) {
            throw Error(ErrorCode::corrupt, "a mask has another size than its image", "sample " + std::to_string(id),
                        "repair the source and build it again");
        }
        decode_field(mask, draw, {batch.field(index), position}, scratch);
    }
    set_verified(id);
}

ImageInfo SampleDecoder::info_of(const Encoded& data) const {
    if (data.codec == nullptr) {
        ImageInfo info;
        info.shape = data.shape;
        return info;
    }
    return inspect_image(*data.codec, data.data, options_.max_pixels);
}

// A sample that cannot become a result fails here, by the policy for bad samples, and never reaches the accelerator.
bool SampleDecoder::hands_over(const Encoded& picture, const ImageInfo& info) const {
    if (options_.undecoded != Undecoded::for_device || picture.codec == nullptr) return false;
    const std::string_view codec = picture.codec->name();
    const std::uint64_t samples = info.shape.pixels() * info.shape.channels;
    if (codec != "weir" && codec != "l3") return false;
    if (std::max<std::uint64_t>(picture.data.size(), samples) > kMostForDevice) return false;
    PixelShape shape = info.shape;
    if (options_.channels == Channels::grey && shape.channels >= 3) shape.channels = 1;
    const std::uint8_t wanted = options_.channels == Channels::grey ? 1 : 3;
    program_.check_result(shape, options_.channels == Channels::unchanged ? shape.channels : wanted);
    return true;
}

SampleDecoder::Encoded SampleDecoder::encoded(const FieldColumns& field, std::uint64_t id,
                                              const SampleBytes& bytes) const {
    const bool verify = must_verify(id);
    if (field.is_whole_file()) {
        const ByteView data = bytes.data;
        return {data, &codec_of(data), verify, field.is_mask};
    }
    const ByteView data = field_bytes(field, id, bytes);
    const std::string record = "record of sample " + std::to_string(id);
    if (data.size() < field.length[id]) {
        throw Error(ErrorCode::read_failed, "the file ends before the record does", record,
                    "the shard is damaged: restore it, or build it again");
    }
    const bool has_checksum = !field.checksum.empty();
    if (verify && has_checksum && crc32c(data) != field.checksum[id]) {
        throw Error(ErrorCode::checksum, "the record does not match its checksum", record,
                    "the shard is damaged: restore it, or build it again");
    }
    const Codec& codec = field.codec.empty() ? codec_of(data) : *table_.codecs[field.codec[id]];
    return {data, &codec, verify && !has_checksum, field.is_mask};
}

// A picture's pieces are checked whenever they are used: which of them were is not noted, and it costs little.
SampleDecoder::Encoded SampleDecoder::picture_of(std::uint64_t id, std::uint32_t fidelity, const SampleBytes& bytes,
                                                 DecoderScratch& scratch) const {
    const FieldColumns& field = table_.fields.front();
    if (!table_.is_in_block(id)) return encoded(field, id, bytes);
    const std::uint32_t num_pieces = pieces_for(table_, id, fidelity);
    const std::size_t size = pieces_bytes(table_, id, {0, num_pieces});
    ByteView data;
    if (bytes.num_joined != 0) {
        data = bytes.data.subspan(other_bytes(table_, id), size);
    } else {
        if (scratch.joined.size() < size + kSamplePadding) scratch.joined.resize(size + kSamplePadding);
        copy_pieces(table_, id, {0, num_pieces}, bytes, scratch.joined.data());
        data = {scratch.joined.data(), size};
    }
    const std::uint64_t first = table_.blocks.piece_begin[id];
    ByteView rest = data;
    for (std::uint32_t i = 0; options_.verify != Verify::never && i < num_pieces; ++i) {
        const std::size_t length = table_.blocks.piece_length[first + i];
        if (crc32c(rest.first(length)) != table_.blocks.piece_checksum[first + i]) {
            throw Error(
                ErrorCode::checksum, "piece " + std::to_string(i) + " of the record does not match its checksum",
                "record of sample " + std::to_string(id), "the shard is damaged: restore it, or build it again");
        }
        rest = rest.subspan(length);
    }
    return {data, table_.codecs[field.codec[id]], false, false};
}

// Where the fields of a sample are joined, the others stand before its picture.
ByteView SampleDecoder::field_bytes(const FieldColumns& field, std::uint64_t id, const SampleBytes& bytes) const {
    if (bytes.num_joined == 0) return bytes.part(field.offset[id], field.length[id]);
    if (&field == &table_.fields.front()) return bytes.data.subspan(other_bytes(table_, id), field.length[id]);
    std::size_t begin = 0;
    for (std::size_t i = 1; &table_.fields[i] != &field; ++i) begin += table_.fields[i].length[id];
    return bytes.data.subspan(begin, field.length[id]);
}

DecodePlan SampleDecoder::plan_field(const Encoded& data, const Draw& draw, std::uint32_t scale) const {
    DecodeOptions wishes;
    wishes.scale = scale;
    wishes.palette_indices = data.is_mask;
    wishes.fast = options_.approximate;
    wishes.verify = data.verify;
    wishes.max_pixels = options_.max_pixels;
    const TransformProgram& program = data.is_mask ? mask_program_ : program_;
    const Region region = program.region(draw, scale);
    const Region whole{0, 0, (draw.source.height + scale - 1) / scale, (draw.source.width + scale - 1) / scale};
    if (region != whole) wishes.region = region;
    return plan_decode(*data.codec, data.data, wishes);
}

Slot SampleDecoder::slot_for(const Encoded& data, const Draw& draw, PixelShape decoded, const Target& target) const {
    const TransformProgram& program = data.is_mask ? mask_program_ : program_;
    const SampleType own = decoded.sample_bytes == 2 ? SampleType::uint16 : SampleType::uint8;
    Slot slot{nullptr, draw.output, decoded.channels, program.output_type().value_or(own), options_.layout};
    if (!data.is_mask && options_.channels != Channels::unchanged) {
        slot.channels = options_.channels == Channels::rgb ? 3 : 1;
    }
    SlotShape shape{{slot.size.height, slot.size.width, slot.channels}, 3, slot.type};
    if (data.is_mask && slot.channels == 1) {
        shape.num_sides = 2;
    } else if (slot.layout == Layout::nchw) {
        shape.sides = {slot.channels, slot.size.height, slot.size.width};
    }
    slot.data = target.field.take(target.position, shape);
    return slot;
}

void SampleDecoder::decode_field(const Encoded& data, const Draw& draw, const Target& target,
                                 DecoderScratch& scratch) const {
    if (data.codec == nullptr) return place_pixels(data, draw, target, scratch);
    const TransformProgram& program = data.is_mask ? mask_program_ : program_;
    const bool may_shrink = options_.approximate && !data.is_mask;
    const std::uint32_t scale = may_shrink ? best_scale(*data.codec, program.max_scale(draw)) : 1;
    DecodePlan plan = plan_field(data, draw, scale);
    plan.options.pool = &scratch.pixels.working();
    const Slot slot = slot_for(data, draw, plan.shape, target);
    const std::size_t working = data.codec->working_bytes(plan.info);
    if (program.copies(draw, plan.shape, slot)) {
        (void)scratch.pixels.room(1, working, kThreadBytes);
        auto* out = static_cast<std::uint8_t*>(slot.data);
        decode_image(*data.codec, data.data, plan, {out, plan.shape.row_bytes(), plan.shape});
        return;
    }
    const bool greys = slot.channels == 1 && plan.shape.channels >= 3;
    const PixelShape grey = without_colours(plan.shape);
    std::uint8_t* room = scratch.pixels.room(plan.shape.bytes() + (greys ? grey.bytes() : 0), working,
                                             kThreadBytes + program.working_bytes(draw, plan.shape));
    ImageView pixels{room, plan.shape.row_bytes(), plan.shape};
    decode_image(*data.codec, data.data, plan, pixels);
    if (greys) {
        const ImageView converted{room + plan.shape.bytes(), grey.row_bytes(), grey};
        to_grey(pixels, converted);
        pixels = converted;
    }
    program.apply(pixels, draw, slot, scratch.transform, scale);
}

// As `decode_field`, of pixels that are there already: nothing is copied before it is transformed.
void SampleDecoder::place_pixels(const Encoded& data, const Draw& draw, const Target& target,
                                 DecoderScratch& scratch) const {
    const TransformProgram& program = data.is_mask ? mask_program_ : program_;
    ConstImageView pixels = cropped(data.data.data(), data.shape, program.region(draw));
    const Slot slot = slot_for(data, draw, pixels.shape, target);
    if (program.copies(draw, pixels.shape, slot)) {
        auto* out = static_cast<std::uint8_t*>(slot.data);
        const std::size_t row_bytes = pixels.shape.row_bytes();
        for (std::uint32_t y = 0; y < pixels.shape.height; ++y)
            std::memcpy(out + y * row_bytes, pixels.row(y), row_bytes);
        return;
    }
    const bool greys = slot.channels == 1 && pixels.shape.channels >= 3;
    const PixelShape grey = without_colours(pixels.shape);
    std::uint8_t* room =
        scratch.pixels.room(greys ? grey.bytes() : 1, 0, kThreadBytes + program.working_bytes(draw, pixels.shape));
    if (greys) {
        const ImageView converted{room, grey.row_bytes(), grey};
        to_grey(pixels, converted);
        pixels = converted;
    }
    program.apply(pixels, draw, slot, scratch.transform);
}

std::shared_ptr<const OwnSample> SampleDecoder::recode(std::uint64_t id, const SampleBytes& bytes,
                                                       const std::shared_ptr<MemoryGauge>& gauge,
                                                       DecoderScratch& scratch) const {
    const std::size_t room = table_.kept.room[id];
    const Extent record = record_extent(table_, id);
    try {
        std::vector<Whole> fields = plan_whole(id, bytes);
        for (Whole& field : fields) field.plan.options.pool = &scratch.pixels.working();
        const bool is_weir = table_.kept_as(id) == KeptAs::weir;
        return is_weir ? as_weir(fields, room, record, gauge, scratch)
                       : as_pixels(fields, room, record, gauge, scratch);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::out_of_memory) throw;
        return nullptr;  // what is wrong with the sample, if it matters to the batch, is told by decoding it as it is
    }
}

std::vector<SampleDecoder::Whole> SampleDecoder::plan_whole(std::uint64_t id, const SampleBytes& bytes) const {
    std::vector<Whole> fields;
    for (const FieldColumns& field : table_.fields) {
        const Encoded data = encoded(field, id, bytes);
        DecodeOptions wishes;
        wishes.palette_indices = data.is_mask;
        wishes.verify = data.verify;
        wishes.max_pixels = options_.max_pixels;
        fields.push_back({data, plan_decode(*data.codec, data.data, wishes)});
    }
    return fields;
}

std::shared_ptr<const OwnSample> SampleDecoder::as_pixels(const std::vector<Whole>& fields, std::size_t room,
                                                          const Extent& record,
                                                          const std::shared_ptr<MemoryGauge>& gauge,
                                                          DecoderScratch& scratch) {
    std::size_t total = 0;
    for (const Whole& field : fields) total += aligned_up(field.plan.shape.bytes());
    if (total > room) return nullptr;
    ByteBuffer content(total + kSamplePadding);
    std::vector<KeptField> kept;
    std::uint8_t* pixels = content.data();
    for (const auto& [data, plan] : fields) {
        (void)scratch.pixels.room(1, data.codec->working_bytes(plan.info), kThreadBytes);
        decode_image(*data.codec, data.data, plan, {pixels, plan.shape.row_bytes(), plan.shape});
        kept.push_back({{pixels, plan.shape.bytes()}, nullptr, plan.shape});
        pixels += aligned_up(plan.shape.bytes());
    }
    return std::make_shared<const OwnSample>(std::move(content), record, std::move(kept), gauge);
}

std::shared_ptr<const OwnSample> SampleDecoder::as_weir(const std::vector<Whole>& fields, std::size_t room,
                                                        const Extent& record, const std::shared_ptr<MemoryGauge>& gauge,
                                                        DecoderScratch& scratch) {
    static const Codec& weir = *find_codec("weir");
    static const Parameters fast(std::vector<std::pair<std::string, std::string>>{{"variant", "fast"}});
    std::vector<ByteBuffer> coded;
    std::size_t total = 0;
    for (const auto& [data, plan] : fields) {
        // What the encoder writes may be larger than pixels by a tenth, and grows by half at a time.
        const std::size_t written = 2 * (total + plan.shape.bytes());
        std::uint8_t* out =
            scratch.pixels.room(plan.shape.bytes(), data.codec->working_bytes(plan.info), kThreadBytes + written);
        const ImageView pixels{out, plan.shape.row_bytes(), plan.shape};
        decode_image(*data.codec, data.data, plan, pixels);
        coded.push_back(weir.encode(pixels, fast));
        total += aligned_up(coded.back().size());
        if (total > room) return nullptr;
    }
    ByteBuffer content(total + kSamplePadding);
    std::vector<KeptField> kept;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < coded.size(); ++i) {
        std::memcpy(content.data() + begin, coded[i].data(), coded[i].size());
        kept.push_back({{content.data() + begin, coded[i].size()}, &weir, fields[i].plan.shape});
        begin += aligned_up(coded[i].size());
    }
    return std::make_shared<const OwnSample>(std::move(content), record, std::move(kept), gauge);
}

}  // namespace penstock
