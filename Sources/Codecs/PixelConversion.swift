import CFFmpeg

/// Turns frames of any pixel format into I420 of limited range; what already is that passes through untouched.
struct PixelConverter: ~Copyable {
    private var context: OpaquePointer?

    init() {}

    deinit { sws_freeContext(context) }

    /// Takes the frame over. Full range, 4:2:2, 4:4:4, 10 bit and RGB go through swscale.
    mutating func picture(from frame: consuming Frame) throws(CodecError) -> Picture {
        let value = frame.pointer.pointee
        let isFullRange = value.color_range == AVCOL_RANGE_JPEG || value.format == AV_PIX_FMT_YUVJ420P.rawValue
        if value.format == AV_PIX_FMT_YUV420P.rawValue, !isFullRange {
            guard let picture = Picture(owning: frame) else { throw .unsupportedInput("a decoded frame without planes") }
            return picture
        }
        guard value.width > 0, value.height > 0 else { throw .unsupportedInput("a frame without pixels") }
        let source = Self.modern(AVPixelFormat(rawValue: value.format))
        context = sws_getCachedContext(
            context, value.width, value.height, source, value.width, value.height, AV_PIX_FMT_YUV420P,
            SWS_BILINEAR, nil, nil, nil)
        guard let context else { throw .unsupportedInput("pixel format \(value.format) cannot be converted") }
        let coefficients = sws_getCoefficients(SWS_CS_ITU601)
        sws_setColorspaceDetails(context, coefficients, isFullRange ? 1 : 0, coefficients, 0, 0, 1 << 16, 1 << 16)
        let picture = Picture(width: Int(value.width), height: Int(value.height))
        let sourcePlanes: [UnsafePointer<UInt8>?] = [
            UnsafePointer(value.data.0), UnsafePointer(value.data.1), UnsafePointer(value.data.2), UnsafePointer(value.data.3),
        ]
        let sourceStrides = [value.linesize.0, value.linesize.1, value.linesize.2, value.linesize.3]
        let planes: [UnsafeMutablePointer<UInt8>?] = [picture.y, picture.u, picture.v, nil]
        let strides = [Int32(picture.yStride), Int32(picture.uStride), Int32(picture.vStride), 0]
        let rows = sws_scale(context, sourcePlanes, sourceStrides, 0, value.height, planes, strides)
        guard rows == value.height else { throw .unsupportedInput("pixel format \(value.format) cannot be converted") }
        return picture
    }

    /// The `yuvj` formats are their plain ones with full range said in the name; swscale wants the range said apart.
    private static func modern(_ format: AVPixelFormat) -> AVPixelFormat {
        switch format {
        case AV_PIX_FMT_YUVJ420P: AV_PIX_FMT_YUV420P
        case AV_PIX_FMT_YUVJ422P: AV_PIX_FMT_YUV422P
        case AV_PIX_FMT_YUVJ444P: AV_PIX_FMT_YUV444P
        default: format
        }
    }
}
