#include "engine/pipeline.h"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <mutex>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "engine/arena.h"
#include "engine/expected.h"
#include "engine/piece_join.h"
#include "engine/pieces.h"
#include "engine/ready_queue.h"
#include "engine/thread_pool.h"

namespace penstock {

namespace {

// More than this does not make a disk faster, and holds memory until its last sample is decoded.
constexpr std::uint64_t kMaxReadBytes = std::uint64_t{4} << 20;
constexpr std::size_t kMaxOpenFiles = 128;
// Records are read by whole pages, as disk and page cache do, so that the bytes read do not depend on the way.
constexpr std::uint64_t kPageBytes = 4096;

}  // namespace

struct Pipeline::State {
    State(SampleTable sample_table, TransformProgram program, const PipelineOptions& options)
        : table(std::move(sample_table)),
          whole_files(table.fields.front().is_whole_file()),
          slots{std::make_shared<BufferPool>(options.memory.idle_bytes), gauge},
          arena(options.memory.cache_bytes, gauge),
          read_memory(options.memory.read_bytes, *gauge),
          scratch_memory(options.memory.scratch_bytes, *gauge, [this] { ready.wake(); }),
          files(table.store != nullptr ? table.store : local_files(options.caching)),
          max_read_bytes(std::min<std::uint64_t>(kMaxReadBytes, options.memory.read_bytes / 4)),
          on_read(sink()),
          reading(*files, read_memory, whole_files || table.fields_apart, options.reading, on_read),
          decoder(table, std::move(program), options.samples),
          unfit(table.kept.form.empty() ? 0 : (table.num_samples + 7) / 8),
          read_threads(std::make_unique<ThreadPool>(reading.num_threads())),
          decode_threads(std::make_unique<ThreadPool>(options.num_threads)) {
        // Direct reads have a grid, which is the disk's; reads are planned on it from the first one on.
        if (options.caching == Caching::none && table.store == nullptr && table.files.size() > 0) find_grid();
        try {
            read_job = read_threads->run(read_threads->num_threads(), [this](std::size_t) { reading.run(); });
            decode_job = decode_threads->run(decode_threads->num_threads(), [this](std::size_t) { run_decoder(); });
        } catch (...) {
            close();  // those that run would not end otherwise
            throw;
        }
    }

    ~State() { close(); }

    void close() noexcept {
        {
            const std::lock_guard lock(done_mutex);
            closed = true;
            batch_done.notify_all();
        }
        reading.close();
        scratch_memory.close();
        ready.close();
        const std::lock_guard lock(closing_mutex);  // a second caller waits for the first
        read_threads.reset();
        decode_threads.reset();
    }

    // A stage's threads end only with us. One that ends before took its sample along, and no sample tells why.
    void check_threads() const {
        try {
            read_job->check();
            decode_job->check();
        } catch (const Error&) {
            throw;
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception& problem) {
            throw Error(ErrorCode::unexpected, std::string("a thread of the loader ended: ") + problem.what(), "loader",
                        "make a new loader, and report what it was doing");
        }
    }

    [[nodiscard]] std::shared_ptr<ByteStore> local_files(Caching caching) const {
        // Files that are samples of their own are read once an epoch: none stays open.
        return std::make_shared<DataFiles>(table.files, caching, whole_files || table.fields_apart ? 0 : kMaxOpenFiles);
    }

    void find_grid() {
        try {
            (void)files->open(0);
        } catch (const Error&) {
            // A request for a sample of that file will get the error.
        }
    }

    // None of these throws: a failure of their own becomes one of the sample.
    ReadSink sink() {
        return {[this](const Fetch& fetch, const std::shared_ptr<const SampleBytes>& bytes) {
                    if (fetch.join != nullptr) return take_part(fetch, *bytes);
                    if (fetch.num_pieces != 0) return take_in_block(fetch, bytes);
                    for (const std::uint32_t position : fetch.positions) ready.push({fetch.batch, position, bytes});
                    for (const std::uint64_t id : fetch.ahead) take_in(id, bytes);
                },
                [this](const Fetch& fetch, const std::exception_ptr& problem) {
                    if (fetch.join != nullptr) return give_up_part(fetch, problem);
                    for (const std::uint32_t position : fetch.positions) fail(*fetch.batch, position, problem);
                    end_samples(*fetch.batch, fetch.positions);
                    give_up(fetch.ahead);
                },
                [this](const Fetch& fetch) {
                    if (fetch.join != nullptr) return give_up_part(fetch, nullptr);
                    end_samples(*fetch.batch, fetch.positions);
                    give_up(fetch.ahead);
                }};
    }

