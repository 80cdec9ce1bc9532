import CFFmpeg
import Glibc

/// What libavformat asks while it opens and reads. Its callbacks run on the thread that called the library.
final class DemuxerCallbacks {
    private let interrupt: ReadInterrupt
    private let nested: MediaDemuxer.Nested?
    /// The error that a callback could not hand through the library.
    private var failure: (any Error)?
    /// Whether that one ends the source: a playlist would go on with its next part.
    private var isFinal = false

    init(_ interrupt: ReadInterrupt, _ nested: MediaDemuxer.Nested?) {
        self.interrupt = interrupt
        self.nested = nested
    }

    /// The error of a call that returned `code`.
    func error(_ code: Int32, _ io: SourceIO? = nil) -> any Error {
        if interrupt.isCancelled { return DemuxError.cancelled }
        if let failure = failure ?? io?.failure { return failure }
        // The library may hand out what it still has before it tells that it was interrupted.
        if interrupt.mustStop || code == kAVERROR_EXIT { return DemuxError.timedOut }
        if code == kAVERROR_INVALIDDATA { return DemuxError.failed("its format is not known, or its data is damaged") }
        // Of `format_whitelist`.
        if code == cffmpeg_error_from_errno(EINVAL) {
            return DemuxError.failed("its format is none of those that are read")
        }
        return DemuxError.failed(FFmpeg.reason(code))
    }

    fileprivate var mustStop: Bool { interrupt.mustStop || isFinal }

    fileprivate func open(_ url: String, _ range: Range<Int64>?) -> SourceIO? {
        guard let nested else { return nil }
        do {
            let io = try SourceIO(try nested(url, range))
            failure = nil
            return io
        } catch {
            failure = error
            isFinal = (error as? any FinalError)?.isFinal ?? false
            return nil
        }
    }
}

nonisolated func mustStop(_ opaque: UnsafeMutableRawPointer?) -> Int32 {
    guard let opaque else { return 1 }
    return Unmanaged<DemuxerCallbacks>.fromOpaque(opaque).takeUnretainedValue().mustStop ? 1 : 0
}

/// Opens what a playlist names. The library calls it with the outermost context, also for what is nested deeper.
nonisolated func openNested(
    _ format: UnsafeMutablePointer<AVFormatContext>?,
    _ result: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>?,
    _ url: UnsafePointer<CChar>?, _ flags: Int32, _ options: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
    let refused = cffmpeg_error_from_errno(EPERM)
    guard let opaque = format?.pointee.opaque, let result, let url, flags & AVIO_FLAG_WRITE == 0 else { return refused }
    func number(_ key: String) -> Int64? {
        av_dict_get(options?.pointee, key, nil, 0).flatMap { Int64(String(cString: $0.pointee.value)) }
    }
    var range: Range<Int64>?
    if let start = number("offset"), let end = number("end_offset"), start >= 0, end > start { range = start..<end }
    let callbacks = Unmanaged<DemuxerCallbacks>.fromOpaque(opaque).takeUnretainedValue()
    guard let io = callbacks.open(String(cString: url), range) else { return refused }
    // Released by `closeNested`.
    result.pointee = Unmanaged.passRetained(io).takeUnretainedValue().context
    return 0
}

/// Frees what `openNested` made.
nonisolated func closeNested(
    _ format: UnsafeMutablePointer<AVFormatContext>?, _ context: UnsafeMutablePointer<AVIOContext>?
) -> Int32 {
    guard let opaque = context?.pointee.opaque else { return 0 }
    Unmanaged<SourceIO>.fromOpaque(opaque).release()
    return 0
}
