/* LD_PRELOAD library of the disk harnesses (tests/disk_harness.py): sees every call of libc that changes a folder of
   ours.

   arm() says which folder, what to do at which call (kill the process, or fail), and where to write a log of all calls,
   with the bytes of every write, from which tests/power_cut.py rebuilds what a power cut may leave.

   One lock is held over each call and its line of the log: the order of the log is the order on the disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAX_DESCRIPTORS = 65536 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static int is_armed;
static long count, chosen; /* the call that is disturbed; 0: none */
static int chosen_error;   /* 0: the process is killed, otherwise the call fails with it */
static int is_torn;        /* a write that is disturbed has half of its effect */
static int log_file = -1;
static unsigned char is_ours[MAX_DESCRIPTORS];

#define REAL(name) ((__typeof__(&name))real(#name))

static void* real(const char* name) {
    void* found = dlsym(RTLD_NEXT, name);
    if (found == NULL) abort();
    return found;
}

/* Raw system calls, so that the log does not see itself. */
static void put(const void* data, size_t size) {
    const char* bytes = data;
    while (size != 0) {
        const ssize_t written = syscall(SYS_write, log_file, bytes, size);
        if (written <= 0) abort();
        bytes += written;
        size -= (size_t)written;
    }
}

/* "kind descriptor result first second length\n" and that many bytes; names are in bytes of their own. */
static void note(const char* kind, int descriptor, long number, const char* first, const char* second, const void* data,
                 size_t size) {
    if (log_file < 0) return;
    char line[256];
    const int length = snprintf(line, sizeof line, "%s %d %ld %zu %zu %zu\n", kind, descriptor, number,
                                first ? strlen(first) : 0, second ? strlen(second) : 0, size);
    put(line, (size_t)length);
    if (first) put(first, strlen(first));
    if (second) put(second, strlen(second));
    if (size) put(data, size);
}

/* The absolute path without links in its folders; the last name stays as it is. */
static int resolve(int folder, const char* path, char* out) {
    char whole[PATH_MAX], parent[PATH_MAX];
    if (path[0] == '/') {
        snprintf(whole, sizeof whole, "%s", path);
    } else if (folder == AT_FDCWD) {
        char here[PATH_MAX];
        if (getcwd(here, sizeof here) == NULL) return 0;
        if (snprintf(whole, sizeof whole, "%s/%s", here, path) >= (int)sizeof whole) return 0;
    } else {
        char link[64], at[PATH_MAX];
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        const ssize_t length = readlink(link, at, sizeof at - 1);
        if (length < 0) return 0;
        at[length] = 0;
        if (snprintf(whole, sizeof whole, "%s/%s", at, path) >= (int)sizeof whole) return 0;
    }
    size_t end = strlen(whole);
    while (end > 1 && whole[end - 1] == '/') whole[--end] = 0;
    char* name = strrchr(whole, '/');
    if (name == NULL) return 0;
    *name++ = 0;
    if (realpath(whole[0] ? whole : "/", parent) == NULL) return 0;
    return snprintf(out, PATH_MAX, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, name) < PATH_MAX;
}

