// Lets the disk of some folders hang for one process: preloaded, every call that names a path below a line of the file that FROZEN names waits
// until the line is gone.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int is_frozen(const char *path) {
    const char *list = getenv("FROZEN");
    FILE *file = list ? REAL(fopen)(list, "re") : NULL;
    char line[4096];
    int found = 0;
    while (file && !found && fgets(line, sizeof line, file)) {
        size_t length = strcspn(line, "\n");
        found = length > 0 && strncmp(path, line, length) == 0;
    }
    if (file) fclose(file);
    return found;
}

static void await(const char *path) {
    while (path && is_frozen(path)) usleep(20000);
}

static mode_t mode_of(int flags, va_list list) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0; }

#define OPEN(name)                                                                                                                           \
    int name(const char *path, int flags, ...) {                                                                                             \
        va_list list;                                                                                                                        \
        va_start(list, flags);                                                                                                               \
        mode_t mode = mode_of(flags, list);                                                                                                  \
        va_end(list);                                                                                                                        \
        await(path);                                                                                                                         \
        return REAL(name)(path, flags, mode);                                                                                                \
    }
OPEN(open)
OPEN(open64)

int openat(int folder, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = mode_of(flags, list);
    va_end(list);
    await(path);
    return REAL(openat)(folder, path, flags, mode);
}

#define CALL(type, name, parameters, ...)                                                                                                    \
    type name parameters {                                                                                                                   \
        await(path);                                                                                                                         \
        return REAL(name)(__VA_ARGS__);                                                                                                      \
    }
CALL(FILE *, fopen, (const char *path, const char *mode), path, mode)
CALL(FILE *, fopen64, (const char *path, const char *mode), path, mode)
CALL(DIR *, opendir, (const char *path), path)
CALL(int, stat, (const char *path, struct stat *result), path, result)
CALL(int, lstat, (const char *path, struct stat *result), path, result)
CALL(int, access, (const char *path, int mode), path, mode)
CALL(int, unlink, (const char *path), path)
CALL(int, mkdir, (const char *path, mode_t mode), path, mode)
CALL(int, rename, (const char *path, const char *to), path, to)
CALL(int, link, (const char *path, const char *to), path, to)
