// Preloaded by tests/unit/load/test_endings.py: once told to, refuses memory for thread-local variables to threads of
// Penstock's. glibc allocates it at a thread's first use of such a variable, and ends the process where it gets none.
// In C: a preloaded C++ library would bring libstdc++ along, whose variables would then never be allocated late.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

void* __libc_malloc(size_t size);

static volatile int is_armed = 0;

void penstock_refuse_thread_locals(void) { is_armed = 1; }

static int is_the_loader(void* caller) {
    Dl_info found;
    return dladdr(caller, &found) != 0 && found.dli_fname != NULL && strstr(found.dli_fname, "/ld-linux") != NULL;
}

void* malloc(size_t size) {
    char name[16] = "";
    if (!is_armed || pthread_getname_np(pthread_self(), name, sizeof name) != 0) return __libc_malloc(size);
    if (strncmp(name, "penstock-", 9) != 0 || !is_the_loader(__builtin_return_address(0))) return __libc_malloc(size);
    return NULL;
}
