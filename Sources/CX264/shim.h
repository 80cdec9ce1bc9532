// libx264. Its header needs <stdint.h> before it, and defines x264_encoder_open as a macro with the library's version.
#include <stdint.h>
#include <x264.h>

static inline x264_t *cx264_open(x264_param_t *parameters) { return x264_encoder_open(parameters); }
