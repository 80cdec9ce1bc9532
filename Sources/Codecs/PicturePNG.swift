import CFFmpeg
import CYUV
import Glibc

extension FFmpeg {
    /// A PNG file's bytes. `draw` writes all pixels: it gets the first row, and the bytes from one row to the next.
    static func png(
        width: Int, height: Int, format: AVPixelFormat, draw: (UnsafeMutablePointer<UInt8>, Int) -> Void
    ) throws(CodecError) -> [UInt8] {
        silenced
        guard let codec = avcodec_find_encoder_by_name("png") else { throw .unavailable("the PNG encoder") }
        var context = avcodec_alloc_context3(codec)
        defer { avcodec_free_context(&context) }
        let settings = try allocated(context, "PNG encoder")
        settings.pointee.width = Int32(width)
        settings.pointee.height = Int32(height)
        settings.pointee.pix_fmt = format
        settings.pointee.time_base = AVRational(num: 1, den: 1)
        settings.pointee.thread_count = 1
        try check(avcodec_open2(settings, codec, nil), "PNG encoder")
        let frame = try Frame()
        frame.pointer.pointee.width = Int32(width)
        frame.pointer.pointee.height = Int32(height)
        frame.pointer.pointee.format = format.rawValue
        try check(av_frame_get_buffer(frame.pointer, 0), "PNG frame")
        guard let rows = frame.pointer.pointee.data.0 else { throw .unsupportedInput("a frame without pixels") }
        draw(rows, Int(frame.pointer.pointee.linesize.0))
        try check(avcodec_send_frame(settings, frame.pointer), "PNG encoder")
        let packet = try Packet()
        try check(avcodec_receive_packet(settings, packet.pointer), "PNG encoder")
        return packet.bytes
    }
}

extension Picture {
    /// The picture as a PNG file's bytes, RGB of 8 bit.
    package func pngData() throws(CodecError) -> [UInt8] {
        try FFmpeg.png(width: width, height: height, format: AV_PIX_FMT_RGB24) { rows, stride in
            // libyuv's "RAW" is R, G, B in memory order, which FFmpeg calls RGB24.
            I420ToRAW(
                y, Int32(yStride), u, Int32(uStride), v, Int32(vStride), rows, Int32(stride), Int32(width),
                Int32(height))
        }
    }

    /// Writes the picture to a PNG file, which is replaced when it exists.
    package func writePNG(path: String) throws(CodecError) {
        let data = try pngData()
        guard let file = fopen(path, "wb") else { throw .file(path: path, reason: String(cString: strerror(errno))) }
        let written = fwrite(data, 1, data.count, file)
        guard fclose(file) == 0, written == data.count else {
            throw .file(path: path, reason: String(cString: strerror(errno)))
        }
    }

    /// Reads a PNG file's bytes; transparency is ignored.
    package static func load(png data: [UInt8]) throws(CodecError) -> Picture {
        FFmpeg.silenced
        guard let codec = avcodec_find_decoder_by_name("png") else { throw .unavailable("the PNG decoder") }
        var context = avcodec_alloc_context3(codec)
        defer { avcodec_free_context(&context) }
        let decoder = try FFmpeg.allocated(context, "PNG decoder")
        decoder.pointee.thread_count = 1
        decoder.pointee.max_pixels = Int64(VideoFormat.maxPixels)
        try FFmpeg.check(avcodec_open2(decoder, codec, nil), "PNG decoder")
        let packet = try Packet()
        try packet.fill(data)
        try FFmpeg.check(avcodec_send_packet(decoder, packet.pointer), "PNG")
        try FFmpeg.check(avcodec_send_packet(decoder, nil), "PNG")
        let frame = try Frame()
        try FFmpeg.check(avcodec_receive_frame(decoder, frame.pointer), "PNG")
        // RGB always has full range; swscale must not interpret the frame's tag as that of YUV.
        frame.pointer.pointee.color_range = AVCOL_RANGE_UNSPECIFIED
        var converter = PixelConverter()
        return try converter.picture(from: frame)
    }

    /// Reads a PNG file.
    package static func load(path: String) throws(CodecError) -> Picture {
        guard let file = fopen(path, "rb") else { throw .file(path: path, reason: String(cString: strerror(errno))) }
        defer { fclose(file) }
        var data: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            if count == 0 { break }
            data.append(contentsOf: chunk[..<count])
        }
        return try load(png: data)
    }
}
