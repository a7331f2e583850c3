/* Makes one call of a program to the system fail. Loaded in front of the C library (LD_PRELOAD).
 *
 * FAULT_UNDER  counts only calls on files under this folder
 * FAULT_AT     the call that fails, from 1; the others pass
 * FAULT_ERRNO  how it fails
 * FAULT_COUNT  a file that gets the number of calls when the program ends
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int calls;

static int is_under(const char *path) {
    const char *folder = getenv("FAULT_UNDER");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

/* Whether the next call on this path fails. */
static int fails(const char *path) {
    if (!is_under(path)) return 0;
    int call = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    const char *at = getenv("FAULT_AT");
    if (!at || call != atoi(at)) return 0;
    const char *code = getenv("FAULT_ERRNO");
    errno = code ? atoi(code) : EIO;
    return 1;
}

static int fails_on(int file) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(path);
}

__attribute__((destructor)) static void report(void) {
    const char *name = getenv("FAULT_COUNT");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (!file) return;
    fprintf(file, "%d\n", calls);
    fclose(file);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (fails(path)) return -1;
    return NEXT(open64)(path, flags, mode);
}

int mkdir(const char *path, mode_t mode) {
    return fails(path) ? -1 : NEXT(mkdir)(path, mode);
}

int rename(const char *from, const char *to) {
    return fails(to) ? -1 : NEXT(rename)(from, to);
}

int unlink(const char *path) {
    return fails(path) ? -1 : NEXT(unlink)(path);
}

int ftruncate64(int file, off64_t length) {
    return fails_on(file) ? -1 : NEXT(ftruncate64)(file, length);
}

int fsync(int file) {
    return fails_on(file) ? -1 : NEXT(fsync)(file);
}

int fdatasync(int file) {
    return fails_on(file) ? -1 : NEXT(fdatasync)(file);
}

ssize_t write(int file, const void *bytes, size_t count) {
    return fails_on(file) ? -1 : NEXT(write)(file, bytes, count);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    return fails_on(file) ? -1 : NEXT(pwrite64)(file, bytes, count, offset);
}

ssize_t read(int file, void *bytes, size_t count) {
    return fails_on(file) ? -1 : NEXT(read)(file, bytes, count);
}

ssize_t pread64(int file, void *bytes, size_t count, off64_t offset) {
    return fails_on(file) ? -1 : NEXT(pread64)(file, bytes, count, offset);
}
