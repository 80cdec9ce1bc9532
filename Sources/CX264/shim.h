// libx264. Its header wants <stdint.h> first, and names x264_encoder_open by a macro that carries the library's version.
#include <stdint.h>
#include <x264.h>

static inline x264_t *cx264_open(x264_param_t *parameters) { return x264_encoder_open(parameters); }
