import CFFmpeg
import Glibc

/// The face of a `ByteSource` for libavformat.
///
/// The library calls back on the thread of the demuxer that owns this, and only while it exists: `deinit` frees the
/// library's object first.
final class SourceIO {
    let source: any ByteSource
    let context: UnsafeMutablePointer<AVIOContext>
    fileprivate var position: Int64 = 0
    /// The error that a callback could not hand through the library.
    fileprivate(set) var failure: (any Error)?

    private static let bufferSize: Int32 = 32_768

    init(_ source: any ByteSource) throws(CodecError) {
        self.source = source
        guard let buffer = av_malloc(Int(Self.bufferSize)) else {
            throw .failed(operation: "demuxer", reason: "out of memory")
        }
        guard
            let context = avio_alloc_context(
                buffer.assumingMemoryBound(to: UInt8.self), Self.bufferSize, 0, nil, readFromSource, nil, seekInSource)
        else {
            av_free(buffer)
            throw .failed(operation: "demuxer", reason: "out of memory")
        }
        self.context = context
        context.pointee.seekable = source.isSeekable ? AVIO_SEEKABLE_NORMAL : 0
        context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        var context: UnsafeMutablePointer<AVIOContext>? = context
        av_freep(&self.context.pointee.buffer)
        avio_context_free(&context)
    }

    fileprivate func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int32 {
        do {
            let count = try source.read(into: buffer)
            position += Int64(count)
            return count > 0 ? Int32(clamping: count) : kAVERROR_EOF
        } catch {
            failure = error
            return error as? DemuxError == .cancelled ? kAVERROR_EXIT : cffmpeg_error_from_errno(EIO)
        }
    }

    fileprivate func seek(_ offset: Int64, _ whence: Int32) -> Int64 {
        let failed = Int64(cffmpeg_error_from_errno(EIO))
        if whence & AVSEEK_SIZE != 0 { return source.length ?? failed }
        let target: Int64? =
            switch whence & ~AVSEEK_FORCE {
            case SEEK_SET: offset
            case SEEK_CUR: position &+ offset
            case SEEK_END: source.length.map { $0 &+ offset }
            default: nil
            }
        guard let target, target >= 0 else { return failed }
        if target == position { return position }
        do {
            try source.seek(to: target)
            position = target
            return target
        } catch {
            failure = error
            return failed
        }
    }
}

private nonisolated func readFromSource(
    _ opaque: UnsafeMutableRawPointer?, _ buffer: UnsafeMutablePointer<UInt8>?, _ size: Int32
) -> Int32 {
    guard let opaque, let buffer, size > 0 else { return cffmpeg_error_from_errno(EINVAL) }
    return Unmanaged<SourceIO>.fromOpaque(opaque).takeUnretainedValue().read(
        UnsafeMutableRawBufferPointer(start: buffer, count: Int(size)))
}

private nonisolated func seekInSource(_ opaque: UnsafeMutableRawPointer?, _ offset: Int64, _ whence: Int32) -> Int64 {
    guard let opaque else { return Int64(cffmpeg_error_from_errno(EINVAL)) }
    return Unmanaged<SourceIO>.fromOpaque(opaque).takeUnretainedValue().seek(offset, whence)
}
