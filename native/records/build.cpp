#include "records/build.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "codecs/sluice_transcode.h"
#include "engine/ordered.h"
#include "records/rows.h"
#include "records/shard_series.h"

namespace penstock {

namespace {

// How many samples per thread may be finished before the one in front of them is.
constexpr std::size_t kSamplesAhead = 4;
// Of a block: spec/dataset.md, "Blocks".
constexpr std::size_t kBlockRecords = 64;

// Errors of a source, which a build may pass over; those of our own memory and threads it may not.
bool is_source_error(ErrorCode code) {
    const int number = static_cast<int>(code);
    return code != ErrorCode::out_of_memory &&
           ((number >= 300 && number < 400) || code == ErrorCode::open_failed || code == ErrorCode::read_failed);
}

Error within(const Error& error, const std::string& place) {
    const bool is_told = error.where().starts_with(place);
    const std::string where = is_told ? error.where() : place + ": " + error.where();
    return {error.code(), error.what(), where, error.fix(), error.system_error()};
}

class Converter {
  public:
    Converter(ShardBuild build, std::shared_ptr<BuildCounters> counters)
        : build_(std::move(build)), counters_(std::move(counters)) {}

    [[nodiscard]] Record convert(std::size_t index) const {
        Record record;
        record.id = build_.ids[index];
        record.fields.resize(build_.fields.size() + (build_.keep_source ? 1 : 0));
        for (std::size_t i = 0; i < build_.fields.size(); ++i) {
            const Place& place = build_.fields[i].places[index];
            if (place.file == Place::kAbsent) continue;
            try {
                convert_field(i, place, record);
                if (record.is_passed_on) break;
            } catch (const Error& error) {
                const Error told = within(error, build_.files->describe(place));
                if (!build_.skip_errors || !is_source_error(error.code())) throw told;
                record.fields.clear();
                record.problem = told.what();
                break;
            }
        }
        return record;
    }

  private:
    void convert_field(std::size_t i, const Place& place, Record& record) const {
        const FieldBuild& field = build_.fields[i];
        ByteBuffer source = build_.files->read(place);
        counters_->source_bytes.fetch_add(source.size(), std::memory_order_relaxed);
        if (i == 0 && build_.keep_source) {
            ByteBuffer copy;
            copy.append(source.data(), source.size());
            record.fields.back() = store_image(std::move(copy), Target{}, build_.max_pixels);
        }
        StoredImage image = store_image(std::move(source), field.target, build_.max_pixels);
        if (!image.fallback.empty()) {
            if (i != 0) {
                throw Error(ErrorCode::unsupported, "sluice cannot restore the image: " + image.fallback, "format",
                            "choose another format for this field, such as jpeg");
            }
            record.fields.clear();
            record.problem = std::move(image.fallback);
            record.is_passed_on = true;
            return;
        }
        record.fields[i] = std::move(image);
    }

    ShardBuild build_;
    std::shared_ptr<BuildCounters> counters_;
};

// Whether a prefix of an image in this format is a coarser image.
bool has_fidelities(const Codec& codec, const Parameters& parameters) {
    return codec.name() == "pjpeg" || (codec.name() == "sluice" && sluice::layer_bits_of(parameters) != 0);
}

}  // namespace

Building start_build(ThreadPool& pool, ShardBuild build) {
    auto counters = std::make_shared<BuildCounters>();
    const std::size_t num_samples = build.ids.size();
    const Codec* codec = build.fields.front().target.codec;
    if (codec != nullptr && has_fidelities(*codec, build.fields.front().target.parameters)) {
        build.names.block_records = kBlockRecords;
    }
    auto series = std::make_shared<ShardSeries>(build.names, counters);
    auto converter = std::make_shared<const Converter>(std::move(build), counters);
    std::shared_ptr<Job> job = run_ordered<Record>(
        pool, num_samples, kSamplesAhead * pool.num_threads(),
        [converter](std::size_t index) { return converter->convert(index); },
        [series, num_samples](std::size_t index, Record record) {
            series->add(std::move(record));
            if (index + 1 == num_samples) series->finish();
        });
    return {std::move(job), std::move(counters)};
}

}  // namespace penstock
