#include <vpx/vpx_encoder.h>
#include <vpx/vp8cx.h>

// vpx_codec_enc_init and vpx_codec_control are macros; the frame flags are expressions.
static inline vpx_codec_err_t cvpx_vp8_init(vpx_codec_ctx_t *context, const vpx_codec_enc_cfg_t *configuration) {
  return vpx_codec_enc_init(context, vpx_codec_vp8_cx(), configuration, 0);
}
static inline vpx_codec_err_t cvpx_control_int(vpx_codec_ctx_t *context, int control, int value) {
  return vpx_codec_control_(context, control, value);
}
// Without a map every macroblock is active. libvpx wants the numbers of rows and columns in either case.
static inline vpx_codec_err_t cvpx_set_active_map(
    vpx_codec_ctx_t *context, unsigned char *active, unsigned rows, unsigned columns) {
  vpx_active_map_t map = {active, rows, columns};
  return vpx_codec_control_(context, VP8E_SET_ACTIVEMAP, &map);
}
static inline vpx_codec_err_t cvpx_encode_realtime(
    vpx_codec_ctx_t *context, const vpx_image_t *image, int64_t pts, unsigned long duration, long flags) {
  return vpx_codec_encode(context, image, pts, duration, (vpx_enc_frame_flags_t)flags, VPX_DL_REALTIME);
}
// Configures two temporal layers, of which every second frame may be dropped; `base` and `total` are in kbit/s.
static inline void cvpx_set_two_layers(vpx_codec_enc_cfg_t *c, unsigned base, unsigned total) {
  c->ts_number_layers = 2;
  c->ts_periodicity = 2;
  c->ts_layer_id[0] = 0;
  c->ts_layer_id[1] = 1;
  c->ts_rate_decimator[0] = 2;
  c->ts_rate_decimator[1] = 1;
  c->ts_target_bitrate[0] = base;
  c->ts_target_bitrate[1] = total;
}
// The bytes of a frame packet; NULL for any other packet.
static inline const uint8_t *cvpx_frame(const vpx_codec_cx_pkt_t *packet, size_t *count, int *is_key) {
  if (packet->kind != VPX_CODEC_CX_FRAME_PKT) return NULL;
  *count = packet->data.frame.sz;
  *is_key = (packet->data.frame.flags & VPX_FRAME_IS_KEY) != 0;
  return (const uint8_t *)packet->data.frame.buf;
}
static const long kVP8_FORCE_KEY = VPX_EFLAG_FORCE_KF;
// A frame of the base layer refers to and replaces LAST only.
static const long kVP8_BASE_LAYER =
    VP8_EFLAG_NO_REF_GF | VP8_EFLAG_NO_REF_ARF | VP8_EFLAG_NO_UPD_GF | VP8_EFLAG_NO_UPD_ARF;
// A frame of the upper layer refers to LAST, replaces no buffer and does not change the entropy coder, so it may be
// dropped.
static const long kVP8_UPPER_LAYER = VP8_EFLAG_NO_REF_GF | VP8_EFLAG_NO_REF_ARF | VP8_EFLAG_NO_UPD_LAST |
                                     VP8_EFLAG_NO_UPD_GF | VP8_EFLAG_NO_UPD_ARF | VP8_EFLAG_NO_UPD_ENTROPY;
