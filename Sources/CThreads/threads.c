#define _GNU_SOURCE
#include "CThreads.h"

#include <malloc.h>
#include <pthread.h>

void threads_name_current(const char *name) { pthread_setname_np(pthread_self(), name); }

void threads_release_memory(void) { malloc_trim(0); }
void threads_map_blocks_from(int bytes) { mallopt(M_MMAP_THRESHOLD, bytes); }
