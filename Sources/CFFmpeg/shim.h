#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
#include <libswresample/swresample.h>

// Function-like macros and macros that are expressions, which Swift does not import.
static const int kAVERROR_EOF = AVERROR_EOF;
static const int kAVERROR_EXIT = AVERROR_EXIT;
static const int kAVERROR_EAGAIN = AVERROR(EAGAIN);
static const int kAVERROR_INVALIDDATA = AVERROR_INVALIDDATA;
static const int kAVERROR_ENOMEM = AVERROR(ENOMEM);
static const int64_t kAV_NOPTS_VALUE = AV_NOPTS_VALUE;
static inline int cffmpeg_error_from_errno(int code) { return AVERROR(code); }
static inline int cffmpeg_errno_from_error(int code) { return AVUNERROR(code); }

static inline void cffmpeg_set_mono(AVChannelLayout *layout) { *layout = (AVChannelLayout)AV_CHANNEL_LAYOUT_MONO; }

// The text of the errors that FFmpeg reports on one thread, as lines; the caller owns the memory.
struct cffmpeg_errors { char *text; int size, used; };
// Where the thread's errors go; NULL: nowhere. Each object file has a copy of its own, so one file alone calls what uses it.
static inline struct cffmpeg_errors **cffmpeg_errors_of_thread(void) {
  static __thread struct cffmpeg_errors *errors;
  return &errors;
}
static inline void cffmpeg_collect_errors(struct cffmpeg_errors *errors) { *cffmpeg_errors_of_thread() = errors; }
static inline void cffmpeg_take_log(void *object, int level, const char *format, va_list arguments) {
  (void)object;
  struct cffmpeg_errors *errors = *cffmpeg_errors_of_thread();
  if (!errors || level > AV_LOG_ERROR || errors->used >= errors->size - 1) return;
  int room = errors->size - errors->used;
  int count = vsnprintf(errors->text + errors->used, room, format, arguments);
  if (count > 0) errors->used += count < room ? count : room - 1;
}
// Keeps the log of FFmpeg and x264 off stderr; errors are reported by return codes, and to who collects them.
static inline void cffmpeg_silence(void) {
  av_log_set_level(AV_LOG_ERROR);
  av_log_set_callback(cffmpeg_take_log);
}

// For AVCodecContext.get_format: selects 8 bit 4:2:0 in either range, and refuses any other format.
static inline enum AVPixelFormat cffmpeg_choose_plain(AVCodecContext *context, const enum AVPixelFormat *formats) {
  (void)context;
  for (; *formats != AV_PIX_FMT_NONE; formats++)
    if (*formats == AV_PIX_FMT_YUV420P || *formats == AV_PIX_FMT_YUVJ420P) return *formats;
  return AV_PIX_FMT_NONE;
}
static inline void cffmpeg_take_plain_formats_only(AVCodecContext *context) { context->get_format = cffmpeg_choose_plain; }
