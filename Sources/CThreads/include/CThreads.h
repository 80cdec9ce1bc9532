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

/// A pipe whose ends are closed in programs that the process starts, both above the standard descriptors; the reading
/// one does not block. Returns 0, or -1 with errno.
int threads_pipe(int ends[2]);
/// An unnamed file in memory with these bytes, to be read from its beginning (memfd_create(2)); closed in programs that
/// the process starts. -1 with errno where it cannot be made.
int threads_memory_file(const void *bytes, long count);
/// Starts a program, looked up in PATH, as a process group of its own: with these standard streams and no other
/// descriptor, and with no signal blocked or ignored. `arguments` and `environment` end with NULL. Returns the process's
/// number, or -1 with errno.
int threads_spawn(char *const arguments[], char *const environment[], const int streams[3]);
/// Whether a child has ended, without collecting it, so that its number is not given to another process meanwhile.
int threads_child_has_ended(int child);
#endif
