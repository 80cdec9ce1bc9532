// mallinfo2 returns a struct that Swift's Glibc module does not show.
#include "CFuzzing.h"
#include <malloc.h>

size_t fuzzing_heap(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