static int is_below(const char* path) {
    const size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int is_watched(int folder, const char* path, char* out) {
    return is_armed && resolve(folder, path, out) && is_below(out);
}

static int is_watched_descriptor(int descriptor) {
    return is_armed && descriptor >= 0 && descriptor < MAX_DESCRIPTORS && is_ours[descriptor];
}

/* Counts a call. At the chosen one: does not return, or gives the error to fail with. */
static int next_call(void) {
    ++count;
    if (count != chosen) return 0;
    if (chosen_error == 0) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    return chosen_error;
}

/* For the harness, by ctypes. */
void arm(const char* folder, long at, int error, int torn, const char* log_path) {
    pthread_mutex_lock(&lock);
    snprintf(root, sizeof root, "%s", folder);
    count = 0;
    chosen = at;
    chosen_error = error;
    is_torn = torn;
    memset(is_ours, 0, sizeof is_ours);
    log_file =
        log_path[0] ? (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    is_armed = 1;
    pthread_mutex_unlock(&lock);
}

long disarm(void) {
    pthread_mutex_lock(&lock);
    is_armed = 0;
    if (log_file >= 0) syscall(SYS_close, log_file);
    log_file = -1;
    const long seen = count;
    pthread_mutex_unlock(&lock);
    return seen;
}

#define FAIL_WITH(error)             \
    do {                             \
        pthread_mutex_unlock(&lock); \
        errno = (error);             \
        return -1;                   \
    } while (0)

#define DONE(result)                 \
    do {                             \
        const int saved = errno;     \
        pthread_mutex_unlock(&lock); \
        errno = saved;               \
        return (result);             \
    } while (0)

typedef int (*Openat)(int, const char*, int, ...);

static int open_watched(int folder, const char* path, int flags, mode_t mode) {
    const Openat openat_real = (Openat)real("openat64");
    char whole[PATH_MAX];
    if (!is_watched(folder, path, whole)) return openat_real(folder, path, flags, mode);
    pthread_mutex_lock(&lock);
    struct stat status;
    const int existed = lstat(whole, &status) == 0;
    const int creates = (flags & O_CREAT) != 0 && !existed;
    const int changes = creates || ((flags & O_TRUNC) != 0 && (flags & O_ACCMODE) != O_RDONLY);
    if (changes) {
        const int error = next_call();
        if (error) FAIL_WITH(error);
    }
    const int descriptor = openat_real(folder, path, flags, mode);
    if (descriptor >= 0 && descriptor < MAX_DESCRIPTORS) {
        is_ours[descriptor] = 1;
        note(creates ? "create" : changes ? "truncate_open" : "open", descriptor, flags, whole, NULL, NULL, 0);
    }
    DONE(descriptor);
}

static mode_t mode_of(int flags, va_list arguments) {
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

#define DEFINE_OPEN(name)                                 \
    int name(const char* path, int flags, ...) {          \
        va_list arguments;                                \
        va_start(arguments, flags);                       \
        const mode_t mode = mode_of(flags, arguments);    \
        va_end(arguments);                                \
        return open_watched(AT_FDCWD, path, flags, mode); \
    }
#define DEFINE_OPENAT(name)                                  \
    int name(int folder, const char* path, int flags, ...) { \
        va_list arguments;                                   \
        va_start(arguments, flags);                          \
        const mode_t mode = mode_of(flags, arguments);       \
        va_end(arguments);                                   \
        return open_watched(folder, path, flags, mode);      \
    }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
int __open_2(const char* path, int flags) { return open_watched(AT_FDCWD, path, flags, 0); }
int __open64_2(const char* path, int flags) { return open_watched(AT_FDCWD, path, flags, 0); }
int __openat_2(int folder, const char* path, int flags) { return open_watched(folder, path, flags, 0); }
int __openat64_2(int folder, const char* path, int flags) { return open_watched(folder, path, flags, 0); }
int creat(const char* path, mode_t mode) { return open_watched(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int close(int descriptor) {
    if (!is_watched_descriptor(descriptor)) return REAL(close)(descriptor);
    pthread_mutex_lock(&lock);
    is_ours[descriptor] = 0;
    note("close", descriptor, 0, NULL, NULL, NULL, 0);
    const int result = REAL(close)(descriptor);
    DONE(result);
}

/* The part of a write that still happens when it is disturbed: half, or nothing. */
static ssize_t write_watched(int descriptor, const void* data, size_t size, off_t offset, int is_positioned) {
    pthread_mutex_lock(&lock);
    const off_t at = is_positioned ? offset : lseek(descriptor, 0, SEEK_CUR);
    if (count + 1 == chosen && is_torn && size > 1) {
        const ssize_t half = REAL(pwrite64)(descriptor, data, size / 2, at);
        if (half > 0) note("write", descriptor, (long)at, NULL, NULL, data, (size_t)half);
    }
    const int error = next_call();
    if (error) FAIL_WITH(error);
    const ssize_t written =
        is_positioned ? REAL(pwrite64)(descriptor, data, size, offset) : REAL(write)(descriptor, data, size);
    if (written > 0) note("write", descriptor, (long)at, NULL, NULL, data, (size_t)written);
    DONE(written);
}

ssize_t write(int descriptor, const void* data, size_t size) {
    if (!is_watched_descriptor(descriptor)) return REAL(write)(descriptor, data, size);
    return write_watched(descriptor, data, size, 0, 0);
}
ssize_t pwrite(int descriptor, const void* data, size_t size, off_t offset) {
    if (!is_watched_descriptor(descriptor)) return REAL(pwrite)(descriptor, data, size, offset);
    return write_watched(descriptor, data, size, offset, 1);
}
ssize_t pwrite64(int descriptor, const void* data, size_t size, off64_t offset) {
    if (!is_watched_descriptor(descriptor)) return REAL(pwrite64)(descriptor, data, size, offset);
    return write_watched(descriptor, data, size, offset, 1);
}

/* Ways to write that nothing of ours uses: a new use must get its wrapper first. */
#define REFUSE(name, signature, arguments, descriptor)                   \
    ssize_t name signature {                                             \
        if (is_watched_descriptor(descriptor)) {                         \
            fprintf(stderr, "disk_shim: " #name " is not understood\n"); \
            abort();                                                     \
        }                                                                \
        return REAL(name) arguments;                                     \
    }
REFUSE(writev, (int file, const struct iovec* parts, int number), (file, parts, number), file)
REFUSE(pwritev, (int file, const struct iovec* parts, int number, off_t at), (file, parts, number, at), file)
REFUSE(copy_file_range, (int from, off64_t* a, int to, off64_t* b, size_t size, unsigned flags),
       (from, a, to, b, size, flags), to)
REFUSE(sendfile, (int to, int from, off_t* at, size_t size), (to, from, at, size), to)
REFUSE(sendfile64, (int to, int from, off64_t* at, size_t size), (to, from, at, size), to)

#define DEFINE_TRUNCATE(name)                                                           \
    int name(int descriptor, __typeof__(((struct stat*)0)->st_size) size) {             \
        if (!is_watched_descriptor(descriptor)) return REAL(name)(descriptor, size);    \
        pthread_mutex_lock(&lock);                                                      \
        const int error = next_call();                                                  \
        if (error) FAIL_WITH(error);                                                    \
        const int result = REAL(name)(descriptor, size);                                \
        if (result == 0) note("truncate", descriptor, (long)size, NULL, NULL, NULL, 0); \
        DONE(result);                                                                   \
    }
DEFINE_TRUNCATE(ftruncate)
DEFINE_TRUNCATE(ftruncate64)

/* Counted and noted, never waited for: nothing here loses its power. */
#define DEFINE_SYNC(name)                                 \
    int name(int descriptor) {                            \
        if (!is_watched_descriptor(descriptor)) return 0; \
        pthread_mutex_lock(&lock);                        \
        const int error = next_call();                    \
        if (error) FAIL_WITH(error);                      \
        note(#name, descriptor, 0, NULL, NULL, NULL, 0);  \
        DONE(0);                                          \
    }
DEFINE_SYNC(fsync)
DEFINE_SYNC(fdatasync)
DEFINE_SYNC(syncfs)

static int rename_watched(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
    char one[PATH_MAX], two[PATH_MAX];
    const int is_one = is_watched(from_folder, from, one), is_two = is_watched(to_folder, to, two);
    if (!is_one && !is_two) return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    pthread_mutex_lock(&lock);
    const int error = next_call();
    if (error) FAIL_WITH(error);
    const int result = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    if (result == 0) note("rename", -1, 0, one, two, NULL, 0);
    DONE(result);
}
int rename(const char* from, const char* to) { return rename_watched(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char* from, int b, const char* to) { return rename_watched(a, from, b, to, 0); }
int renameat2(int a, const char* from, int b, const char* to, unsigned flags) {
    return rename_watched(a, from, b, to, flags);
}

/* Calls that name one path. */
#define PATH_CALL(kind, folder, path, call)                   \
    char whole[PATH_MAX];                                     \
    if (!is_watched(folder, path, whole)) return call;        \
    pthread_mutex_lock(&lock);                                \
    const int error = next_call();                            \
    if (error) FAIL_WITH(error);                              \
    const int result = call;                                  \
    if (result == 0) note(kind, -1, 0, whole, NULL, NULL, 0); \
    DONE(result);

int unlink(const char* path) { PATH_CALL("unlink", AT_FDCWD, path, REAL(unlink)(path)) }
int remove(const char* path) { PATH_CALL("unlink", AT_FDCWD, path, REAL(remove)(path)) }
int rmdir(const char* path) { PATH_CALL("rmdir", AT_FDCWD, path, REAL(rmdir)(path)) }
int unlinkat(int folder, const char* path, int flags) {
    PATH_CALL(flags & AT_REMOVEDIR ? "rmdir" : "unlink", folder, path, REAL(unlinkat)(folder, path, flags))
}
int mkdir(const char* path, mode_t mode) { PATH_CALL("mkdir", AT_FDCWD, path, REAL(mkdir)(path, mode)) }
int mkdirat(int folder, const char* path, mode_t mode) {
    PATH_CALL("mkdir", folder, path, REAL(mkdirat)(folder, path, mode))
}
int link(const char* from, const char* to) { PATH_CALL("link", AT_FDCWD, to, REAL(link)(from, to)) }
int linkat(int a, const char* from, int b, const char* to, int flags) {
    PATH_CALL("link", b, to, REAL(linkat)(a, from, b, to, flags))
}
int symlink(const char* from, const char* to) { PATH_CALL("link", AT_FDCWD, to, REAL(symlink)(from, to)) }
int symlinkat(const char* from, int b, const char* to) { PATH_CALL("link", b, to, REAL(symlinkat)(from, b, to)) }
int fchmod(int descriptor, mode_t mode) {
    if (!is_watched_descriptor(descriptor)) return REAL(fchmod)(descriptor, mode);
    pthread_mutex_lock(&lock);
    const int error = next_call();
    if (error) FAIL_WITH(error);
    const int result = REAL(fchmod)(descriptor, mode);
    DONE(result);
}
