#include <vpx/vpx_encoder.h>
#include <vpx/vp8cx.h>
