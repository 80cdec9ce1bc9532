#include <zlib.h>

// deflateInit2 and inflateInit2 are macros, which Swift does not see. Raw deflate (RFC 1951): without head and checksum.
static inline int zlib_deflate_raw(z_stream *stream, int level, int window_bits, int memory) {
    return deflateInit2(stream, level, Z_DEFLATED, -window_bits, memory, Z_DEFAULT_STRATEGY);
}

static inline int zlib_inflate_raw(z_stream *stream, int window_bits) {
    return inflateInit2(stream, -window_bits);
}