    // A sample that was read ahead: to the batches that wait for it, else into memory. Those who begin to wait while it
    // is copied are served too.
    void take_in(std::uint64_t id, const std::shared_ptr<const SampleBytes>& bytes) noexcept {
        if (!expected.is_awaited(id)) keep_read(id, *bytes, true);
        for (BatchPlace& place : expected.settle(id)) ready.push({std::move(place.batch), place.position, bytes});
    }

    // Samples of a block, or the further pieces of them. Whoever waits for one whose first pieces are in memory gets
    // both joined; if they are gone meanwhile it is read alone.
    void take_in_block(const Fetch& fetch, const std::shared_ptr<const SampleBytes>& bytes) noexcept {
        for (const std::uint64_t id : fetch.ahead) {
            std::shared_ptr<const SampleBytes> served = bytes;
            try {
                if (fetch.first_piece != 0) {
                    served = extended(fetch, id, *bytes);
                } else if (!expected.is_awaited(id)) {
                    arena.put(id, own(id, join_sample(table, id, fetch.num_pieces, *bytes), fetch.num_pieces), true);
                }
            } catch (const std::exception&) {
                served = nullptr;  // a file that is too short, or no memory: who needs the sample reads it alone
            }
            for (BatchPlace& place : expected.settle(id)) {
                if (served == nullptr) {
                    fetch_alone(place);
                } else {
                    ready.push({std::move(place.batch), place.position, served});
                }
            }
        }
    }

    [[nodiscard]] std::shared_ptr<const OwnSample> own(std::uint64_t id, ByteBuffer joined, std::uint32_t num_pieces) {
        const Extent record = block_extent(table, id, {0, num_pieces});
        return std::make_shared<const OwnSample>(std::move(joined), record, num_pieces, gauge);
    }

    // Null if the first pieces are not there any more.
    [[nodiscard]] std::shared_ptr<const SampleBytes> extended(const Fetch& fetch, std::uint64_t id,
                                                              const SampleBytes& block) {
        const std::shared_ptr<const SampleBytes> known = arena.find(id).bytes;
        if (known == nullptr || known->num_joined != fetch.first_piece) return known;
        auto sample = own(id, extend_sample(table, id, *known, fetch.num_pieces, block), fetch.num_pieces);
        arena.put(id, sample, false);
        return {sample, &sample->bytes};
    }

    void take_part(const Fetch& fetch, const SampleBytes& bytes) noexcept {
        try {
            const ByteView part = bytes.part(fetch.extent.offset, fetch.extent.length);
            if (part.size() < fetch.extent.length) {
                throw Error(ErrorCode::read_failed, "the file ends before the record does",
                            table.files.path(fetch.extent.file), "the shard is damaged: restore it, or build it again");
            }
            fetch.join->add(fetch.join_at, part);
        } catch (const std::exception&) {
            return give_up_part(fetch, std::current_exception());
        }
        if (!fetch.join->end_part()) return;
        const std::uint32_t position = fetch.positions.front();
        try {
            const Extent record = block_extent(table, fetch.batch->wish().ids[position], {0, fetch.num_pieces});
            ready.push({fetch.batch, position, fetch.join->take(record, fetch.num_pieces, gauge)});
        } catch (const std::exception&) {
            fail(*fetch.batch, position, std::current_exception());
            end_samples(*fetch.batch, {&position, 1});
        }
    }

