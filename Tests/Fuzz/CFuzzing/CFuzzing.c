#include "CFuzzing.h"
#include <malloc.h>

// mallinfo2 returns a struct that Swift's Glibc module does not show.
size_t fuzzing_heap(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// libFuzzer takes what is in a section of this name for counters of coverage, clears them before each input and reads them after it
// (its "extra counters", on Linux only). Without libFuzzer nobody reads them, and a write by several threads at once does no harm.
__attribute__((section("__libfuzzer_extra_counters"))) static _Atomic uint8_t cost_levels[FUZZING_KINDS * FUZZING_LEVELS];

void fuzzing_show_cost(enum fuzzing_kind kind, uint32_t level) {
    for (uint32_t reached = 1; reached <= level && reached < FUZZING_LEVELS; reached++) cost_levels[kind * FUZZING_LEVELS + reached] = 1;
}
