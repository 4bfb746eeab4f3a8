#include "storage/uring.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "storage/system_error.h"

namespace penstock {

namespace {

// Memory shared with the kernel.
class Mapping {
  public:
    Mapping() = default;
    Mapping(int descriptor, std::size_t size, std::uint64_t what)
        : size_(size),
          data_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor,
                       static_cast<off_t>(what))) {}
    Mapping(Mapping&& other) noexcept
        : size_(other.size_), data_(std::exchange(other.data_, static_cast<void*>(MAP_FAILED))) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(size_, other.size_);
        std::swap(data_, other.data_);
        return *this;
    }
    ~Mapping() {
        if (is_there()) ::munmap(data_, size_);
    }

    [[nodiscard]] bool is_there() const noexcept { return data_ != MAP_FAILED; }
    template <typename T>
    [[nodiscard]] T* at(std::size_t offset) const noexcept {
        return reinterpret_cast<T*>(static_cast<std::uint8_t*>(data_) + offset);
    }

  private:
    std::size_t size_ = 0;
    void* data_ = MAP_FAILED;
};

unsigned load_acquire(unsigned* word) { return std::atomic_ref(*word).load(std::memory_order_acquire); }
void store_release(unsigned* word, unsigned value) { std::atomic_ref(*word).store(value, std::memory_order_release); }

void pause() noexcept {
    const timespec a_millisecond{0, 1'000'000};
    ::nanosleep(&a_millisecond, nullptr);
}

}  // namespace

struct Uring::Rings {
    Mapping shared;
    Mapping entries;
    unsigned* submit_tail;
    unsigned submit_mask;
    unsigned* submit_slots;
    io_uring_sqe* requests;
    unsigned* done_head;
    unsigned* done_tail;
    unsigned done_mask;
    io_uring_cqe* completions;

    static std::unique_ptr<Rings> map(int descriptor, const io_uring_params& parameters) {
        const std::size_t size =
            std::max<std::size_t>(parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned),
                                  parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe));
        auto rings = std::make_unique<Rings>();
        rings->shared = Mapping(descriptor, size, IORING_OFF_SQ_RING);
        rings->entries = Mapping(descriptor, parameters.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
        if (!rings->shared.is_there() || !rings->entries.is_there()) return nullptr;
        rings->submit_tail = rings->shared.at<unsigned>(parameters.sq_off.tail);
        rings->submit_mask = *rings->shared.at<unsigned>(parameters.sq_off.ring_mask);
        rings->submit_slots = rings->shared.at<unsigned>(parameters.sq_off.array);
        rings->requests = rings->entries.at<io_uring_sqe>(0);
        rings->done_head = rings->shared.at<unsigned>(parameters.cq_off.head);
        rings->done_tail = rings->shared.at<unsigned>(parameters.cq_off.tail);
        rings->done_mask = *rings->shared.at<unsigned>(parameters.cq_off.ring_mask);
        rings->completions = rings->shared.at<io_uring_cqe>(parameters.cq_off.cqes);
        return rings;
    }
};

std::unique_ptr<Uring> Uring::open(unsigned depth, int& refusal) {
    io_uring_params parameters{};
    const long descriptor = ::syscall(SYS_io_uring_setup, depth, &parameters);
    if (descriptor < 0) {
        refusal = errno;
        return nullptr;
    }
    // Linux 5.6: the first with IORING_OP_READ; it has one mapping for both rings.
    const unsigned needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_RW_CUR_POS;
    const bool is_recent = (parameters.features & needed) == needed;
    std::unique_ptr<Rings> rings = is_recent ? Rings::map(static_cast<int>(descriptor), parameters) : nullptr;
    if (rings == nullptr) {
        refusal = is_recent ? ENOMEM : ENOSYS;
        ::close(static_cast<int>(descriptor));
        return nullptr;
    }
    refusal = 0;
    return std::unique_ptr<Uring>(new Uring(static_cast<int>(descriptor), depth, std::move(rings)));
}

Uring::Uring(int descriptor, unsigned depth, std::unique_ptr<Rings> rings)
    : descriptor_(descriptor), depth_(depth), rings_(std::move(rings)) {}

// The kernel writes into the buffers of reads under way: they must not be freed before the reads have ended.
Uring::~Uring() {
    drain();
    rings_.reset();
    ::close(descriptor_);
}

void Uring::drain() noexcept {
    // What the kernel was never handed is not under way.
    num_pending_ -= std::exchange(num_queued_, 0);
    while (true) {
        const unsigned tail = load_acquire(rings_->done_tail);
        num_pending_ -= tail - *rings_->done_head;
        store_release(rings_->done_head, tail);
        if (num_pending_ == 0) return;
        // A ring that refuses to wait still gets its completions: closing it would cancel them at some later time.
        if (const int error = enter(1); error != 0 && error != EINTR) pause();
    }
}

void Uring::queue_read(int descriptor, std::uint64_t offset, std::span<std::uint8_t> out, std::uint64_t token) {
    const unsigned tail = *rings_->submit_tail;  // only we write it
    const unsigned slot = tail & rings_->submit_mask;
    io_uring_sqe& request = rings_->requests[slot];
    std::memset(&request, 0, sizeof request);
    request.opcode = IORING_OP_READ;
    request.fd = descriptor;
    request.off = offset;
    request.addr = reinterpret_cast<std::uint64_t>(out.data());
    request.len = static_cast<std::uint32_t>(std::min<std::size_t>(out.size(), std::size_t{1} << 30));
    request.user_data = token;
    rings_->submit_slots[slot] = slot;
    store_release(rings_->submit_tail, tail + 1);
    ++num_queued_;
    ++num_pending_;
}

void Uring::take_arrived(std::vector<Completion>& completions) {
    unsigned head = *rings_->done_head;  // only we write it
    const unsigned tail = load_acquire(rings_->done_tail);
    for (; head != tail; ++head) {
        const io_uring_cqe& done = rings_->completions[head & rings_->done_mask];
        completions.push_back({done.user_data, done.res});
        --num_pending_;
    }
    store_release(rings_->done_head, head);
}

int Uring::enter(unsigned at_least) noexcept {
    const long submitted =
        ::syscall(SYS_io_uring_enter, descriptor_, num_queued_, at_least, IORING_ENTER_GETEVENTS, nullptr, 0);
    if (submitted < 0) return errno;
    num_queued_ -= static_cast<unsigned>(submitted);
    return 0;
}

void Uring::wait(std::vector<Completion>& completions) {
    completions.clear();
    for (;;) {
        take_arrived(completions);
        if (!completions.empty() && num_queued_ == 0) return;
        const int error = enter(completions.empty() ? 1 : 0);
        if (error == 0 || error == EINTR || error == EAGAIN || error == EBUSY) continue;
        throw_storage_error(ErrorCode::read_failed, "wait for reads", "io_uring", error);
    }
}

}  // namespace penstock