    // The first part of a sample that fails ends it; without a problem, the batch was cancelled.
    void give_up_part(const Fetch& fetch, const std::exception_ptr& problem) noexcept {
        if (fetch.join->fail()) {
            if (problem != nullptr) fail(*fetch.batch, fetch.positions.front(), problem);
            end_samples(*fetch.batch, fetch.positions);
        }
        (void)fetch.join->end_part();
    }

    // Reading ahead failed, which is not an error yet: a batch that needs a sample reads it alone, and gets the error.
    void give_up(const std::vector<std::uint64_t>& ids) noexcept {
        for (const std::uint64_t id : ids) {
            for (const BatchPlace& place : expected.settle(id)) fetch_alone(place);
        }
    }

    void fetch_alone(const BatchPlace& place) noexcept {
        try {
            fetch(place.batch, {place.position});
        } catch (const std::exception&) {
            fail(*place.batch, place.position, std::current_exception());
            end_samples(*place.batch, {&place.position, 1});
        }
    }

    void read_ahead(const std::shared_ptr<Batch>& batch) {
        std::vector<std::uint64_t> asked;
        asked.reserve(batch->wish().ahead.size());
        try {
            std::vector<Fetch> fetches = plan_read_ahead(batch, asked);
            batch->add_num_read(asked.size());
            push(fetches);
        } catch (...) {
            for (const std::uint64_t id : asked) (void)expected.settle(id);  // no batch waits for them yet
            throw;
        }
    }

    // Notes in `asked`, which has room, what is expected from here on.
    [[nodiscard]] std::vector<Fetch> plan_read_ahead(const std::shared_ptr<Batch>& batch,
                                                     std::vector<std::uint64_t>& asked) {
        std::vector<std::uint64_t> wanted;
        std::vector<BlockWish> in_blocks;
        for (const std::uint64_t id : batch->wish().ahead) {
            const std::shared_ptr<const SampleBytes> known = arena.find(id).bytes;
            if (is_enough(*batch, id, known.get()) || !expected.expect(id)) continue;
            asked.push_back(id);
            if (table.is_in_block(id)) {
                in_blocks.push_back({id, known == nullptr ? 0 : known->num_joined});
            } else {
                wanted.push_back(id);
            }
        }
        std::vector<Fetch> fetches = plan_blocks_ahead(batch, table, std::move(in_blocks));
        std::ranges::move(plan_ahead(batch, table, wanted, grid()), std::back_inserter(fetches));
        return fetches;
    }

    // A fetch that finds no memory to wait in fails as one that the disk failed.
    void push(std::vector<Fetch>& fetches) noexcept {
        for (Fetch& next : fetches) {
            try {
                reading.push(std::move(next));
            } catch (const std::exception&) {
                on_read.failed(next, std::current_exception());
            }
        }
    }

    // Returns whether the part of a sample that is in memory is enough for a batch.
    [[nodiscard]] bool is_enough(const Batch& batch, std::uint64_t id, const SampleBytes* known) const {
        if (known == nullptr || !table.is_in_block(id)) return known != nullptr;
        return known->num_joined >= pieces_for(table, id, batch.wish().fidelity);
    }

    void check_ids(const std::vector<std::uint64_t>& ids) const {
        for (const std::uint64_t id : ids) {
            if (id < table.num_samples) continue;
            throw Error(ErrorCode::bad_argument, "there is no sample " + std::to_string(id), "ids",
                        "choose below " + std::to_string(table.num_samples));
        }
    }

    // Room for them where they will wait for a decoder, so that no later step of theirs can fail for want of it.
    void open_samples(std::size_t count) {
        ready.reserve(num_open.load(std::memory_order_relaxed) + count);
        num_open.fetch_add(count, std::memory_order_relaxed);
    }

