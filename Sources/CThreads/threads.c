#define _GNU_SOURCE
#include "CThreads.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void threads_name_current(const char *name) { pthread_setname_np(pthread_self(), name); }

void threads_release_memory(void) { malloc_trim(0); }
void threads_map_blocks_from(int bytes) { mallopt(M_MMAP_THRESHOLD, bytes); }

int threads_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? count : 1;
}

/// Moves a descriptor away from 0 to 2, where a server without standard streams gets it.
static int above_standard(int descriptor) {
    if (descriptor < 0 || descriptor > 2) return descriptor;
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    close(descriptor);
    return moved;
}

int threads_pipe(int ends[2]) {
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    ends[0] = above_standard(ends[0]);
    ends[1] = above_standard(ends[1]);
    if (ends[0] >= 0 && ends[1] >= 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0) return 0;
    if (ends[0] >= 0) close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
    return -1;
}

int threads_memory_file(const void *bytes, long count) {
    int file = above_standard(memfd_create("input", MFD_CLOEXEC));
    if (file < 0) return -1;
    for (long done = 0; done < count;) {
        ssize_t written = pwrite(file, (const char *)bytes + done, count - done, done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            close(file);
            return -1;
        }
        done += written;
    }
    return file;
}

// Unlike fork(2), posix_spawn(3) is safe in a process of many threads.
int threads_spawn(char *const arguments[], char *const environment[], const int streams[3]) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    for (int target = 0; target < 3; target++) posix_spawn_file_actions_adddup2(&actions, streams[target], target);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_init(&attributes);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    // Not sigfillset(3), which leaves out the two signals of the C library's own threads: glibc then lets the program
    // ignore these.
    memset(&signals, 0xFF, sizeof signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int code = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    errno = code;
    return code == 0 ? child : -1;
}

int threads_child_has_ended(int child) {
    siginfo_t info;
    info.si_pid = 0;
    return waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child;
}
