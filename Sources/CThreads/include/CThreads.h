// What Glibc's Swift overlay hides of Linux threads and memory: the GNU extensions.
// _GNU_SOURCE is defined in the .c file only: here it would change headers that other C modules share.
#ifndef CTHREADS_H
#define CTHREADS_H

/// Names the calling thread, for `top -H` and debuggers.
void threads_name_current(const char *name);

/// Gives memory that the allocator holds and nobody uses back to the system: malloc_trim(3). May take milliseconds.
void threads_release_memory(void);
/// From now on blocks of at least so many bytes are mapped one by one, and go back to the system when they are freed: mallopt(3).
void threads_map_blocks_from(int bytes);
/// How many processors this process may run on (sched_getaffinity(2)); 1 where the system does not say.
int threads_processors(void);
#endif
