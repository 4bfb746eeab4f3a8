#include "engine/read_stage.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "storage/system_error.h"

namespace penstock {

namespace {

// Of the memory for reads, as much again is kept by the pool between them; the loader's budget counts it.
constexpr std::size_t kIdleShare = 8;

}  // namespace

ReadStage::ReadStage(ByteStore& files, MemoryAccount& memory, bool whole_files, const ReadOptions& options,
                     ReadSink sink)
    : files_(files),
      memory_(memory),
      whole_files_(whole_files),
      num_readers_(options.num_readers),
      sink_(std::move(sink)),
      fetches_(std::numeric_limits<std::size_t>::max()),
      pool_(memory.limit_bytes() / kIdleShare),
      faults_(options.limit) {
    // A read that waits at a limit should not hold up the reads behind it.
    if (!whole_files && options.allow_uring && options.limit == nullptr && files.has_descriptors())
        ring_ = Uring::open(options.ring_depth, ring_refusal_);
    uses_ring_ = ring_ != nullptr;
}

void ReadStage::close() {
    fetches_.close();
    memory_.close();
}

// What is read of a file for a fetch: on the grid of direct reads, if they are.
Extent ReadStage::extent_in(const ByteFile& file, const Extent& wish) const {
    if (wish.length != 0) return aligned(wish, file.alignment());
    if (!whole_files_) {
        throw Error(ErrorCode::corrupt, "the index lists a record of no bytes", file.path(),
                    "restore the index, or build the dataset again");
    }
    if (file.size() != 0) return aligned({wish.file, 0, file.size()}, file.alignment());
    throw Error(ErrorCode::read_failed, "the file is empty", file.path(), "restore it from its source, or remove it");
}

void ReadStage::check_room(std::size_t bytes, const std::string& path) const {
    if (bytes <= memory_.limit_bytes()) return;
    throw Error(ErrorCode::too_large,
                "a read of " + std::to_string(bytes) + " bytes is more than the " +
                    std::to_string(memory_.limit_bytes()) + " bytes that the loader has for reads",
                path, "give the loader more memory");
}

// Memory for a read. Null if the stage closes, or if there is not enough of it now and we may not wait.
std::shared_ptr<Fetched> ReadStage::room_for(const ByteFile& file, const Extent& extent, bool may_wait) {
    const std::size_t bytes = ReadBlock::bytes_needed(extent, file.alignment());
    check_room(bytes, file.path());
    const bool is_ours = may_wait ? memory_.acquire(bytes) : memory_.try_acquire(bytes);
    if (!is_ours) return nullptr;
    return std::make_shared<Fetched>(MemoryLease(memory_, bytes), extent, file.alignment(), pool_);
}

void ReadStage::deliver(const Fetch& fetch, const std::shared_ptr<Fetched>& bytes) {
    const ReadBlock& block = bytes->block;
    bytes->bytes = {block.extent(), block.bytes(block.extent().offset, block.extent().length)};
    bytes->bytes.num_joined = fetch.parts.empty() ? 0 : 1;
    sink_.read(fetch, std::shared_ptr<const SampleBytes>(bytes, &bytes->bytes));
}

// The parts of a sample, read one after the other. One lease covers the joined bytes and the largest of the reads, so
// that no thread waits for memory while it holds some.
std::shared_ptr<Fetched> ReadStage::read_parts(const Fetch& fetch, StageWatch& watch) {
    std::vector<std::shared_ptr<const ByteFile>> files;
    std::size_t total = 0;
    std::size_t most = 0;
    for (const Extent& part : fetch.parts) {
        const ByteFile& file = *files.emplace_back(files_.open(part.file));
        total += part.length;
        most = std::max(most, ReadBlock::bytes_needed(extent_in(file, part), file.alignment()));
    }
    const Extent joined{fetch.extent.file, 0, total};
    check_room(total + most, files.back()->path());
    watch.began_waiting();
    const bool is_ours = memory_.acquire(total + most);
    watch.began_working();
    if (!is_ours) return nullptr;  // the stage closes
    auto bytes = std::make_shared<Fetched>(MemoryLease(memory_, total + most), joined, 1, pool_);
    for (std::size_t i = 0; i < fetch.parts.size(); ++i) {
        const Extent& part = fetch.parts[i];
        ReadBlock block(extent_in(*files[i], part), files[i]->alignment(), pool_);
        read_block(*files[i], block, faults_, fetch.batch->tally().reads);
        const ByteView found = block.bytes(part.offset, part.length);
        if (found.size() < part.length) {
            throw Error(ErrorCode::read_failed, "the file is shorter than it was when it was listed", files[i]->path(),
                        "restore it, or open the source again");
        }
        std::memcpy(bytes->block.room().data(), found.data(), found.size());
        bytes->block.add_filled(found.size());
    }
    return bytes;
}

void ReadStage::read_now(const Fetch& fetch, StageWatch& watch) {
    std::shared_ptr<Fetched> bytes;
    try {
        if (!fetch.parts.empty()) {
            bytes = read_parts(fetch, watch);
            if (bytes != nullptr) deliver(fetch, bytes);
            return;
        }
        const std::shared_ptr<const ByteFile> file = files_.open(fetch.extent.file);
        watch.began_waiting();
        bytes = room_for(*file, extent_in(*file, fetch.extent), true);
        watch.began_working();
        if (bytes == nullptr) return;  // the stage closes
        read_block(*file, bytes->block, faults_, fetch.batch->tally().reads);
    } catch (const std::exception&) {
        watch.began_working();
        return sink_.failed(fetch, std::current_exception());
    }
    deliver(fetch, bytes);
}

void ReadStage::run_thread() {
    StageWatch watch(clock_);
    while (const std::optional<Fetch> fetch = fetches_.pop()) {
        watch.began_working();
        if (fetch->batch->is_cancelled()) {
            sink_.dropped(*fetch);
        } else {
            read_now(*fetch, watch);
        }
        watch.began_waiting();
    }
}

// One thread's work on the ring: as many reads under way as fit, completions handed on as they come.
class ReadStage::RingRun {
  public:
    RingRun(ReadStage& stage, std::unique_ptr<Uring> ring)
        : stage_(stage), watch_(stage.clock_), pending_(ring->depth()), ring_(std::move(ring)) {
        for (std::size_t slot = 0; slot < pending_.size(); ++slot) free_.push_back(slot);
        completions_.reserve(pending_.size());
    }

