// The loader's pipeline: every batch ends, whatever happens to its samples, to its waiter, or to the pipeline.
#include "engine/pipeline.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "claims.h"
#include "codecs/table.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kSamples = 64;

// A file of raw records, sample i grey of level i, and its columns.
class Records {
  public:
    Records() : folder_(std::filesystem::temp_directory_path() / ("pipeline_test_" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(folder_);
        std::ofstream file(folder_ / name_, std::ios::binary);
        for (std::size_t i = 0; i < kSamples; ++i) {
            const std::vector<std::uint8_t> pixels(16 * 20, static_cast<std::uint8_t>(i));
            const ByteBuffer record = find_codec("raw")->encode({pixels.data(), 20, {16, 20, 1, 1}}, {});
            offsets_.push_back(static_cast<std::uint64_t>(file.tellp()));
            lengths_.push_back(record.size());
            file.write(reinterpret_cast<const char*>(record.data()), static_cast<std::streamsize>(record.size()));
        }
        files_.assign(kSamples, 0);
        codecs_.assign(kSamples, 0);
        ends_ = {name_.size()};
    }
    ~Records() { std::filesystem::remove_all(folder_); }
    Records(const Records&) = delete;
    Records& operator=(const Records&) = delete;

    [[nodiscard]] SampleTable table() const {
        SampleTable table;
        table.num_samples = kSamples;
        table.files = {folder_.string() + "/", name_, ends_};
        table.codecs = {find_codec("raw")};
        table.fields = {{false, files_, offsets_, lengths_, {}, codecs_}};
        return table;
    }

  private:
    std::filesystem::path folder_;
    std::string name_ = "records";
    std::vector<std::uint64_t> offsets_, lengths_, ends_;
    std::vector<std::uint32_t> files_;
    std::vector<std::uint8_t> codecs_;
};

PipelineOptions options(bool ring = true) {
    PipelineOptions wishes;
    wishes.num_threads = 3;
    wishes.reading.allow_uring = ring;
    wishes.samples.channels = Channels::unchanged;
    return wishes;
}

BatchWish some(std::size_t first, std::size_t count) {
    BatchWish wish;
    for (std::size_t i = 0; i < count; ++i) wish.ids.push_back((first * 7 + i * 5) % kSamples);
    return wish;
}

void finish(Pipeline& pipeline, const Batch& batch) {
    while (!pipeline.wait_for(batch, 50ms)) continue;
}

bool is_right(Batch& batch) {
    if (!batch.field(0).unite()) return false;
    for (std::size_t i = 0; i < batch.wish().ids.size(); ++i) {
        if (*batch.field(0).slots()[i].data != batch.wish().ids[i]) return false;
    }
    return true;
}

void run_batches(bool ring, Caching caching) {
    const Records records;
    PipelineOptions wishes = options(ring);
    wishes.caching = caching;
    Pipeline pipeline(records.table(), TransformProgram({}), wishes);
    for (std::size_t round = 0; round < 20; ++round) {
        std::vector<std::shared_ptr<Batch>> batches;
        for (std::size_t i = 0; i < 4; ++i) batches.push_back(pipeline.submit(some(round + i, 16)));
        for (const std::shared_ptr<Batch>& batch : batches) {
            finish(pipeline, *batch);
            CHECK(batch->take_failures().empty());
            CHECK(is_right(*batch));
        }
    }
    CHECK(pipeline.stats().num_decoded == 20 * 4 * 16);
}

// A codec with a mistake in it: it throws what no codec may, by the level of grey.
class Throwing : public Codec {
  public:
    [[nodiscard]] std::string_view name() const noexcept override { return "throwing"; }
    [[nodiscard]] bool sniff(ByteView) const noexcept override { return true; }
    [[nodiscard]] ImageInfo inspect(ByteView data) const override {
        if (data.back() % 2 == 0) throw std::bad_alloc();
        throw std::length_error("a mistake");
    }
    void decode(ByteView, const ImageInfo&, const DecodeOptions&, ImageView) const override {}
    [[nodiscard]] ByteBuffer encode(ConstImageView, const Parameters&) const override { return {}; }
};

}  // namespace

CLAIM(batches_come_right_by_threads) { run_batches(false, Caching::system); }
CLAIM(batches_come_right_by_a_ring) { run_batches(true, Caching::system); }
CLAIM(batches_come_right_past_the_page_cache) { run_batches(true, Caching::none); }

CLAIM(little_memory_only_makes_it_slower) {
    const Records records;
    PipelineOptions wishes = options(false);
    wishes.memory.read_bytes = 8192;  // one page of records, and what may stand before it
    Pipeline pipeline(records.table(), TransformProgram({}), wishes);
    std::vector<std::shared_ptr<Batch>> batches;
    for (std::size_t i = 0; i < 8; ++i) batches.push_back(pipeline.submit(some(i, 32)));
    for (const std::shared_ptr<Batch>& batch : batches) {
        finish(pipeline, *batch);
        CHECK(batch->take_failures().empty());
        CHECK(is_right(*batch));
    }
}

CLAIM(samples_that_stay_are_read_once) {
    const Records records;
    PipelineOptions wishes = options();
    wishes.memory.cache_bytes = std::size_t{1} << 20;
    Pipeline pipeline(records.table(), TransformProgram({}), wishes);
    for (const Keeping keeping : {Keeping::keep, Keeping::keep, Keeping::drop, Keeping::as_it_is}) {
        std::vector<std::shared_ptr<Batch>> batches;
        for (std::size_t i = 0; i < 4; ++i) {
            BatchWish wish;
            for (std::size_t id = i * 16; id < i * 16 + 16; ++id) wish.ids.push_back(id);
            wish.keeping.assign(16, keeping);
            batches.push_back(pipeline.submit(std::move(wish)));
        }
        for (const std::shared_ptr<Batch>& batch : batches) {
            finish(pipeline, *batch);
            CHECK(is_right(*batch));
        }
    }
    CHECK(pipeline.stats().num_hits == 2 * kSamples);
    CHECK(pipeline.stats().cache_bytes == 0);
}

