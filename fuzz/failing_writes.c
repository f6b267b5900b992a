/* Preloaded into a command by faults.py: calls that write below a folder fail.

   FAULT_FOLDER  the folder
   FAULT_ERROR   the number of the error: EIO fails calls that write, EACCES calls that open, make and rename
   FAULT_AFTER   how many such calls succeed first
   FAULT_CALLS   how many fail then */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_int seen;

static int below(const char *path) {
    const char *folder = getenv("FAULT_FOLDER");
    return folder && path && !strncmp(path, folder, strlen(folder));
}

static int below_descriptor(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return below(path);
}

/* Whether a call that writes, or opens, fails now. */
static int fails(int error) {
    const char *wanted = getenv("FAULT_ERROR"), *after = getenv("FAULT_AFTER"), *calls = getenv("FAULT_CALLS");
    if (!wanted || !after || !calls || atoi(wanted) != error) return 0;
    int number = atomic_fetch_add(&seen, 1);
    if (number < atoi(after) || number >= (long)atoi(after) + atoi(calls)) return 0;
    errno = error;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRITES(type, name, parameters, arguments)                    \
    type name parameters {                                           \
        if (below_descriptor(fd) && fails(EIO)) return -1;           \
        return REAL(name) arguments;                                 \
    }
#define OPENS(name, parameters, arguments)      \
    int name parameters {                                            \
        int mode = 0;                                                \
        if (flags & (O_CREAT | O_TMPFILE)) {                         \
            va_list list;                                            \
            va_start(list, flags);                                   \
            mode = va_arg(list, int);                                \
            va_end(list);                                            \
        }                                                            \
        if (flags & (O_WRONLY | O_RDWR) && below(path) && fails(EACCES)) return -1; \
        return REAL(name) arguments;                                 \
    }
#define CHANGES(name, parameters, path, arguments)                   \
    int name parameters {                                            \
        if (below(path) && fails(EACCES)) return -1;                 \
        return REAL(name) arguments;                                 \
    }

WRITES(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
WRITES(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRITES(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
WRITES(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WRITES(int, ftruncate, (int fd, off_t size), (fd, size))
WRITES(int, ftruncate64, (int fd, off64_t size), (fd, size))
WRITES(int, fsync, (int fd), (fd))

int posix_fallocate64(int fd, off64_t start, off64_t size) {
    if (below_descriptor(fd) && fails(EIO)) return EIO;
    return REAL(posix_fallocate64)(fd, start, size);
}

int posix_fallocate(int fd, off_t start, off_t size) {
    if (below_descriptor(fd) && fails(EIO)) return EIO;
    return REAL(posix_fallocate)(fd, start, size);
}

OPENS(open, (const char *path, int flags, ...), (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), (path, flags, mode))
OPENS(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
OPENS(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
CHANGES(mkdir, (const char *path, mode_t mode), path, (path, mode))
CHANGES(rename, (const char *path, const char *other), path, (path, other))