    // False if the ring broke: reads in flight are done by then, and the plain way reads the rest.
    [[nodiscard]] bool run() {
        while (start_reads()) {
            if (ring_->num_pending() == 0) continue;
            watch_.began_waiting();
            try {
                ring_->wait(completions_);
            } catch (const Error&) {
                leave_ring();
                return false;
            }
            watch_.began_working();
            for (const Uring::Completion& done : completions_) finish(done.token, done.result);
        }
        return true;
    }

  private:
    struct Pending {
        Fetch fetch;
        std::shared_ptr<const ByteFile> file;
        std::shared_ptr<Fetched> bytes;
    };

    // Queues what there is room for; waits only if nothing is under way. False when the stage closes.
    bool start_reads() {
        while (!free_.empty()) {
            const bool is_idle = ring_->num_pending() == 0;
            if (!next_) {
                if (is_idle) watch_.began_waiting();
                next_ = is_idle ? stage_.fetches_.pop() : stage_.fetches_.try_pop();
                if (is_idle) watch_.began_working();
                if (!next_) return !is_idle;
            }
            if (next_->batch->is_cancelled()) {
                stage_.sink_.dropped(*std::exchange(next_, std::nullopt));
                continue;
            }
            if (!start_next(is_idle)) return !is_idle;
        }
        return true;
    }

