#ifndef CFUZZING_H
#define CFUZZING_H

#include <stddef.h>
#include <stdint.h>

/// Bytes that the process has allocated and not freed. 0 where the allocator is not glibc's, as under a sanitizer.
size_t fuzzing_heap(void);

/// What an input costs.
enum fuzzing_kind { FUZZING_TIME, FUZZING_MEMORY };
#define FUZZING_KINDS 2
/// Steps of cost that a fuzzer tells from one another.
#define FUZZING_LEVELS 32

/// Shows libFuzzer that the input reached all levels up to this one.
void fuzzing_show_cost(enum fuzzing_kind kind, uint32_t level);

/// Ends the process as a finding unless it is called again within so many seconds of processor time. libFuzzer's own limit is of the clock on
/// the wall, in which a process that was stopped, or got no processor, takes long as well.
void fuzzing_allow(uint32_t seconds);

/// libFuzzer's loop over inputs; only where that is linked.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*one)(const uint8_t *data, size_t size));

/// One of libFuzzer's own changes of `data`; gives the new size, at most `most`.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

#endif
