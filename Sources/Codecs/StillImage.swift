import CFFmpeg

/// A still picture from a PNG or JPEG file, such as a logo or an avatar.
///
/// Files come from outsiders: type, size and number of scans are checked before anything is decoded.
package final class StillImage: Sendable {
    /// What a file may cost.
    package struct Limits: Hashable, Sendable {
        package var bytes: Int
        /// Width × height of the file.
        package var pixels: Int
        /// The longest side in memory: a larger picture is scaled down.
        package var side: Int

        package init(bytes: Int, pixels: Int, side: Int) {
            self.bytes = bytes
            self.pixels = pixels
            self.side = side
        }
    }

    /// Why a file is refused.
    package enum Fault: Error, Hashable, Sendable, CustomStringConvertible {
        case tooManyBytes(most: Int)
        case wrongType
        case tooManyPixels(width: Int, height: Int, most: Int)
        /// It ends early or cannot be decoded.
        case damaged

        package var description: String {
            switch self {
            case .tooManyBytes(let most): "the file has more than \(most) bytes"
            case .wrongType: "the file is neither PNG nor JPEG"
            case .tooManyPixels(let width, let height, let most):
                "the picture has \(width)×\(height) pixels, more than \(most) in all"
            case .damaged: "the file is damaged or not complete"
            }
        }
    }

    /// The most scans of a JPEG; progressive files have about ten.
    static let maxScans = 64

    /// In pixels.
    package let width: Int
    package let height: Int
    /// Rows of `width` pixels of blue, green, red and opacity, the colours multiplied by the opacity.
    package let pixels: [UInt8]
    /// A digest of the file's bytes: files of equal bytes are equal pictures.
    private let digest: UInt64

    /// Decodes a file. Takes up to 0.3 s for 16 million pixels.
    package init(_ file: [UInt8], limits: Limits) throws(Fault) {
        guard file.count <= limits.bytes else { throw .tooManyBytes(most: limits.bytes) }
        guard let header = StillImageHeader(file) else { throw .wrongType }
        guard header.width > 0, header.height > 0, header.isComplete, header.scans <= Self.maxScans else {
            throw .damaged
        }
        guard header.width <= 1 << 16, header.height <= 1 << 16, header.width * header.height <= limits.pixels else {
            throw .tooManyPixels(width: header.width, height: header.height, most: limits.pixels)
        }
        let scale = min(1, Double(limits.side) / Double(max(header.width, header.height)))
        width = max(1, Int((Double(header.width) * scale).rounded()))
        height = max(1, Int((Double(header.height) * scale).rounded()))
        do {
            pixels = try Self.decode(file, header, width: width, height: height)
        } catch {
            throw .damaged
        }
        // FNV-1a, 64 bit.
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in file { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
        self.digest = digest
    }

    private static func decode(
        _ file: [UInt8], _ header: StillImageHeader, width: Int, height: Int
    ) throws(CodecError) -> [UInt8] {
        FFmpeg.silenced
        let name = header.format == .png ? "png" : "mjpeg"
        guard let codec = avcodec_find_decoder_by_name(name) else { throw .unavailable("the \(name) decoder") }
        var context = avcodec_alloc_context3(codec)
        defer { avcodec_free_context(&context) }
        let decoder = try FFmpeg.allocated(context, "picture decoder")
        decoder.pointee.thread_count = 1
        // FFmpeg counts rows of whole blocks of 64 pixels, and a JPEG's coded size has whole blocks too.
        decoder.pointee.max_pixels = Int64(header.width + 128) * Int64(header.height + 128)
        try FFmpeg.check(avcodec_open2(decoder, codec, nil), "picture decoder")
        let packet = try Packet()
        try packet.fill(file)
        try FFmpeg.check(avcodec_send_packet(decoder, packet.pointer), "picture")
        try FFmpeg.check(avcodec_send_packet(decoder, nil), "picture")
        let frame = try Frame()
        try FFmpeg.check(avcodec_receive_frame(decoder, frame.pointer), "picture")
        return try converted(frame, width: width, height: height)
    }

    private static func converted(_ frame: borrowing Frame, width: Int, height: Int) throws(CodecError) -> [UInt8] {
        let value = frame.pointer.pointee
        guard value.width > 0, value.height > 0,
            let scaler = sws_getContext(
                value.width, value.height, AVPixelFormat(rawValue: value.format), Int32(width), Int32(height),
                AV_PIX_FMT_BGRA, SWS_AREA, nil, nil, nil)
        else { throw .unsupportedInput("pixel format \(value.format)") }
        defer { sws_freeContext(scaler) }
        let planes: [UnsafePointer<UInt8>?] = [
            UnsafePointer(value.data.0), UnsafePointer(value.data.1), UnsafePointer(value.data.2),
            UnsafePointer(value.data.3),
        ]
        let strides = [value.linesize.0, value.linesize.1, value.linesize.2, value.linesize.3]
        // swscale may write whole vectors, past the end of a row.
        let rowBytes = (width * 4 + 63) & ~63
        var rows = [UInt8](repeating: 0, count: rowBytes * height + 64)
        let written = rows.withUnsafeMutableBufferPointer { buffer in
            let targets: [UnsafeMutablePointer<UInt8>?] = [buffer.baseAddress, nil, nil, nil]
            return sws_scale(scaler, planes, strides, 0, value.height, targets, [Int32(rowBytes), 0, 0, 0])
        }
        guard written == Int32(height) else { throw .unsupportedInput("pixel format \(value.format)") }
        var pixels = [UInt8](repeating: 0, count: width * height * 4)
        for row in 0..<height {
            for column in 0..<width {
                let (from, to) = (row * rowBytes + column * 4, (row * width + column) * 4)
                let opacity = Int(rows[from + 3])
                for part in 0..<3 { pixels[to + part] = UInt8((Int(rows[from + part]) * opacity + 127) / 255) }
                pixels[to + 3] = UInt8(opacity)
            }
        }
        return pixels
    }
}

extension StillImage {
    /// The picture as a PNG file's bytes, with its transparency.
    package func pngData() throws(CodecError) -> [UInt8] {
        try FFmpeg.png(width: width, height: height, format: AV_PIX_FMT_RGBA) { rows, stride in
            for row in 0..<height {
                let line = rows + row * stride
                for column in 0..<width {
                    let from = (row * width + column) * 4
                    let opacity = Int(pixels[from + 3])
                    // PNG's colours are not multiplied by the opacity (RFC 2083 §2.4).
                    for part in 0..<3 {
                        let colour = Int(pixels[from + 2 - part])
                        line[column * 4 + part] =
                            opacity == 0 ? 0 : UInt8(clamping: (colour * 255 + opacity / 2) / opacity)
                    }
                    line[column * 4 + 3] = UInt8(opacity)
                }
            }
        }
    }
}

extension StillImage: Hashable {
    package static func == (a: StillImage, b: StillImage) -> Bool {
        a === b || a.digest == b.digest && a.width == b.width && a.height == b.height
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
