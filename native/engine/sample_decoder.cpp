#include "engine/sample_decoder.h"

#include <algorithm>
#include <cstring>
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
    const SlotShape shape{{static_cast<std::uint32_t>(data.size()), 1, 1}, 1, SampleType::uint8};
    std::memcpy(field.take(position, shape), data.data(), data.size());
}

ImageSize size_of(const ImageInfo& info) { return {info.shape.height, info.shape.width}; }

/// Positions inside a file, and inside an image, are 32-bit numbers on an accelerator.
constexpr std::uint64_t kMostForDevice = 0x7fffffff;

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

bool SampleDecoder::must_verify(std::uint64_t id) const noexcept {
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
    const Encoded picture = picture_of(id, wish.fidelity, bytes, scratch);
    const ImageInfo info = info_of(picture);
    const Draw draw = program_.draw(size_of(info), {wish.seed, wish.epoch, id});
    if (hands_over(picture, info)) {
        copy_encoded(picture.data, batch.field(0), position);
    } else {
        decode_field(picture, draw, {batch.field(0), position}, scratch);
    }
    for (std::size_t index = 1; index < table_.fields.size(); ++index) {
        const Encoded mask = encoded(table_.fields[index], id, bytes);
        if (size_of(info_of(mask)) != draw.source) {
            throw Error(ErrorCode::corrupt, "a mask has another size than its image", "sample " + std::to_string(id),
                        "repair the source and build it again");
        }
        decode_field(mask, draw, {batch.field(index), position}, scratch);
    }
    set_verified(id);
}

ImageInfo SampleDecoder::info_of(const Encoded& data) const {
    return inspect_image(*data.codec, data.data, options_.max_pixels);
}

// What cannot become a result is told here, by the policy for bad samples, and never gets to the accelerator.
bool SampleDecoder::hands_over(const Encoded& picture, const ImageInfo& info) const {
    const std::string_view codec = picture.codec->name();
    const std::uint64_t samples = info.shape.pixels() * info.shape.channels;
    if (!options_.encoded || (codec != "weir" && codec != "l3")) return false;
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

// Where the fields of a sample of a block are joined, the others stand before its picture.
ByteView SampleDecoder::field_bytes(const FieldColumns& field, std::uint64_t id, const SampleBytes& bytes) const {
    if (bytes.num_joined == 0) return bytes.part(field.offset[id], field.length[id]);
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
    const TransformProgram& program = data.is_mask ? mask_program_ : program_;
    const bool may_shrink = options_.approximate && !data.is_mask;
    const std::uint32_t scale = may_shrink ? best_scale(*data.codec, program.max_scale(draw)) : 1;
    const DecodePlan plan = plan_field(data, draw, scale);
    const Slot slot = slot_for(data, draw, plan.shape, target);
    const std::size_t beside = data.codec->working_bytes(plan.info) + kThreadBytes;
    if (program.copies(draw, plan.shape, slot)) {
        (void)scratch.pixels.room(1, beside);
        auto* out = static_cast<std::uint8_t*>(slot.data);
        decode_image(*data.codec, data.data, plan, {out, plan.shape.row_bytes(), plan.shape});
        return;
    }
    const bool greys = slot.channels == 1 && plan.shape.channels >= 3;
    PixelShape grey = plan.shape;
    grey.channels = 1;
    std::uint8_t* room = scratch.pixels.room(plan.shape.bytes() + (greys ? grey.bytes() : 0),
                                             beside + program.working_bytes(draw, plan.shape));
    ImageView pixels{room, plan.shape.row_bytes(), plan.shape};
    decode_image(*data.codec, data.data, plan, pixels);
    if (greys) {
        const ImageView converted{room + plan.shape.bytes(), grey.row_bytes(), grey};
        to_grey(pixels, converted);
        pixels = converted;
    }
    program.apply(pixels, draw, slot, scratch.transform, scale);
}

}  // namespace penstock
