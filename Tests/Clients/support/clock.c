// Changes the wall clock of one process for tests: preloaded, it adds the seconds in the file that WALL_CLOCK names. All other clocks are unchanged.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long offset(void) {
    const char *path = getenv("WALL_CLOCK");
    FILE *file = path ? fopen(path, "re") : NULL;
    long seconds = 0;
    if (file && fscanf(file, "%ld", &seconds) != 1) seconds = 0;
    if (file) fclose(file);
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += offset();
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec time;
    int status = clock_gettime(CLOCK_REALTIME, &time);
    (void)zone;
    *now = (struct timeval){time.tv_sec, time.tv_nsec / 1000};
    return status;
}

time_t time(time_t *now) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (now) *now = time.tv_sec;
    return time.tv_sec;
}
