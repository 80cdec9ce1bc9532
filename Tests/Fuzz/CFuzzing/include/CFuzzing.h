#ifndef CFUZZING_H
#define CFUZZING_H

#include <stddef.h>
#include <stdint.h>

/// Bytes that the process has allocated and not freed. 0 where the allocator is not glibc's, as under a sanitizer.
size_t fuzzing_heap(void);

/// libFuzzer's loop over inputs; only where that is linked.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*one)(const uint8_t *data, size_t size));

#endif