    // Samples that are in memory go to the decoders at once, those on their way when they come; the others are read.
    void start(const std::shared_ptr<Batch>& batch, const std::vector<std::uint32_t>& positions) {
        std::vector<std::uint32_t> missing;
        for (const std::uint32_t position : positions) {
            const std::uint64_t id = batch->wish().ids[position];
            if (being_kept.await(id, {batch, position})) {
                batch->add_hits(1);
                continue;
            }
            Arena::Found found = arena.find(id);
            bool is_here = is_enough(*batch, id, found.bytes.get());
            if (batch->keeping(position) == Keeping::keep) (void)being_kept.expect(id);
            if (!is_here) {
                if (expected.await(id, {batch, position})) continue;
                found = arena.find(id);  // it may have come between the two questions
                is_here = is_enough(*batch, id, found.bytes.get());
            }
            drop_now(*batch, position);
            if (is_here) {
                batch->add_hits(found.is_fresh ? 0 : 1);
                ready.push({batch, position, std::move(found.bytes)});
            } else {
                missing.push_back(position);
            }
        }
        batch->add_num_read(missing.size());
        fetch(batch, missing);
    }

    // A sample that memory lets go after a batch is gone for the batches that come later, though its bytes live until
    // they are decoded.
    void drop_now(Batch& batch, std::uint32_t position) noexcept {
        if (batch.keeping(position) != Keeping::drop) return;
        arena.drop(batch.wish().ids[position]);
        batch.end_dropping(position);
    }

    // Throws before anything is asked for, or not at all.
    void fetch(const std::shared_ptr<Batch>& batch, const std::vector<std::uint32_t>& positions) {
        std::vector<std::uint32_t> whole;
        std::vector<Fetch> fetches;
        std::vector<std::pair<std::uint32_t, std::exception_ptr>> without_bytes;
        for (const std::uint32_t position : positions) {
            if (!table.is_in_block(batch->wish().ids[position])) {
                whole.push_back(position);
                continue;
            }
            std::vector<Fetch> parts = plan_alone(batch, table, position);
            if (parts.empty()) without_bytes.emplace_back(position, no_bytes(batch->wish().ids[position]));
            std::ranges::move(parts, std::back_inserter(fetches));
        }
        std::ranges::move(plan_fetches(batch, table, whole, grid()), std::back_inserter(fetches));
        push(fetches);
        for (const auto& [position, problem] : without_bytes) {
            fail(*batch, position, problem);
            end_samples(*batch, {&position, 1});
        }
    }

    [[nodiscard]] std::exception_ptr no_bytes(std::uint64_t id) const {
        const std::string where = table.files.path(table.fields.front().file_of(id));
        return std::make_exception_ptr(Error(ErrorCode::corrupt, "the index lists a record of no bytes",
                                             where + ": record of sample " + std::to_string(id),
                                             "restore the index, or build the dataset again"));
    }

    [[nodiscard]] ReadGrid grid() { return {std::max(files->alignment(), kPageBytes), max_read_bytes}; }

    // The record of a sample that was read; of a whole file, all of it.
    [[nodiscard]] Extent record_of(std::uint64_t id, const SampleBytes& bytes) const {
        if (table.fields_apart) return {table.fields.front().file_of(id), 0, bytes.data.size()};
        Extent record = record_extent(table, id);
        if (whole_files) record.length = bytes.data.size();
        return record;
    }

    void run_decoder() {
        DecoderScratch scratch(scratch_memory);
        StageWatch watch(decode_clock);
        const auto ease = [&] { scratch.pixels.ease(); };
        while (std::optional<ReadySample> sample = ready.pop(ease)) {
            watch.began_working();
            if (!sample->batch->is_cancelled()) decode(*sample, scratch);
            watch.began_waiting();  // before the batch may be done: who waited for it finds all its seconds
            end_samples(*sample->batch, {&sample->position, 1});
            sample.reset();  // frees the bytes read before it waits for the next ones
            ease();
        }
    }

    void decode(const ReadySample& sample, DecoderScratch& scratch) noexcept {
        try {
            const std::shared_ptr<const SampleBytes> recoded = recode(sample, scratch);
            const bool is_saved = !sample.bytes->kept.empty();
            decoder.decode(*sample.batch, sample.position, recoded == nullptr ? *sample.bytes : *recoded, scratch);
            Tally& tally = sample.batch->tally();
            tally.num_decoded.fetch_add(1, std::memory_order_relaxed);
            tally.num_decodes_saved.fetch_add(is_saved ? 1 : 0, std::memory_order_relaxed);
            if (recoded == nullptr) keep_or_drop(sample);
        } catch (const std::exception&) {
            fail(*sample.batch, sample.position, std::current_exception());
            if (sample.batch->keeping(sample.position) == Keeping::drop) keep_or_drop(sample);
        }
    }

