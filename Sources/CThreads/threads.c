#define _GNU_SOURCE
#include "CThreads.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>

void threads_name_current(const char *name) { pthread_setname_np(pthread_self(), name); }

void threads_release_memory(void) { malloc_trim(0); }
void threads_map_blocks_from(int bytes) { mallopt(M_MMAP_THRESHOLD, bytes); }

int threads_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? count : 1;
}
