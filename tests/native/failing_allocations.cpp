#include "failing_allocations.h"

#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

// glibc's own allocator, under the names that it keeps for whoever replaces the usual ones.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* block);
}

namespace {

using failing_allocations::Mode;

constexpr int kMaxFrames = 24;
constexpr int kCallerFrames = 10;
constexpr std::size_t kSlots = std::size_t{1} << 16;  // far more than any run has at a time

struct Stack {
    void* frames[kMaxFrames];
    int depth = 0;

    void take() { depth = ::backtrace(frames, kMaxFrames); }
    void tell() const { ::backtrace_symbols_fd(frames, depth, STDERR_FILENO); }
};

std::atomic<std::size_t> counted{0};
std::atomic<std::size_t> failing{0};  // 0: none
std::atomic<bool> is_counting{false};
std::atomic<bool> goes_on{false};
std::atomic<bool> reached{false};
std::atomic<bool> is_watching{false};
bool wants_stacks = false;  // of every block: slow, for whoever looks for a leak
std::uintptr_t loader_begin = 0;
std::uintptr_t loader_end = 0;
Stack failed_at;

// Blocks that were allocated in this run: open addressing, in memory that nobody allocates.
struct Watched {
    void* block;
    void* callers[kCallerFrames];
    int depth;
    std::size_t number;
};

class Spin {
  public:
    void lock() noexcept {
        while (flag_.test_and_set(std::memory_order_acquire)) continue;
    }
    void unlock() noexcept { flag_.clear(std::memory_order_release); }

  private:
    std::atomic_flag flag_;
};

Spin watched_lock;
Watched watched[kSlots];
std::size_t num_watched = 0;

std::size_t slot_of(const void* block) {
    return (reinterpret_cast<std::uintptr_t>(block) >> 4) * 0x9E3779B97F4A7C15u >> 48 & (kSlots - 1);
}

// What the dynamic loader keeps for a thread's stack stays with that stack, which the C library uses again.
bool is_loader(void* caller) {
    const auto address = reinterpret_cast<std::uintptr_t>(caller);
    return address >= loader_begin && address < loader_end;
}

void watch(void* block, void* caller) {
    if (block == nullptr || !is_watching.load(std::memory_order_relaxed) || is_loader(caller)) return;
    const std::lock_guard lock(watched_lock);
    if (++num_watched == kSlots) std::abort();
    std::size_t slot = slot_of(block);
    while (watched[slot].block != nullptr) slot = (slot + 1) & (kSlots - 1);
    Watched& entry = watched[slot];
    entry.block = block;
    entry.callers[0] = caller;
    entry.depth = wants_stacks ? ::backtrace(entry.callers, kCallerFrames) : 1;
    entry.number = counted.load(std::memory_order_relaxed);
}

void forget(void* block) {
    if (block == nullptr || !is_watching.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(watched_lock);
    std::size_t slot = slot_of(block);
    while (watched[slot].block != block) {
        if (watched[slot].block == nullptr) return;  // older than this run
        slot = (slot + 1) & (kSlots - 1);
    }
    --num_watched;
    // Whoever stands behind and would like to stand here moves up.
    for (std::size_t next = (slot + 1) & (kSlots - 1); watched[next].block != nullptr;
         next = (next + 1) & (kSlots - 1)) {
        const std::size_t home = slot_of(watched[next].block);
        if (((next - home) & (kSlots - 1)) >= ((next - slot) & (kSlots - 1))) {
            watched[slot] = watched[next];
            slot = next;
        }
    }
    watched[slot].block = nullptr;
}

bool must_fail() {
    if (!is_counting.load(std::memory_order_relaxed)) return false;
    const std::size_t number = counted.fetch_add(1, std::memory_order_relaxed) + 1;
    const std::size_t index = failing.load(std::memory_order_relaxed);
    if (index == 0 || number < index || (number > index && !goes_on.load(std::memory_order_relaxed))) return false;
    if (number == index) {
        failed_at.take();
        reached.store(true, std::memory_order_release);
    }
    errno = ENOMEM;
    return true;
}

int find_loader(dl_phdr_info* object, std::size_t, void*) {
    if (std::strstr(object->dlpi_name, "/ld-") == nullptr) return 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const auto& part = object->dlpi_phdr[i];
        if (part.p_type != PT_LOAD) continue;
        if (loader_begin == 0) loader_begin = object->dlpi_addr + part.p_vaddr;
        loader_end = object->dlpi_addr + part.p_vaddr + part.p_memsz;
    }
    return 1;
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
    if (must_fail()) return nullptr;
    void* block = __libc_malloc(size);
    watch(block, __builtin_return_address(0));
    return block;
}

void* calloc(std::size_t count, std::size_t size) {
    if (must_fail()) return nullptr;
    void* block = __libc_calloc(count, size);
    watch(block, __builtin_return_address(0));
    return block;
}

void* realloc(void* block, std::size_t size) {
    if (must_fail()) return nullptr;
    forget(block);
    void* grown = __libc_realloc(block, size);
    watch(grown, __builtin_return_address(0));
    return grown;
}

void* memalign(std::size_t alignment, std::size_t size) {
    if (must_fail()) return nullptr;
    void* block = __libc_memalign(alignment, size);
    watch(block, __builtin_return_address(0));
    return block;
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
    if (must_fail()) return nullptr;
    void* block = __libc_memalign(alignment, size);
    watch(block, __builtin_return_address(0));
    return block;
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
    if (must_fail()) return ENOMEM;
    *out = __libc_memalign(alignment, size);
    watch(*out, __builtin_return_address(0));
    return *out == nullptr ? ENOMEM : 0;
}

void free(void* block) {
    forget(block);
    const int kept = errno;
    __libc_free(block);
    errno = kept;
}

void* mmap(void* where, std::size_t size, int protection, int flags, int descriptor, off_t offset) {
    if (must_fail()) return MAP_FAILED;
    return reinterpret_cast<void*>(::syscall(SYS_mmap, where, size, protection, flags, descriptor, offset));
}

}  // extern "C"

namespace failing_allocations {

void prepare() {
    ::dl_iterate_phdr(&find_loader, nullptr);
    wants_stacks = std::getenv("PENSTOCK_ALLOCATION_STACKS") != nullptr;
    failed_at.take();  // loads what it needs, once
}

void begin(std::size_t index, Mode mode) {
    if (std::exchange(num_watched, 0) != 0) std::memset(watched, 0, sizeof watched);
    counted.store(0);
    reached.store(false);
    failing.store(index);
    goes_on.store(mode == Mode::from_then_on);
    is_watching.store(true);
    is_counting.store(true);
}

void pause() { is_counting.store(false); }

void resume() { is_counting.store(true); }

std::size_t end() {
    is_counting.store(false);
    is_watching.store(false);
    return num_watched;
}

std::size_t num_counted() { return counted.load(); }

bool has_failed() { return reached.load(std::memory_order_acquire); }

void tell_failure() {
    char line[96];
    const int length = std::snprintf(line, sizeof line, "allocation %zu was to fail%s\n", failing.load(),
                                     goes_on.load() ? ", and all that follow" : "");
    (void)!::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
    if (has_failed()) failed_at.tell();
}

void tell_leaks() {
    int told = 0;
    for (const Watched& one : watched) {
        if (one.block == nullptr || ++told > 8) continue;
        std::fprintf(stderr, "not freed: a block allocated after number %zu by\n", one.number);
        ::backtrace_symbols_fd(one.callers, one.depth, STDERR_FILENO);
    }
}

}  // namespace failing_allocations