    // A sample that is to stay as pixels, or encoded anew, and is not yet: it is in memory from here on, and the batch
    // is served from that. Null for all others, and for those that do not fit: they are decoded as they are.
    [[nodiscard]] std::shared_ptr<const SampleBytes> recode(const ReadySample& sample, DecoderScratch& scratch) {
        const std::uint64_t id = sample.batch->wish().ids[sample.position];
        const bool stays = sample.batch->keeping(sample.position) == Keeping::keep;
        if (!stays || table.kept_as(id) == KeptAs::encoded || !sample.bytes->kept.empty() || is_unfit(id))
            return nullptr;
        const std::size_t room = table.kept.room[id];
        if (!arena.reserve(room)) return nullptr;
        std::shared_ptr<const OwnSample> made;
        bool is_short = false;
        try {
            made = decoder.recode(id, *sample.bytes, gauge, scratch);
        } catch (const std::exception&) {
            is_short = true;  // of memory: it may work another time
        }
        arena.fill(id, made, room);
        if (is_short) return nullptr;
        if (made == nullptr) {
            unfit[id / 8].fetch_or(static_cast<std::uint8_t>(1u << (id % 8)), std::memory_order_relaxed);
            return nullptr;
        }
        sample.batch->tally().num_recoded.fetch_add(1, std::memory_order_relaxed);
        return {made, &made->bytes};
    }

    [[nodiscard]] bool is_unfit(std::uint64_t id) const noexcept {
        return (unfit[id / 8].load(std::memory_order_relaxed) >> (id % 8) & 1) != 0;
    }

    void fail(Batch& batch, std::size_t position, const std::exception_ptr& problem) noexcept {
        if (!batch.is_cancelled()) num_failed.fetch_add(1, std::memory_order_relaxed);
        batch.add_failure(position, problem);
    }

    // A sample for which there is no memory after all is not kept; its batch has it.
    void keep_or_drop(const ReadySample& sample) noexcept {
        try {
            settle_keeping(sample);
        } catch (const std::exception&) {
            arena.refuse(sample.batch->wish().ids[sample.position]);
        }
    }

    void settle_keeping(const ReadySample& sample) {
        const Keeping keeping = sample.batch->keeping(sample.position);
        if (keeping == Keeping::as_it_is) return;
        const std::uint64_t id = sample.batch->wish().ids[sample.position];
        if (keeping == Keeping::drop) {
            arena.drop(id);
            return;
        }
        if (!sample.bytes->kept.empty()) return;  // it is there as it should be
        if (table.kept_as(id) != KeptAs::encoded) {
            keep_unfit(id, sample);
        } else if (table.is_in_block(id)) {
            keep_in_block(id, pieces_for(table, id, sample.batch->wish().fidelity), sample);
        } else {
            keep_read(id, *sample.bytes, false);
        }
    }

    // Copies a sample as it was read into memory.
    void keep_read(std::uint64_t id, const SampleBytes& bytes, bool is_fresh) {
        const Extent record = record_of(id, bytes);
        is_fresh ? arena.keep_fresh(id, bytes, record) : arena.keep(id, bytes, record);
    }

    // A sample that could not be kept as it was meant to be is kept encoded, if it fits the room that was planned.
    void keep_unfit(std::uint64_t id, const ReadySample& sample) {
        const Extent record = record_of(id, *sample.bytes);
        if (is_unfit(id) && record.length <= table.kept.room[id]) {
            keep_read(id, *sample.bytes, false);
        } else if (is_unfit(id)) {
            arena.refuse(id);
        }  // else memory was short, which was counted
    }

