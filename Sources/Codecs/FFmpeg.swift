import CFFmpeg

/// The parts that all wrappers of FFmpeg share: they switch off its log and check its return codes.
enum FFmpeg {
    /// Evaluated before each use of the library.
    static var silenced: Void { FFmpegLog.silence() }

    /// The library's text for a return code.
    static func reason(_ code: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard let base = buffer.baseAddress, av_strerror(code, base, buffer.count) >= 0 else {
                return "error \(code)"
            }
            return String(cString: base)
        }
    }

    @discardableResult
    static func check(_ code: Int32, _ operation: StaticString) throws(CodecError) -> Int32 {
        if code >= 0 { return code }
        if code == kAVERROR_INVALIDDATA { throw .invalidData("\(operation)") }
        throw .failed(operation: "\(operation)", reason: reason(code))
    }

    /// Unwraps an allocation of FFmpeg, which is NULL when memory ran out.
    static func allocated<T>(_ pointer: UnsafeMutablePointer<T>?, _ what: StaticString) throws(CodecError)
        -> UnsafeMutablePointer<T>
    {
        guard let pointer else { throw .failed(operation: "\(what)", reason: "out of memory") }
        return pointer
    }
}

/// The sole owner of an AVPacket.
struct Packet: ~Copyable {
    let pointer: UnsafeMutablePointer<AVPacket>

    init() throws(CodecError) {
        pointer = try FFmpeg.allocated(av_packet_alloc(), "packet")
    }

    /// Fills the packet with a copy of `bytes` and the padding that FFmpeg's bit readers read past the end.
    func fill(_ bytes: [UInt8]) throws(CodecError) {
        guard let count = Int32(exactly: bytes.count) else { throw .invalidData("packet size") }
        try FFmpeg.check(av_new_packet(pointer, count), "packet")
        bytes.withUnsafeBufferPointer { source in
            if let base = source.baseAddress { pointer.pointee.data.update(from: base, count: source.count) }
        }
    }

    var bytes: [UInt8] {
        Array(UnsafeBufferPointer(start: pointer.pointee.data, count: Int(pointer.pointee.size)))
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVPacket>? = pointer
        av_packet_free(&pointer)
    }
}

/// The sole owner of an AVFrame.
struct Frame: ~Copyable {
    let pointer: UnsafeMutablePointer<AVFrame>

    init() throws(CodecError) {
        pointer = try FFmpeg.allocated(av_frame_alloc(), "frame")
    }

    /// Gives up the frame; the caller must free it.
    consuming func release() -> UnsafeMutablePointer<AVFrame> {
        let pointer = pointer
        discard self
        return pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVFrame>? = pointer
        av_frame_free(&pointer)
    }
}
