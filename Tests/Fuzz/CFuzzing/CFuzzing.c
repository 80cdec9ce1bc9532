#include "CFuzzing.h"
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

// mallinfo2 returns a struct that Swift's Glibc module does not show.
size_t fuzzing_heap(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// libFuzzer takes what is in a section of this name for counters of coverage, clears them before each input and reads them after it
// (its "extra counters", on Linux only). Without libFuzzer nobody reads them, and a write by several threads at once does no harm.
__attribute__((section("__libfuzzer_extra_counters"))) static _Atomic uint8_t cost_levels[FUZZING_KINDS * FUZZING_LEVELS];

static void end_input(int signal) {
    static const char message[] = "Fatal error: an input took too long\n";
    (void)signal;
    // libFuzzer takes an abort for a finding and keeps the input.
    if (write(STDERR_FILENO, message, sizeof message - 1) >= 0) abort();
    _exit(1);
}

void fuzzing_allow(uint32_t seconds) {
    static int is_ready;
    if (!is_ready) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = end_input;
        is_ready = sigaction(SIGPROF, &action, NULL) == 0;
    }
    struct itimerval timer = {.it_value = {.tv_sec = seconds}};
    setitimer(ITIMER_PROF, &timer, NULL);
}

void fuzzing_show_cost(enum fuzzing_kind kind, uint32_t level) {
    for (uint32_t reached = 1; reached <= level && reached < FUZZING_LEVELS; reached++) cost_levels[kind * FUZZING_LEVELS + reached] = 1;
}
