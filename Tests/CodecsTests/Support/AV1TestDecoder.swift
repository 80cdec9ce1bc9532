import Basics
import CFFmpeg
import Codecs

/// dav1d, by FFmpeg: the server itself decodes no AV1.
final class AV1TestDecoder {
    private let context: UnsafeMutablePointer<AVCodecContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    private let frame: UnsafeMutablePointer<AVFrame>

    init?() {
        FFmpegLog.silence()
        guard let codec = avcodec_find_decoder_by_name("libdav1d"), let context = avcodec_alloc_context3(codec),
            let packet = av_packet_alloc(), let frame = av_frame_alloc()
        else { return nil }
        context.pointee.thread_count = 1
        // Otherwise dav1d holds frames back.
        context.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY
        guard avcodec_open2(context, codec, nil) >= 0 else { return nil }
        (self.context, self.packet, self.frame) = (context, packet, frame)
    }

    deinit {
        var (context, packet, frame): (UnsafeMutablePointer<AVCodecContext>?, _, _) = (
            context, Optional(packet), Optional(frame)
        )
        avcodec_free_context(&context)
        av_packet_free(&packet)
        av_frame_free(&frame)
    }

    /// The picture of a temporal unit; nil where it is refused or shows none.
    func decode(_ unit: [UInt8]) -> Picture? {
        av_packet_unref(packet)
        guard av_new_packet(packet, Int32(unit.count)) >= 0 else { return nil }
        packet.pointee.data.update(from: unit, count: unit.count)
        guard avcodec_send_packet(context, packet) >= 0, avcodec_receive_frame(context, frame) >= 0 else { return nil }
        let picture = Picture(width: Int(frame.pointee.width), height: Int(frame.pointee.height))
        let planes = [
            (frame.pointee.data.0, frame.pointee.linesize.0, picture.y, picture.yStride, picture.width, picture.height),
            (
                frame.pointee.data.1, frame.pointee.linesize.1, picture.u, picture.uStride, picture.chromaWidth,
                picture.chromaHeight
            ),
            (
                frame.pointee.data.2, frame.pointee.linesize.2, picture.v, picture.vStride, picture.chromaWidth,
                picture.chromaHeight
            ),
        ]
        for (source, sourceStride, target, stride, width, height) in planes {
            guard let source else { return nil }
            for row in 0..<height {
                (target + row * stride).update(from: source + row * Int(sourceStride), count: width)
            }
        }
        return picture
    }
}