    // False if there is no memory for it now, or the stage closes.
    bool start_next(bool may_wait) {
        Pending pending;
        int fault = 0;
        try {
            pending.file = stage_.files_.open(next_->extent.file);
            pending.bytes = stage_.room_for(*pending.file, stage_.extent_in(*pending.file, next_->extent), may_wait);
            if (pending.bytes == nullptr) return false;
            fault = stage_.faults_.before_read(next_->extent.file, pending.bytes->block.extent().length);
        } catch (const Error& error) {
            if (is_out_of_descriptors(error) && !may_wait) return false;  // reads under way will give theirs back
            stage_.sink_.failed(*std::exchange(next_, std::nullopt), std::current_exception());
            return true;
        } catch (const std::exception&) {
            stage_.sink_.failed(*std::exchange(next_, std::nullopt), std::current_exception());
            return true;
        }
        pending.fetch = *std::exchange(next_, std::nullopt);
        if (fault != 0) {
            read_again(pending, fault);
            return true;
        }
        const std::size_t slot = free_.back();
        free_.pop_back();
        pending_[slot] = std::move(pending);
        queue(slot);
        return true;
    }

    void queue(std::size_t slot) {
        const Pending& pending = pending_[slot];
        const ReadBlock& block = pending.bytes->block;
        ring_->queue_read(pending.file->descriptor(), block.position(), block.room(), slot);
    }

    void finish(std::size_t slot, int result) {
        Pending& pending = pending_[slot];
        ReadBlock& block = pending.bytes->block;
        if (result > 0) block.add_filled(static_cast<std::size_t>(result));
        const bool on_the_grid = result > 0 && static_cast<std::uint64_t>(result) % pending.file->alignment() == 0;
        if (on_the_grid && !block.room().empty()) {
            queue(slot);
            return;
        }
        Pending ended = std::exchange(pending, Pending{});
        free_.push_back(slot);
        if (result < 0) {
            read_again(ended, -result);
            return;
        }
        ReadCounters& counters = ended.fetch.batch->tally().reads;
        counters.num_reads.fetch_add(1, std::memory_order_relaxed);
        counters.num_bytes.fetch_add(ended.bytes->block.filled(), std::memory_order_relaxed);
        ended.file->drop(ended.fetch.extent.offset, ended.fetch.extent.length);
        stage_.deliver(ended.fetch, ended.bytes);
    }

    // A read that the disk failed goes the plain way, which tries again and tells what is wrong.
    void read_again(Pending& pending, int fault) {
        ReadCounters& counters = pending.fetch.batch->tally().reads;
        try {
            if (!is_passing_fault(fault)) {
                throw_storage_error(ErrorCode::read_failed, "read", pending.file->path(), fault);
            }
            counters.num_retries.fetch_add(1, std::memory_order_relaxed);
            read_block(*pending.file, pending.bytes->block, stage_.faults_, counters);
        } catch (const std::exception&) {
            return stage_.sink_.failed(pending.fetch, std::current_exception());
        }
        stage_.deliver(pending.fetch, pending.bytes);
    }

    // The ring failed, not a read: all that were under way are read the plain way.
    void leave_ring() {
        ring_.reset();  // waits for them: the kernel writes into their memory
        for (Pending& pending : pending_) {
            if (pending.bytes != nullptr) read_again(pending, EAGAIN);
            pending = Pending{};
        }
        if (next_) stage_.read_now(*std::exchange(next_, std::nullopt), watch_);
    }

    ReadStage& stage_;
    StageWatch watch_;
    std::vector<Pending> pending_;
    std::vector<std::size_t> free_;
    std::vector<Uring::Completion> completions_;
    std::optional<Fetch> next_;
    std::unique_ptr<Uring> ring_;  // last: it goes first, and waits for the reads whose memory `pending_` holds
};

void ReadStage::run() {
    if (uses_ring_ && RingRun(*this, std::move(ring_)).run()) return;
    run_thread();
}

}  // namespace penstock
