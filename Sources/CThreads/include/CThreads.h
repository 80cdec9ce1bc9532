// The GNU extensions for threads and memory, which Swift's Glibc overlay does not have.
// _GNU_SOURCE is defined in the .c file only: here it would change headers that other C modules share.
#ifndef CTHREADS_H
#define CTHREADS_H

/// Names the calling thread, for `top -H` and debuggers.
void threads_name_current(const char *name);

/// Returns the allocator's free memory to the system (malloc_trim(3)). May take milliseconds.
void threads_release_memory(void);
/// Makes the allocator map each block of at least `bytes` on its own, which returns to the system when it is freed
/// (mallopt(3)).
void threads_map_blocks_from(int bytes);
/// The number of processors in the process's affinity mask (sched_getaffinity(2)); 1 where the call fails.
int threads_processors(void);
#endif