CLAIM(a_cancelled_batch_still_ends) {
    const Records records;
    Pipeline pipeline(records.table(), TransformProgram({}), options());
    pipeline.faults().stall(std::nullopt, 20ms, 2);
    const std::shared_ptr<Batch> unwanted = pipeline.submit(some(0, 64));
    unwanted->cancel();
    const std::shared_ptr<Batch> wanted = pipeline.submit(some(3, 16));
    finish(pipeline, *wanted);
    finish(pipeline, *unwanted);
    CHECK(is_right(*wanted));
}

CLAIM(failures_end_their_samples_and_no_others) {
    const Records records;
    Pipeline pipeline(records.table(), TransformProgram({}), options(false));
    pipeline.faults().fail(std::nullopt, 2, 1);
    std::vector<std::shared_ptr<Batch>> batches;
    for (std::size_t i = 0; i < 4; ++i) batches.push_back(pipeline.submit(some(i, 16)));
    std::size_t num_failed = 0;
    for (const std::shared_ptr<Batch>& batch : batches) {
        finish(pipeline, *batch);
        num_failed += batch->take_failures().size();
    }
    CHECK(num_failed > 0);
    CHECK(num_failed + pipeline.stats().num_decoded == 4 * 16);
}

CLAIM(closing_in_the_middle_waits_for_nothing_but_the_tasks_under_way) {
    const Records records;
    for (int round = 0; round < 20; ++round) {
        std::vector<std::shared_ptr<Batch>> batches;
        Pipeline pipeline(records.table(), TransformProgram({}), options(round % 2 == 0));
        for (std::size_t i = 0; i < 8; ++i) batches.push_back(pipeline.submit(some(i, 32)));
        if (round % 3 == 0) finish(pipeline, *batches.front());
    }
}

CLAIM(closing_wakes_whoever_waits) {
    const Records records;
    for (int round = 0; round < 20; ++round) {
        Pipeline pipeline(records.table(), TransformProgram({}), options(round % 2 == 0));
        pipeline.faults().stall(std::nullopt, 20ms, 1000);
        const std::shared_ptr<Batch> batch = pipeline.submit(some(0, 64));
        std::atomic<bool> is_told{false};
        std::thread waiter([&] {
            try {
                finish(pipeline, *batch);
            } catch (const Error& error) {
                is_told = error.code() == ErrorCode::cancelled;
            }
        });
        pipeline.close();
        waiter.join();
        CHECK(is_told || batch->is_done());
    }
}

CLAIM(whatever_a_codec_throws_is_a_failure_of_its_sample) {
    const Records records;
    const Throwing throwing;
    SampleTable table = records.table();
    table.codecs = {&throwing};
    Pipeline pipeline(table, TransformProgram({}), options());
    BatchWish wish;
    for (std::size_t id = 0; id < kSamples; ++id) wish.ids.push_back(id);
    const std::shared_ptr<Batch> batch = pipeline.submit(std::move(wish));
    finish(pipeline, *batch);
    const std::vector<SampleFailure> failures = batch->take_failures();
    CHECK(failures.size() == kSamples);
    for (const SampleFailure& failure : failures) {
        const bool is_even = failure.id % 2 == 0;
        CHECK(failure.error.code() == (is_even ? ErrorCode::out_of_memory : ErrorCode::unexpected));
    }
}

CLAIM(a_record_without_bytes_is_a_failure_of_its_sample) {
    const Records records;
    SampleTable table = records.table();
    std::vector<std::uint64_t> lengths(table.fields[0].length.begin(), table.fields[0].length.end());
    std::vector<std::uint64_t> offsets(kSamples, 0);
    lengths[5] = 0;
    table.fields[0].length = lengths;
    table.fields[0].offset = offsets;
    Pipeline pipeline(table, TransformProgram({}), options());
    BatchWish wish;
    wish.ids = {5};
    const std::shared_ptr<Batch> batch = pipeline.submit(std::move(wish));
    finish(pipeline, *batch);
    const std::vector<SampleFailure> failures = batch->take_failures();
    CHECK(failures.size() == 1 && failures[0].error.code() == ErrorCode::corrupt);
}

CLAIM(a_ring_that_breaks_leaves_its_reads_to_threads) {
    const Records records;
    Pipeline pipeline(records.table(), TransformProgram({}), options());
    const std::shared_ptr<Batch> before = pipeline.submit(some(0, 16));
    finish(pipeline, *before);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        if (std::filesystem::read_symlink(entry, gone).string().find("io_uring") == std::string::npos) continue;
        CHECK(::dup2(nothing, std::stoi(entry.path().filename())) >= 0);
    }
    for (std::size_t i = 0; i < 8; ++i) {
        const std::shared_ptr<Batch> batch = pipeline.submit(some(i, 16));
        finish(pipeline, *batch);
        CHECK(batch->take_failures().empty());
        CHECK(is_right(*batch));
    }
    ::close(nothing);
}

CLAIM(a_batch_outlives_its_pipeline) {
    const Records records;
    std::shared_ptr<Batch> batch;
    {
        Pipeline pipeline(records.table(), TransformProgram({}), options());
        batch = pipeline.submit(some(1, 16));
        finish(pipeline, *batch);
    }
    CHECK(is_right(*batch));
}

int main(int argc, char** argv) {
    if (argc == 2) return claims::run_named(argv[1]);
    for (const claims::Claim& claim : claims::all()) std::puts(claim.name);
    return 0;
}
