#include "allocation_scenarios.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "codecs/embed.h"
#include "codecs/jpeg_scans.h"
#include "codecs/table.h"
#include "engine/pipeline.h"
#include "failing_allocations.h"
#include "records/build.h"

namespace scenarios {

using namespace penstock;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kHeight = 20;
constexpr std::uint32_t kWidth = 24;
constexpr const char* kGroups = "1+2+5+10";

Parameters with(std::vector<std::pair<std::string, std::string>> items) { return Parameters(std::move(items)); }

// A picture, or with one channel a mask, that no other number has.
std::vector<std::uint8_t> pixels_of(std::size_t number, std::size_t channels) {
    std::vector<std::uint8_t> pixels;
    for (std::size_t y = 0; y < kHeight; ++y) {
        for (std::size_t x = 0; x < kWidth; ++x) {
            for (std::size_t c = 0; c < channels; ++c) {
                const std::size_t value =
                    channels == 1 ? (x / 4 + y / 4 + number) % 7 : x * 3 + y * 2 + 40 * c + 11 * number;
                pixels.push_back(static_cast<std::uint8_t>(value));
            }
        }
    }
    return pixels;
}

ByteBuffer encoded(const char* codec, std::size_t number, std::uint8_t channels, const Parameters& parameters = {}) {
    const std::vector<std::uint8_t> pixels = pixels_of(number, channels);
    const PixelShape shape{kHeight, kWidth, channels, 1};
    return find_codec(codec)->encode({pixels.data(), shape.row_bytes(), shape}, parameters);
}

// With texts and a resolution, which a build takes out of it.
ByteBuffer with_metadata(const ByteBuffer& file) {
    static constexpr char text[] = "Comment\0made for a test";
    static constexpr std::uint8_t resolution[9] = {0, 0, 11, 19, 0, 0, 11, 19, 1};
    std::vector<std::string> dropped;
    return embed_metadata(
        file.view(), {{"TEXT", {reinterpret_cast<const std::uint8_t*>(text), sizeof text - 1}}, {"pHYs", resolution}},
        dropped);
}

void write(const std::filesystem::path& path, ByteView bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// A folder of this process, gone with it.
class Folder {
  public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "allocation_test_XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) give_up("no temporary folder");
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

  private:
    std::filesystem::path path_;
};

// Images of three formats into shards of several, one after the other.
class Build : public Scenario {
  public:
    Build() {
        std::vector<std::string> paths;
        for (std::size_t i = 0; i < kSources; ++i) {
            paths.push_back((folder_ / ("source" + std::to_string(i))).string());
            sources_.push_back(source(i));
            write(paths.back(), sources_.back().view());
        }
        files_ = std::make_shared<const SourceFiles>(paths);
        add("weir", {find_codec("weir"), with({{"variant", "fast"}}), true}, kAll, 190);
        add("l3", {find_codec("l3"), {}, true}, kAll, 16);
        add("png", {find_codec("png"), {}, true}, kAll, 16);
        add("webp", {find_codec("webp"), with({{"q", "80"}}), false}, kAll, 8);
        add("jpeg", {find_codec("jpeg"), with({{"q", "85"}}), false}, kAll, 16);
        Target restart{find_codec("jpeg"), with({{"restart", "true"}})};
        restart.keep_quality = 101;
        restart.transcode = true;
        add("restart", restart, kJpegs, 16);
        Target pieces{find_codec("pjpeg"), with({{"q", "85"}, {"groups", kGroups}})};
        pieces.keep_quality = 101;
        pieces.transcode = true;
        add("pjpeg", pieces, kJpegs, 10);
        add("kept", {}, kAll, 12);
        Target small{};
        small.limit = {0, 12};
        add("small", small, kAll, 9);
        builds_.back().keep_source = true;
    }

    void prepare() override {
        for (const char* name : {"shards", "work"}) {
            std::filesystem::remove_all(folder_ / name);
            std::filesystem::create_directory(folder_ / name);
        }
    }

    void run() override {
        ThreadPool pool(2);
        for (const ShardBuild& build : builds_) start_build(pool, build).job->finish();
    }

    std::size_t check(const std::exception_ptr& error) override {
        if (error != nullptr) run();
        std::map<std::string, std::string> found;
        for (const char* name : {"shards", "work"}) {
            for (const auto& entry : std::filesystem::directory_iterator(folder_ / name)) {
                found[entry.path().filename().string()] = read(entry.path());
            }
        }
        if (expected_.empty()) {
            expected_ = std::move(found);
        } else if (found != expected_) {
            give_up(error != nullptr ? "the build that was done again is not the right one" : "the build is not right");
        }
        for (std::size_t i = 0; i < kSources; ++i) {
            const std::string bytes = read(folder_ / ("source" + std::to_string(i)));
            const ByteBuffer& before = sources_[i];
            if (bytes.size() != before.size() || std::memcmp(bytes.data(), before.data(), bytes.size()) != 0) {
                give_up("a source has changed");
            }
        }
        return error != nullptr ? 1 : 0;
    }

  private:
    static constexpr std::size_t kSources = 24;  // pictures, then their masks

    static ByteBuffer source(std::size_t i) {
        if (i >= kSources / 2) return encoded("png", i - kSources / 2, 1);
        if (i % 3 == 0) return with_metadata(encoded("png", i, 3));
        if (i % 3 == 1) return with_metadata(encoded("jpeg", i, 3, with({{"q", "90"}})));
        return encoded("webp", i, 3, with({{"q", "90"}}));
    }

    enum Sources { kAll, kJpegs };

    // Samples come from the same few files again and again.
    void add(const std::string& name, const Target& target, Sources sources, std::size_t num_samples) {
        const bool has_masks = name == "weir" || name == "pjpeg";
        ShardBuild build;
        build.files = files_;
        build.skip_errors = true;  // of sources; a shortage of memory is none
        build.fields.push_back({{}, target});
        if (has_masks) build.fields.push_back({{}, {find_codec("png"), {}, true}});
        for (std::size_t i = 0; i < num_samples; ++i) {
            const std::size_t file = (sources == kAll ? i : 3 * i + 1) % (kSources / 2);
            build.ids.push_back(static_cast<std::int64_t>(i));
            build.fields[0].places.push_back({static_cast<std::int32_t>(file)});
            if (has_masks) build.fields[1].places.push_back({static_cast<std::int32_t>(file + kSources / 2)});
        }
        build.names.shards_folder = (folder_ / "shards").string();
        build.names.work_folder = (folder_ / "work").string();
        build.names.stem = name;
        build.names.shard_bytes = std::size_t{16} << 10;
        build.names.durability = Durability::process;
        builds_.push_back(std::move(build));
    }

    Folder folder_;
    std::vector<ByteBuffer> sources_;
    std::shared_ptr<const SourceFiles> files_;
    std::vector<ShardBuild> builds_;
    std::map<std::string, std::string> expected_;
};

// Samples on disk, their columns, and how a loader is made of them.
struct Samples {
    std::string folder, names;
    std::vector<std::uint64_t> name_ends;
    struct Column {
        bool is_mask = false;
        std::vector<std::uint32_t> file;
        std::vector<std::uint64_t> offset, length;
        std::vector<std::uint8_t> codec;
    };
    std::vector<Column> columns;
    std::vector<const Codec*> codecs;
    std::vector<std::uint64_t> piece_begin, piece_offset, piece_length, edge_begin, edges;
    std::vector<std::uint32_t> piece_checksum, of_sample;
    std::vector<std::uint8_t> form;
    std::vector<std::uint64_t> room;
    PipelineOptions options;

    [[nodiscard]] SampleTable table(std::uint64_t num_samples) const {
        SampleTable table;
        table.num_samples = num_samples;
        table.files = {folder, names, name_ends};
        table.codecs = codecs;
        for (const Column& column : columns) {
            table.fields.push_back({column.is_mask, column.file, column.offset, column.length, {}, column.codec});
        }
        table.blocks = {piece_begin, piece_offset, piece_length, piece_checksum, of_sample, edge_begin, edges, {}};
        if (!edges.empty()) table.blocks.scans = {{1, 2, 5, 10}};
        table.kept = {form, room};
        return table;
    }
};

// Two epochs of three loaders: records with masks that stay in memory in three forms, blocks read ahead, whole files.
class Epochs : public Scenario {
  public:
    Epochs() {
        make_records();
        make_blocks();
        make_files();
        given_.reserve(kEpochs * kBatches);
        for (std::size_t i = 0; i < samples_.size(); ++i) expected_.emplace_back();
    }

    void prepare() override {}

    void run() override {
        for (loader_ = 0; loader_ < samples_.size(); ++loader_) {
            const Samples& samples = samples_[loader_];
            pipeline_ = std::make_unique<Pipeline>(samples.table(kSamples), program(), samples.options);
            run_epochs();
            failing_allocations::pause();
            if (!is_right()) give_up("a batch is not right");
            failing_allocations::resume();
            given_.clear();
            pipeline_.reset();
        }
    }

    std::size_t check(const std::exception_ptr& error) override {
        std::size_t num_errors = std::exchange(num_failed_, 0);
        if (error != nullptr) {
            ++num_errors;
            recover();
        }
        return num_errors;
    }

  private:
    static constexpr std::size_t kSamples = 96;
    static constexpr std::size_t kEpochs = 2;
    static constexpr std::size_t kBatches = 8;

    static TransformProgram program() {
        return TransformProgram({RandomResizedCropOperation{{12, 16}}, RandomHorizontalFlipOperation{},
                                 ToDtypeOperation{SampleType::float32, true},
                                 NormalizeOperation{{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}}});
    }

    [[nodiscard]] BatchWish wish(std::size_t epoch, std::size_t batch) const {
        constexpr std::size_t size = kSamples / kBatches;
        BatchWish wish;
        wish.epoch = epoch;
        wish.seed = 7;
        for (std::size_t i = 0; i < size; ++i) wish.ids.push_back((batch * size + i) * 5 % kSamples);
        if (loader_ == 2) return wish;
        wish.keeping.assign(size, batch == 0 ? Keeping::as_it_is : Keeping::keep);
        // Samples of the next batch come ahead of it.
        if (batch + 1 < kBatches) {
            for (std::size_t i = 0; i < size; ++i) wish.ahead.push_back(((batch + 1) * size + i) * 5 % kSamples);
        }
        wish.fidelity = loader_ == 1 && epoch == 0 ? 2 : 0;
        return wish;
    }

    void run_epochs() {
        for (std::size_t epoch = 0; epoch < kEpochs; ++epoch) {
            for (std::size_t batch = 0; batch < kBatches; ++batch)
                given_.push_back(pipeline_->submit(wish(epoch, batch)));
            for (const std::shared_ptr<Batch>& batch : given_) wait(*batch);
        }
    }

    void wait(const Batch& batch) {
        while (!pipeline_->wait_for(batch, 50ms)) continue;
    }

    // Every sample of every batch given is there and right, or has failed for want of memory.
    bool is_right() {
        bool is_right = true;
        for (std::size_t i = 0; i < given_.size(); ++i) is_right = is_right && is_right_batch(i);
        return is_right;
    }

    bool is_right_batch(std::size_t number) {
        Batch& batch = *given_[number];
        std::vector<bool> has_failed(batch.wish().ids.size());
        std::vector<SampleFailure> failures;
        try {
            failures = batch.take_failures();
        } catch (const std::bad_alloc&) {  // there was no memory to say which sample failed: the batch did
            ++num_failed_;
            return true;
        }
        for (const SampleFailure& failure : failures) {
            if (!is_shortage(std::make_exception_ptr(failure.error))) {
                give_up(std::string("a sample failed by something else: ") + failure.error.what());
            }
            has_failed[failure.position] = true;
            ++num_failed_;
        }
        std::vector<std::string>& expected = expected_[loader_];
        const bool is_first = expected.size() < (number + 1) * 2 * has_failed.size();
        for (std::size_t field = 0; field < 2; ++field) {
            for (std::size_t i = 0; i < has_failed.size(); ++i) {
                std::string found;
                if (field < batch.num_fields() && !has_failed[i]) {
                    const BatchField::Slot& slot = batch.field(field).slots()[i];
                    if (slot.data == nullptr) return false;
                    found.assign(reinterpret_cast<const char*>(slot.data), slot.shape.bytes());
                }
                if (is_first) {
                    expected.push_back(found);
                } else if (!has_failed[i] && expected[(number * 2 + field) * has_failed.size() + i] != found) {
                    return false;
                }
            }
        }
        return true;
    }

    // What the caller of a loader may do after an error: wait for what was asked for, then go on; or close.
    void recover() {
        try {
            if (pipeline_ != nullptr) {
                for (const std::shared_ptr<Batch>& batch : given_) wait(*batch);
            }
        } catch (...) {
            if (!is_shortage(std::current_exception())) give_up("the pipeline ends by another error");
            pipeline_.reset();
        }
        if (pipeline_ != nullptr && !is_right()) give_up("a batch before the error is not right");
        given_.clear();
        num_failed_ = 0;
        if (pipeline_ == nullptr || !goes_on()) {
            if (loader_ == samples_.size()) give_up("an error after the last loader");
            pipeline_.reset();
            given_.clear();
            pipeline_ =
                std::make_unique<Pipeline>(samples_[loader_].table(kSamples), program(), samples_[loader_].options);
            run_epochs();
        }
        if (!is_right() || num_failed_ != 0) give_up("epochs after the error are not right");
        given_.clear();
        pipeline_.reset();
    }

    // Epochs of the pipeline that there is. False if a thread of it ended meanwhile for want of memory.
    bool goes_on() {
        try {
            run_epochs();
            return true;
        } catch (...) {
            if (!is_shortage(std::current_exception())) give_up("the pipeline ends by another error");
            return false;
        }
    }

    void make_records() {
        Samples samples;
        samples.folder = (folder_ / "").string();
        samples.names = "records";
        samples.name_ends = {7};
        for (const char* name : {"raw", "png", "jpeg", "webp", "weir", "l3"})
            samples.codecs.push_back(find_codec(name));
        samples.columns = {{false, {}, {}, {}, {}}, {true, {}, {}, {}, {}}};
        ByteBuffer all;
        for (std::size_t i = 0; i < kSamples; ++i) {
            for (std::size_t field = 0; field < 2; ++field) {
                const std::size_t codec = field == 0 ? i % samples.codecs.size() : 1;
                const std::string name(samples.codecs[codec]->name());
                const ByteBuffer bytes = encoded(name.c_str(), i, field == 0 ? 3 : 1);
                Samples::Column& column = samples.columns[field];
                column.file.push_back(0);
                column.offset.push_back(all.size());
                column.length.push_back(bytes.size());
                column.codec.push_back(static_cast<std::uint8_t>(codec));
                all.append(bytes.data(), bytes.size());
            }
            samples.form.push_back(static_cast<std::uint8_t>(i % 3));
            samples.room.push_back(16384);
        }
        write(folder_ / "records", all.view());
        samples.options.num_threads = 2;
        samples.options.memory.cache_bytes = kSamples * 16384;
        samples.options.memory.read_bytes = std::size_t{1} << 16;  // what is lost here is missed
        samples_.push_back(std::move(samples));
    }

    // One block: all first pieces, all second ones, and so on.
    void make_blocks() {
        Samples samples;
        samples.folder = (folder_ / "").string();
        samples.names = "blocks";
        samples.name_ends = {6};
        samples.codecs = {find_codec("pjpeg")};
        samples.columns = {{false, {}, {}, {}, {}}};
        std::vector<ByteBuffer> files;
        std::vector<std::vector<std::size_t>> lengths;
        for (std::size_t i = 0; i < kSamples; ++i) {
            files.push_back(encoded("pjpeg", i, 3, with({{"q", "85"}})));
            lengths.push_back(jpeg::ScanGroups(kGroups).piece_lengths(files.back().view()));
        }
        const std::size_t num_pieces = lengths.front().size();
        samples.piece_offset.resize(kSamples * num_pieces);
        samples.piece_length.resize(kSamples * num_pieces);
        samples.piece_checksum.resize(kSamples * num_pieces);
        std::vector<std::size_t> done(kSamples);
        ByteBuffer all;
        samples.edges = {0};
        for (std::size_t piece = 0; piece < num_pieces; ++piece) {
            for (std::size_t i = 0; i < kSamples; ++i) {
                samples.piece_offset[i * num_pieces + piece] = all.size();
                samples.piece_length[i * num_pieces + piece] = lengths[i][piece];
                all.append(files[i].data() + done[i], lengths[i][piece]);
                done[i] += lengths[i][piece];
            }
            samples.edges.push_back(all.size());
        }
        samples.edge_begin = {0, samples.edges.size()};
        for (std::size_t i = 0; i <= kSamples; ++i) samples.piece_begin.push_back(i * num_pieces);
        samples.of_sample.assign(kSamples, 0);
        Samples::Column& column = samples.columns.front();
        column.file.assign(kSamples, 0);
        column.codec.assign(kSamples, 0);
        for (std::size_t i = 0; i < kSamples; ++i) {
            column.offset.push_back(samples.piece_offset[i * num_pieces]);
            column.length.push_back(files[i].size());
        }
        write(folder_ / "blocks", all.view());
        samples.options.num_threads = 2;
        samples.options.reading.num_readers = 2;
        samples.options.reading.allow_uring = false;
        samples.options.samples.verify = Verify::never;
        samples.options.memory.cache_bytes = std::size_t{4} << 20;
        samples.options.memory.read_bytes = std::size_t{1} << 20;
        samples_.push_back(std::move(samples));
    }

    void make_files() {
        Samples samples;
        samples.folder = (folder_ / "").string();
        samples.columns = {{}};
        for (std::size_t i = 0; i < kSamples; ++i) {
            constexpr std::array<const char*, 3> codecs{"jpeg", "png", "webp"};
            const std::string name = "image" + std::to_string(i);
            write(folder_ / name, encoded(codecs[i % codecs.size()], i, 3).view());
            samples.names += name;
            samples.name_ends.push_back(samples.names.size());
        }
        samples.options.num_threads = 2;
        samples.options.reading.num_readers = 2;
        samples.options.samples.approximate = true;
        samples.options.memory.read_bytes = std::size_t{1} << 16;
        samples_.push_back(std::move(samples));
    }

    Folder folder_;
    std::vector<Samples> samples_;
    std::size_t loader_ = 0;
    std::unique_ptr<Pipeline> pipeline_;
    std::vector<std::shared_ptr<Batch>> given_;
    std::vector<std::vector<std::string>> expected_;  // of each loader: each batch, field and sample
    std::size_t num_failed_ = 0;
};

// What the harness must find: memory lost, a wait without end, or a result lost, when the third allocation fails.
class Planted : public Scenario {
  public:
    explicit Planted(std::string mistake) : mistake_(std::move(mistake)) {}
    void prepare() override { values_ = 0; }
    void run() override {
        auto* first = new std::vector<int>(16);
        try {
            for (int i = 0; i < 4; ++i) {
                const std::vector<int> one(16, i);
                values_ += one[3];
            }
        } catch (const std::bad_alloc&) {
            if (mistake_ == "leak") throw;
            delete first;
            while (mistake_ == "hang") std::this_thread::sleep_for(10ms);
            if (mistake_ == "loss") return;
            throw;
        }
        delete first;
    }
    std::size_t check(const std::exception_ptr& error) override {
        if (error == nullptr && values_ != 6) give_up("the sum is not right");
        return error != nullptr ? 1 : 0;
    }

  private:
    const std::string mistake_;
    int values_ = 0;
};

}  // namespace

bool is_shortage(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& known) {
        const bool is_thread = known.code() == ErrorCode::no_threads && known.system_error() == EAGAIN;
        return known.code() == ErrorCode::out_of_memory || is_thread;
    } catch (const std::bad_alloc&) {
        return true;
    } catch (...) {
        return false;
    }
}

std::string text_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& known) {
        return std::to_string(static_cast<int>(known.code())) + " " + known.what() + " (" + known.where() + ")";
    } catch (const std::exception& other) {
        return other.what();
    } catch (...) {
        return "no exception at all";
    }
}

void give_up(const std::string& what) {
    std::fprintf(stderr, "%s; ", what.c_str());
    failing_allocations::tell_failure();
    std::_Exit(1);
}

std::unique_ptr<Scenario> make(const std::string& name) {
    if (name == "build") return std::make_unique<Build>();
    if (name == "epochs") return std::make_unique<Epochs>();
    if (name == "leak" || name == "hang" || name == "loss" || name == "none") return std::make_unique<Planted>(name);
    return nullptr;
}

}  // namespace scenarios
