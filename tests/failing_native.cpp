// Preloaded by tests/stress/test_python_allocations.py: fails an allocation that Penstock's extension asks for, or an
// image library on its behalf. Python's own allocations are left alone, and all that are made with the GIL held:
// nanobind converts arguments in functions that may not throw. What they do not reach, tests/native/allocation_test.cpp
// does.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* block);
}

namespace {

struct Range {
    std::uintptr_t begin, end;
};
constexpr int kMaxRanges = 16;
Range ranges[kMaxRanges];
int num_ranges = 0;
std::atomic<std::size_t> counted{0}, failing{0};
std::atomic<bool> is_counting{false}, goes_on{false};
int (*holds_gil)() = nullptr;

int find_library(dl_phdr_info* object, std::size_t, void*) {
    static constexpr const char* names[] = {"/_native.", "/libjpeg.", "/libwebp.", "/libdeflate."};
    bool is_ours = false;
    for (const char* name : names) is_ours = is_ours || std::strstr(object->dlpi_name, name) != nullptr;
    for (int i = 0; is_ours && i < object->dlpi_phnum && num_ranges < kMaxRanges; ++i) {
        const auto& part = object->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
        const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
        ranges[num_ranges++] = {begin, begin + part.p_memsz};
    }
    return 0;
}

bool must_fail(void* caller) {
    if (!is_counting.load(std::memory_order_relaxed)) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(caller);
    bool is_ours = false;
    for (int i = 0; i < num_ranges; ++i) is_ours = is_ours || (address >= ranges[i].begin && address < ranges[i].end);
    if (!is_ours || holds_gil() != 0) return false;
    const std::size_t number = counted.fetch_add(1) + 1;
    const std::size_t index = failing.load(std::memory_order_relaxed);
    const bool fails = index != 0 && (number == index || (number > index && goes_on.load(std::memory_order_relaxed)));
    if (fails) errno = ENOMEM;
    return fails;
}

void* new_block(std::size_t alignment, std::size_t size, void* caller) {
    void* block = must_fail(caller) ? nullptr
                  : alignment == 0  ? __libc_malloc(size == 0 ? 1 : size)
                                    : __libc_memalign(alignment, size);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

}  // namespace

extern "C" {

// Number `index` (from 1 on, 0 for none) fails; with `all`, those behind it too.
void penstock_fail_begin(std::size_t index, int all) {
    num_ranges = 0;
    holds_gil = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "PyGILState_Check"));
    ::dl_iterate_phdr(&find_library, nullptr);
    counted.store(0);
    failing.store(index);
    goes_on.store(all != 0);
    is_counting.store(true);
}

// Gives the number of allocations counted.
std::size_t penstock_fail_end() {
    is_counting.store(false);
    return counted.load();
}

void* malloc(std::size_t size) { return must_fail(__builtin_return_address(0)) ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) {
    return must_fail(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) {
    return must_fail(__builtin_return_address(0)) ? nullptr : __libc_realloc(block, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return must_fail(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
    *out = must_fail(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
    return *out == nullptr ? ENOMEM : 0;
}

}  // extern "C"

void* operator new(std::size_t size) { return new_block(0, size, __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return new_block(0, size, __builtin_return_address(0)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return new_block(static_cast<std::size_t>(alignment), size, __builtin_return_address(0));
}
void operator delete(void* block) noexcept { __libc_free(block); }
void operator delete[](void* block) noexcept { __libc_free(block); }
void operator delete(void* block, std::size_t) noexcept { __libc_free(block); }
void operator delete[](void* block, std::size_t) noexcept { __libc_free(block); }
void operator delete(void* block, std::align_val_t) noexcept { __libc_free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { __libc_free(block); }
