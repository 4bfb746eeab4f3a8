#include "engine/sample_decoder.h"

#include <string>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/decode.h"
#include "codecs/table.h"

namespace penstock {

/// The bytes of one field of a sample, and what to make of them.
struct SampleDecoder::Encoded {
    ByteView data;
    const Codec* codec;
    bool verify;  ///< whether the codec is to check its own checksums
    bool is_mask;
};

namespace {

Error within(const Error& error, const std::string& place) {
    const std::string where = error.where().empty() ? place : place + ": " + error.where();
    return {error.code(), error.what(), where, error.fix(), error.system_error()};
}

const Codec& codec_of(ByteView data) {
    if (const Codec* codec = sniff_codec(data)) return *codec;
    throw Error(ErrorCode::unknown_format, "the content is of no known image format", "byte 0",
                "remove the file from the folder, or convert it");
}

}  // namespace

SampleDecoder::SampleDecoder(const SampleTable& table, const SampleOptions& options)
    : table_(table), options_(options) {
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

void SampleDecoder::decode(Batch& batch, std::size_t position, const Fetched& bytes, Scratch& scratch) {
    try {
        decode_fields(batch, position, bytes, scratch);
    } catch (const Error& error) {
        throw within(error, table_.files.path(bytes.block.extent().file));
    } catch (const std::bad_alloc&) {
        throw Error(ErrorCode::out_of_memory, "could not allocate working memory",
                    table_.files.path(bytes.block.extent().file), "give the process more memory");
    }
}

void SampleDecoder::decode_fields(Batch& batch, std::size_t position, const Fetched& bytes, Scratch& scratch) {
    const std::uint64_t id = batch.wish().ids[position];
    for (std::size_t index = 0; index < table_.fields.size(); ++index) {
        decode_field(encoded(table_.fields[index], id, bytes), batch.field(index), position, scratch);
    }
    set_verified(id);
}

SampleDecoder::Encoded SampleDecoder::encoded(const FieldColumns& field, std::uint64_t id, const Fetched& bytes) const {
    const bool verify = must_verify(id);
    if (field.is_whole_file()) {
        const ByteView data = bytes.block.bytes(0, bytes.block.filled());
        return {data, &codec_of(data), verify, field.is_mask};
    }
    const ByteView data = bytes.block.bytes(field.offset[id], field.length[id]);
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

void SampleDecoder::decode_field(const Encoded& data, BatchField& out, std::size_t position, Scratch& scratch) const {
    DecodeOptions wishes;
    wishes.palette_indices = data.is_mask;
    wishes.fast = options_.approximate;
    wishes.verify = data.verify;
    wishes.max_pixels = options_.max_pixels;
    const DecodePlan plan = plan_decode(*data.codec, data.data, wishes);
    PixelShape wanted = plan.shape;
    if (!data.is_mask) wanted.channels = channels_of(options_.channels, wanted.channels);
    const SlotShape shape{{wanted.height, wanted.width, wanted.channels},
                          wanted.sample_bytes == 2 ? ElementType::uint16 : ElementType::uint8};
    const ImageView slot{out.take(position, shape), wanted.row_bytes(), wanted};
    if (wanted == plan.shape) {
        decode_image(*data.codec, data.data, plan, slot);
        return;
    }
    const ImageView decoded{scratch.room(plan.shape.bytes()), plan.shape.row_bytes(), plan.shape};
    decode_image(*data.codec, data.data, plan, decoded);
    convert_channels(decoded, slot);
}

}  // namespace penstock
