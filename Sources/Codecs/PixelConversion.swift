import CFFmpeg

/// Converts frames of any pixel format to I420 of limited range; frames that already are pass through without a copy.
struct PixelConverter: ~Copyable {
    private var context: OpaquePointer?
    /// The format that `context` was made for.
    private var source = Source(width: 0, height: 0, format: 0, isFullRange: false)

    private struct Source: Equatable {
        var width, height, format: Int32
        var isFullRange: Bool
    }

    init() {}

    deinit { sws_freeContext(context) }

    /// Converts a frame, which it takes over. Full range, 4:2:2, 4:4:4, 10 bit and RGB are converted by swscale.
    mutating func picture(from frame: consuming Frame) throws(CodecError) -> Picture {
        let value = frame.pointer.pointee
        let isFullRange =
            value.color_range == AVCOL_RANGE_JPEG
            || [AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P].contains { $0.rawValue == value.format }
        if value.format == AV_PIX_FMT_YUV420P.rawValue, !isFullRange {
            guard let picture = Picture(owning: frame) else {
                throw .unsupportedInput("a decoded frame without planes")
            }
            return picture
        }
        guard value.width > 0, value.height > 0 else { throw .unsupportedInput("a frame without pixels") }
        let source = Source(width: value.width, height: value.height, format: value.format, isFullRange: isFullRange)
        if source != self.source || context == nil { try open(source) }
        let picture = Picture(width: Int(value.width), height: Int(value.height))
        let sourcePlanes: [UnsafePointer<UInt8>?] = [
            UnsafePointer(value.data.0), UnsafePointer(value.data.1), UnsafePointer(value.data.2),
            UnsafePointer(value.data.3),
        ]
        let sourceStrides = [value.linesize.0, value.linesize.1, value.linesize.2, value.linesize.3]
        let planes: [UnsafeMutablePointer<UInt8>?] = [picture.y, picture.u, picture.v, nil]
        let strides = [Int32(picture.yStride), Int32(picture.uStride), Int32(picture.vStride), 0]
        let rows = sws_scale(context, sourcePlanes, sourceStrides, 0, value.height, planes, strides)
        // Reading the frame here also keeps it alive until swscale is done.
        guard rows == frame.pointer.pointee.height else {
            throw .unsupportedInput("pixel format \(value.format) cannot be converted")
        }
        return picture
    }

    private mutating func open(_ source: Source) throws(CodecError) {
        sws_freeContext(context)
        self.source = source
        // swscale chooses its method while it opens, and copies planes when both formats look equal. It must know the
        // range by then, which only the `yuvj` formats convey.
        let format = Self.named(AVPixelFormat(rawValue: source.format), isFullRange: source.isFullRange)
        context = sws_getContext(
            source.width, source.height, format, source.width, source.height, AV_PIX_FMT_YUV420P, SWS_BILINEAR, nil,
            nil, nil)
        guard let context else { throw .unsupportedInput("pixel format \(source.format) cannot be converted") }
        // Formats without a `yuvj` variant (10 bit) get the range here.
        let coefficients = sws_getCoefficients(SWS_CS_ITU601)
        sws_setColorspaceDetails(
            context, coefficients, source.isFullRange ? 1 : 0, coefficients, 0, 0, 1 << 16, 1 << 16)
    }

    private static func named(_ format: AVPixelFormat, isFullRange: Bool) -> AVPixelFormat {
        guard isFullRange else { return format }
        return switch format {
        case AV_PIX_FMT_YUV420P: AV_PIX_FMT_YUVJ420P
        case AV_PIX_FMT_YUV422P: AV_PIX_FMT_YUVJ422P
        case AV_PIX_FMT_YUV444P: AV_PIX_FMT_YUVJ444P
        default: format
        }
    }
}
