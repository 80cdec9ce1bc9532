#include <aom/aom_encoder.h>
#include <aom/aomcx.h>

// aom_codec_enc_init is a macro, and aom_codec_control takes a variable number of arguments.
static inline aom_codec_err_t caom_init(aom_codec_ctx_t *context, const aom_codec_enc_cfg_t *configuration) {
  return aom_codec_enc_init(context, aom_codec_av1_cx(), configuration, 0);
}
static inline aom_codec_err_t caom_control(aom_codec_ctx_t *context, int control, int value) {
  return aom_codec_control(context, control, value);
}
// The bytes of a frame packet; NULL for any other packet.
static inline const uint8_t *caom_frame(const aom_codec_cx_pkt_t *packet, size_t *count, int *is_key) {
  if (packet->kind != AOM_CODEC_CX_FRAME_PKT) return NULL;
  *count = packet->data.frame.sz;
  *is_key = (packet->data.frame.flags & AOM_FRAME_IS_KEY) != 0;
  return (const uint8_t *)packet->data.frame.buf;
}
static const unsigned kAOM_REALTIME = AOM_USAGE_REALTIME;
static const long kAOM_FORCE_KEY = AOM_EFLAG_FORCE_KF;