    void keep_in_block(std::uint64_t id, std::uint32_t num_pieces, const ReadySample& sample) {
        const SampleBytes& bytes = *sample.bytes;
        ByteBuffer joined;
        if (bytes.num_joined == 0) {
            joined = join_sample(table, id, num_pieces, bytes);
        } else {
            joined.append(bytes.data.data(), bytes.data.size());
            joined.resize(bytes.data.size() + kSamplePadding);
            num_pieces = bytes.num_joined;
        }
        arena.put(id, own(id, std::move(joined), num_pieces), false);
    }

    // A sample that was to be kept has ended, well or not: the batches that count on it go on.
    void settle_kept(std::uint64_t id) noexcept {
        for (BatchPlace& place : being_kept.settle(id)) {
            std::shared_ptr<const SampleBytes> kept = arena.find(id).bytes;
            keep_next(*place.batch, place.position);
            drop_now(*place.batch, place.position);
            if (is_enough(*place.batch, id, kept.get())) {
                ready.push({std::move(place.batch), place.position, std::move(kept)});
            } else {
                place.batch->lose_hit();
                fetch_alone(place);
            }
        }
    }

    // A batch that waited keeps the sample in its turn: those after it wait for that.
    void keep_next(const Batch& batch, std::uint32_t position) noexcept {
        if (batch.keeping(position) != Keeping::keep) return;
        try {
            (void)being_kept.expect(batch.wish().ids[position]);
        } catch (const std::exception&) {
            // Without memory to note it, a later batch may read the sample again, or find it for one epoch more.
        }
    }

    void settle_all_kept(const Batch& batch) noexcept {
        for (std::size_t i = 0; i < batch.wish().keeping.size(); ++i) {
            if (batch.keeping(i) == Keeping::keep) settle_kept(batch.wish().ids[i]);
        }
    }

    void end_samples(Batch& batch, std::span<const std::uint32_t> positions) noexcept {
        bool is_last = false;
        for (const std::uint32_t position : positions) {
            if (batch.keeping(position) == Keeping::keep) settle_kept(batch.wish().ids[position]);
            num_open.fetch_sub(1, std::memory_order_relaxed);
            is_last = batch.end_sample();
        }
        if (!is_last) return;
        // The lock makes sure that a waiting thread either sees the batch done or is asleep when we wake it.
        const std::lock_guard lock(done_mutex);
        batch_done.notify_all();
    }

