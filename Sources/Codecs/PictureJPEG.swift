import CFFmpeg
import CYUV

extension Picture {
    /// The quantiser of small pictures of recordings: 320×180 pixels have about 12 kB.
    private static let jpegQuantiser: Int32 = 5

    /// The picture as a JPEG file's bytes.
    package func jpegData() throws(CodecError) -> [UInt8] {
        FFmpeg.silenced
        guard let codec = avcodec_find_encoder_by_name("mjpeg") else { throw .unavailable("the JPEG encoder") }
        var context = avcodec_alloc_context3(codec)
        defer { avcodec_free_context(&context) }
        let settings = try FFmpeg.allocated(context, "JPEG encoder")
        settings.pointee.width = Int32(width)
        settings.pointee.height = Int32(height)
        settings.pointee.pix_fmt = AV_PIX_FMT_YUVJ420P
        settings.pointee.time_base = AVRational(num: 1, den: 1)
        settings.pointee.thread_count = 1
        settings.pointee.flags |= AV_CODEC_FLAG_QSCALE
        settings.pointee.global_quality = Self.jpegQuantiser * FF_QP2LAMBDA
        try FFmpeg.check(avcodec_open2(settings, codec, nil), "JPEG encoder")
        let frame = try Frame()
        frame.pointer.pointee.width = Int32(width)
        frame.pointer.pointee.height = Int32(height)
        frame.pointer.pointee.format = AV_PIX_FMT_YUVJ420P.rawValue
        frame.pointer.pointee.quality = Self.jpegQuantiser * FF_QP2LAMBDA
        try FFmpeg.check(av_frame_get_buffer(frame.pointer, 0), "JPEG frame")
        let (data, strides) = (frame.pointer.pointee.data, frame.pointer.pointee.linesize)
        guard let y = data.0, let u = data.1, let v = data.2 else { throw .unsupportedInput("a frame without pixels") }
        // JPEG has the full range of BT.601.
        var pixels = [UInt8](repeating: 0, count: width * height * 4)
        pixels.withUnsafeMutableBufferPointer { pixels in
            let (base, stride) = (pixels.baseAddress, Int32(width * 4))
            I420ToARGB(
                self.y, Int32(yStride), self.u, Int32(uStride), self.v, Int32(vStride), base, stride, Int32(width),
                Int32(height))
            ARGBToJ420(base, stride, y, strides.0, u, strides.1, v, strides.2, Int32(width), Int32(height))
        }
        try FFmpeg.check(avcodec_send_frame(settings, frame.pointer), "JPEG encoder")
        let packet = try Packet()
        try FFmpeg.check(avcodec_receive_packet(settings, packet.pointer), "JPEG encoder")
        return packet.bytes
    }
}
