#include <errno.h>
#include <stdarg.h>
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
#include <libswresample/swresample.h>

// Function-like macros and macros that are expressions, which Swift does not import.
static const int kAVERROR_EOF = AVERROR_EOF;
static const int kAVERROR_EAGAIN = AVERROR(EAGAIN);
static const int kAVERROR_INVALIDDATA = AVERROR_INVALIDDATA;
static const int kAVERROR_ENOMEM = AVERROR(ENOMEM);
static const int64_t kAV_NOPTS_VALUE = AV_NOPTS_VALUE;
static inline int cffmpeg_error_from_errno(int code) { return AVERROR(code); }
static inline int cffmpeg_errno_from_error(int code) { return AVUNERROR(code); }

static inline void cffmpeg_set_mono(AVChannelLayout *layout) { *layout = (AVChannelLayout)AV_CHANNEL_LAYOUT_MONO; }

static inline void cffmpeg_discard_log(void *object, int level, const char *format, va_list arguments) {
  (void)object; (void)level; (void)format; (void)arguments;
}
// Discards the log of FFmpeg and x264, which goes to stderr by default; errors are reported by return codes.
static inline void cffmpeg_silence(void) {
  av_log_set_level(AV_LOG_ERROR);
  av_log_set_callback(cffmpeg_discard_log);
}

// For AVCodecContext.get_format: selects 8 bit 4:2:0 in either range, and refuses any other format.
static inline enum AVPixelFormat cffmpeg_choose_plain(AVCodecContext *context, const enum AVPixelFormat *formats) {
  (void)context;
  for (; *formats != AV_PIX_FMT_NONE; formats++)
    if (*formats == AV_PIX_FMT_YUV420P || *formats == AV_PIX_FMT_YUVJ420P) return *formats;
  return AV_PIX_FMT_NONE;
}
static inline void cffmpeg_take_plain_formats_only(AVCodecContext *context) { context->get_format = cffmpeg_choose_plain; }
