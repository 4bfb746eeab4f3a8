#include "storage/system_error.h"

#include <cerrno>
#include <system_error>

namespace penstock {

namespace {

const char* fix_for(int number) {
    switch (number) {
        case ENOENT: return "check that the path is spelled right and that its folder exists";
        case EACCES:
        case EPERM: return "give yourself permission to that path (ls -ld shows what it has), or choose another one";
        case ENOSPC:
        case EDQUOT: return "free space on that disk (df -h shows what is left), or choose another one";
        case EFBIG: return "raise the limit on file sizes (ulimit -f), or choose a disk that takes large files";
        case EROFS: return "choose a folder on a disk that is mounted for writing";
        case EISDIR: return "name a file, not a folder";
        case ENOTDIR:
        case EEXIST: return "a file stands where a folder is needed: choose another path, or move the file away";
        case EMFILE:
        case ENFILE: return "raise the limit on open files (ulimit -n), or use fewer threads";
        case ENAMETOOLONG: return "choose a shorter path";
        case EIO: return "the disk reports a fault: see the system log (dmesg) and check the disk";
        default: return "check that path and its disk";
    }
}

}  // namespace

void throw_storage_error(ErrorCode code, std::string_view attempt, const std::string& path, int number) {
    throw Error(code, "could not " + std::string(attempt) + ": " + std::generic_category().message(number), path,
                fix_for(number), number);
}

}  // namespace penstock