    const SampleTable table;
    const bool whole_files;
    std::shared_ptr<MemoryGauge> gauge = std::make_shared<MemoryGauge>();
    const SlotSource slots;
    Arena arena;
    Expected expected;
    Expected being_kept;  // samples of batches under way that will be in memory, and who of later batches needs them
    MemoryAccount read_memory;
    MemoryAccount scratch_memory;
    const std::shared_ptr<ByteStore> files;
    const std::uint64_t max_read_bytes;
    const ReadSink on_read;
    ReadStage reading;
    ReadyQueue ready;
    SampleDecoder decoder;
    std::vector<std::atomic<std::uint8_t>> unfit;  // a bit a sample
    StageClock decode_clock;
    TallySum tallies;
    std::atomic<std::uint64_t> num_failed{0};
    std::atomic<std::uint64_t> num_batches{0};
    std::atomic<std::size_t> num_open{0};  // samples of batches under way
    std::mutex done_mutex;
    std::condition_variable batch_done;
    bool closed = false;
    std::mutex closing_mutex;
    std::shared_ptr<Job> read_job;
    std::shared_ptr<Job> decode_job;
    // Last: their threads end before anything they use goes.
    std::unique_ptr<ThreadPool> read_threads;
    std::unique_ptr<ThreadPool> decode_threads;
};

Pipeline::Pipeline(SampleTable table, TransformProgram program, const PipelineOptions& options)
    : state_(std::move(table), std::move(program), options) {}

Pipeline::~Pipeline() = default;

void Pipeline::close() noexcept {
    if (state_.is_here()) state_.get().close();
}

std::shared_ptr<Batch> Pipeline::submit(BatchWish wish) {
    State& state = state_.get();
    state.check_ids(wish.ids);
    state.check_ids(wish.ahead);
    if (wish.tally == nullptr) wish.tally = state.tallies.own();
    auto batch = std::make_shared<Batch>(std::move(wish), state.num_batches++, state.table.fields.size(), state.slots);
    std::vector<std::uint32_t> positions(batch->wish().ids.size());
    std::iota(positions.begin(), positions.end(), 0u);
    state.open_samples(positions.size());
    try {
        state.read_ahead(batch);
        state.start(batch, positions);
    } catch (...) {
        batch->cancel();  // the caller will not wait for it
        state.settle_all_kept(*batch);
        throw;
    }
    return batch;
}

void Pipeline::resubmit(const std::shared_ptr<Batch>& batch, const std::vector<std::size_t>& positions,
                        const std::vector<std::uint64_t>& ids) {
    State& state = state_.get();
    state.check_ids(ids);
    const std::vector<std::uint32_t> places(positions.begin(), positions.end());
    state.open_samples(places.size());
    batch->replace(positions, ids);
    try {
        state.start(batch, places);
    } catch (...) {
        batch->cancel();
        throw;
    }
}

bool Pipeline::wait_for(const Batch& batch, std::chrono::milliseconds timeout) {
    State& state = state_.get();
    {
        std::unique_lock lock(state.done_mutex);
        state.batch_done.wait_for(lock, timeout, [&] { return batch.is_done() || state.closed; });
        if (batch.is_done()) return true;
        if (state.closed) throw Error(ErrorCode::cancelled, "the loader is closed", "loader", "make a new one");
    }
    state.check_threads();
    return false;
}

std::uint64_t Pipeline::num_failed() const { return state_.get().num_failed.load(std::memory_order_relaxed); }

void Pipeline::clear_cache() { state_.get().arena.clear(); }

void Pipeline::retain_cache(const std::vector<std::uint64_t>& ids) { state_.get().arena.retain(ids); }

std::vector<std::uint64_t> Pipeline::kept_bytes(const std::vector<std::uint64_t>& ids) const {
    std::vector<std::uint64_t> held;
    for (const std::uint64_t id : ids) held.push_back(state_.get().arena.held_bytes(id));
    return held;
}

std::shared_ptr<Tally> Pipeline::open_tally() { return state_.get().tallies.open(); }

PipelineStats Pipeline::stats(const Tally* without) const {
    const State& state = state_.get();
    Tally total;
    state.tallies.add_to(total, without);
    PipelineStats stats;
    stats.bytes_read = total.reads.num_bytes.load(std::memory_order_relaxed);
    stats.num_reads = total.reads.num_reads.load(std::memory_order_relaxed);
    stats.num_retries = total.reads.num_retries.load(std::memory_order_relaxed);
    stats.num_decoded = total.num_decoded.load(std::memory_order_relaxed);
    stats.num_decodes_saved = total.num_decodes_saved.load(std::memory_order_relaxed);
    stats.num_recoded = total.num_recoded.load(std::memory_order_relaxed);
    for (const std::atomic<std::uint8_t>& bits : state.unfit) {
        stats.num_unfit += static_cast<std::uint64_t>(std::popcount(bits.load(std::memory_order_relaxed)));
    }
    stats.num_hits = total.num_hits.load(std::memory_order_relaxed);
    stats.cache_bytes = state.arena.held_bytes();
    stats.num_unkept = state.arena.num_refused();
    stats.read_busy_seconds = state.reading.clock().busy_seconds();
    stats.read_wait_seconds = state.reading.clock().waited_seconds();
    stats.decode_busy_seconds = state.decode_clock.busy_seconds();
    stats.decode_wait_seconds = state.decode_clock.waited_seconds();
    stats.memory_bytes = state.gauge->held_bytes();
    stats.peak_memory_bytes = state.gauge->peak_bytes();
    stats.io_engine = state.reading.engine_name();
    stats.io_direct = state.files->alignment() > 1;
    stats.uring_refusal = state.reading.ring_refusal();
    return stats;
}

ReadFaults& Pipeline::faults() { return state_.get().reading.faults(); }

}  // namespace penstock
