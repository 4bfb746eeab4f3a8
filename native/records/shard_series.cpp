#include "records/shard_series.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "storage/file.h"

namespace penstock {

namespace {

constexpr std::uint16_t kVersion = 1;
constexpr std::uint16_t kKindRecords = 1;
constexpr std::uint16_t kKindBlocks = 2;
constexpr std::size_t kHeaderBytes = 64;

// spec/dataset.md, "Shard".
std::array<std::uint8_t, kHeaderBytes> shard_header(const ShardNames& names, std::uint32_t number) {
    std::array<std::uint8_t, kHeaderBytes> header{};
    const std::uint32_t alignment = kShardAlignment;
    const std::uint16_t kind = names.block_records == 0 ? kKindRecords : kKindBlocks;
    std::memcpy(&header[0], "PENSHARD", 8);
    std::memcpy(&header[8], &kVersion, 2);
    std::memcpy(&header[10], &kind, 2);
    std::memcpy(&header[12], &alignment, 4);
    std::memcpy(&header[16], names.identity.data(), names.identity.size());
    std::memcpy(&header[32], &number, 4);
    const std::uint32_t checksum = crc32c(ByteView(header).first(60));
    std::memcpy(&header[60], &checksum, 4);
    return header;
}

std::uint64_t aligned(std::uint64_t size) { return (size + kShardAlignment - 1) / kShardAlignment * kShardAlignment; }

std::uint64_t stored_bytes(const Record& record) {
    std::uint64_t sum = 0;
    for (const StoredImage& field : record.fields) sum += aligned(field.bytes.size() + field.metadata.size());
    return sum;
}

// The index keeps these as signed numbers of 32 bits.
std::uint32_t fitting(std::uint64_t value, const char* name) {
    if (value <= std::numeric_limits<std::int32_t>::max()) return static_cast<std::uint32_t>(value);
    throw Error(ErrorCode::too_large, std::string(name) + " of " + std::to_string(value) + " does not fit the index",
                "a row of the index", "leave the image out, or split it");
}

Row row_of(const StoredImage& image, std::int64_t id, std::size_t field, std::uint64_t offset) {
    Row row;
    row.id = id;
    row.offset = static_cast<std::int64_t>(offset);
    row.length = static_cast<std::int64_t>(image.bytes.size());
    row.width = fitting(image.shape.width, "a width");
    row.height = fitting(image.shape.height, "a height");
    row.checksum = image.checksum;
    row.metadata_length = fitting(image.metadata.size(), "a length of metadata");
    row.pixels = image.pixels;
    image.codec->name().copy(row.codec.data(), row.codec.size());
    row.field = static_cast<std::uint16_t>(field);
    row.origin = static_cast<std::uint8_t>(image.origin);
    row.channels = image.shape.channels;
    row.bits = static_cast<std::uint8_t>(8 * image.shape.sample_bytes);
    row.orientation = image.orientation;
    row.has_pixels = image.has_pixels ? 1 : 0;
    return row;
}

}  // namespace

ShardSeries::ShardSeries(ShardNames names, std::shared_ptr<BuildCounters> counters)
    : names_(std::move(names)), counters_(std::move(counters)), number_(names_.first_number) {}

void ShardSeries::add(Record record) {
    if (!record.fields.empty()) ++num_waiting_;
    waiting_.push_back(std::move(record));
    if (names_.block_records == 0 || num_waiting_ == names_.block_records) write_waiting();
}

void ShardSeries::write_waiting() {
    std::uint64_t bytes = 0;
    for (const Record& record : waiting_) bytes += stored_bytes(record);
    if (open_ != nullptr && num_waiting_ != 0 && open_->notes.num_records != 0 &&
        open_->file.size() + bytes > names_.shard_bytes) {
        end();
    }
    if (open_ == nullptr) begin();
    open_->notes.num_samples += waiting_.size();
    std::vector<Record> records;
    for (Record& record : waiting_) {
        if (record.fields.empty()) {
            auto& list = record.is_passed_on ? open_->notes.fallbacks : open_->notes.skips;
            list.push_back({record.id, std::move(record.problem)});
        } else {
            records.push_back(std::move(record));
        }
    }
    waiting_.clear();
    num_waiting_ = 0;
    if (names_.block_records != 0) {
        append_block(records);
    } else {
        for (const Record& record : records) append(record);
    }
    open_->notes.num_records += records.size();
}

void ShardSeries::append(const Record& record) {
    for (std::size_t i = 0; i < record.fields.size(); ++i) append_whole(record.fields[i], record.id, i);
}

// The other fields, record by record; then all first pieces, all second pieces…; metadata behind an image's last piece.
void ShardSeries::append_block(const std::vector<Record>& records) {
    for (const Record& record : records) {
        for (std::size_t i = 1; i < record.fields.size(); ++i) append_whole(record.fields[i], record.id, i);
    }
    std::size_t num_pieces = 0;
    for (const Record& record : records) num_pieces = std::max(num_pieces, record.fields.front().pieces.size());
    std::vector<std::vector<Piece>> pieces(records.size());
    std::vector<std::size_t> done(records.size(), 0);
    open_->file.pad_to(kShardAlignment);
    for (std::size_t number = 0; number < num_pieces; ++number) {
        for (std::size_t i = 0; i < records.size(); ++i) {
            const StoredImage& image = records[i].fields.front();
            const std::size_t length = number < image.pieces.size() ? image.pieces[number] : 0;
            const ByteView bytes = image.bytes.view().subspan(done[i], length);
            pieces[i].push_back(
                {static_cast<std::int64_t>(open_->file.size()), static_cast<std::int64_t>(length), crc32c(bytes), 0});
            open_->file.append(bytes);
            done[i] += length;
            if (number + 1 == num_pieces) open_->file.append(image.metadata.view());
        }
    }
    ShardNotes& notes = open_->notes;
    for (std::size_t i = 0; i < records.size(); ++i) {
        const StoredImage& image = records[i].fields.front();
        notes.rows.push_back(row_of(image, records[i].id, 0, static_cast<std::uint64_t>(pieces[i].front().offset)));
        notes.rows.back().num_pieces = static_cast<std::uint8_t>(num_pieces);
        notes.pieces.insert(notes.pieces.end(), pieces[i].begin(), pieces[i].end());
        note(image);
    }
}

void ShardSeries::append_whole(const StoredImage& image, std::int64_t id, std::size_t field) {
    if (image.codec == nullptr) return;
    open_->file.pad_to(kShardAlignment);
    open_->notes.rows.push_back(row_of(image, id, field, open_->file.size()));
    open_->file.append(image.bytes.view());
    open_->file.append(image.metadata.view());
    note(image);
}

void ShardSeries::note(const StoredImage& image) {
    for (const std::string& tag : image.metadata_kept) ++open_->notes.metadata_kept[tag];
    for (const std::string& tag : image.metadata_dropped) ++open_->notes.metadata_dropped[tag];
    counters_->stored_bytes.fetch_add(image.bytes.size() + image.metadata.size(), std::memory_order_relaxed);
}

void ShardSeries::finish() {
    if (!waiting_.empty()) write_waiting();
    if (open_ != nullptr) end();
    wait_for_publishing();
}

void ShardSeries::begin() {
    open_ = std::make_shared<Open>(names_.work_folder + "/" + name(number_, ".part"));
    open_->file.append(shard_header(names_, number_));
}

void ShardSeries::end() {
    open_->file.pad_to(kShardPadding);
    open_->notes.shard_bytes = open_->file.size();
    open_->notes.shard_checksum = open_->file.checksum();
    wait_for_publishing();
    const std::string shard = names_.shards_folder + "/" + name(number_, ".shard");
    const std::string rows = names_.work_folder + "/" + name(number_, ".rows");
    const Durability durability = names_.durability;
    publishing_ = publisher_.run(1, [=, open = std::move(open_), counters = counters_](std::size_t) {
        open->file.publish(shard, durability);
        write_file(rows, serialise(open->notes).view(), durability);
        counters->num_shards.fetch_add(1, std::memory_order_relaxed);
    });
    open_ = nullptr;
    ++number_;
}

void ShardSeries::wait_for_publishing() {
    if (publishing_ != nullptr) std::exchange(publishing_, nullptr)->finish();
}

std::string ShardSeries::name(std::uint32_t number, const char* extension) const {
    const std::string digits = std::to_string(number);
    return names_.stem + "-" + std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits + extension;
}

}  // namespace penstock
