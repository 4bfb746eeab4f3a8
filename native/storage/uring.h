// io_uring by its system calls: many reads under way from one thread. Three calls and two shared rings do not
// need a library, and a kernel that refuses them is found out here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace penstock {

/// A ring for reads. Used by one thread at a time.
class Uring {
  public:
    struct Completion {
        std::uint64_t token;
        int result;  ///< bytes read, or -errno
    };

    /// Null if this kernel has none, or a sysctl or a seccomp filter (containers) forbids it; `refusal` is then its
    /// errno. `depth` is the most reads under way.
    [[nodiscard]] static std::unique_ptr<Uring> open(unsigned depth, int& refusal);
    ~Uring();
    Uring(const Uring&) = delete;
    Uring& operator=(const Uring&) = delete;

    [[nodiscard]] unsigned depth() const noexcept { return depth_; }
    /// Reads queued or under way.
    [[nodiscard]] unsigned num_pending() const noexcept { return num_pending_; }

    /// Queues a read; there must be room: `num_pending() < depth()`. `out` must live until its completion.
    void queue_read(int descriptor, std::uint64_t offset, std::span<std::uint8_t> out, std::uint64_t token);

    /// Hands queued reads to the kernel and waits for at least one completion; gives all that have arrived.
    /// There must be a read pending.
    void wait(std::vector<Completion>& completions);

    /// Waits for all reads in flight, even if the ring itself fails, and drops queued ones. Afterwards nothing writes
    /// into their memory.
    void drain() noexcept;

  private:
    struct Rings;
    /// Appends what has arrived. Without room for it in `completions`, throws and takes nothing of the rest.
    void take_arrived(std::vector<Completion>& completions);
    /// One system call: submits what is queued, waits for `at_least` completions. Its errno, or 0.
    [[nodiscard]] int enter(unsigned at_least) noexcept;
    Uring(int descriptor, unsigned depth, std::unique_ptr<Rings> rings);

    int descriptor_;
    unsigned depth_;
    unsigned num_pending_ = 0;
    unsigned num_queued_ = 0;
    std::unique_ptr<Rings> rings_;
};

}  // namespace penstock
