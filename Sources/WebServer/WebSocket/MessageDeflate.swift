import CZlib
import NIOCore

/// One message by DEFLATE (RFC 1951), as permessage-deflate has it (RFC 7692 §7.2): without the four bytes with which
/// a flushed block ends. No message depends on another one, so that none of the memory of zlib stays behind.
enum MessageDeflate {
    enum Fault: Error, Equatable {
        /// The bytes are no such message.
        case malformed
        /// The message has more bytes than it may.
        case tooLarge
    }

    /// What ends a flushed block: an empty stored one, without its first bits.
    private static let end: [UInt8] = [0, 0, 0xFF, 0xFF]
    /// Of the window of 2^n bytes in which zlib looks for repetitions: a session description fits.
    static let windowBits = 13
    /// Of zlib's own table, 1 to 9.
    private static let memory = 7
    private static let level = 6
    /// Inflated at a time.
    private static let step = 16_384

    /// The compressed message; nil where that is no shorter.
    static func compress(_ message: ByteBuffer, windowBits: Int = Self.windowBits) -> ByteBuffer? {
        var stream = z_stream()
        guard zlib_deflate_raw(&stream, Int32(level), Int32(windowBits), Int32(memory)) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        // What would not be shorter finds no room.
        var output = ByteBuffer()
        var status = Z_OK
        message.withUnsafeReadableBytes { source in
            stream.next_in = UnsafeMutablePointer(mutating: source.assumingMemoryBound(to: Bytef.self).baseAddress)
            stream.avail_in = uInt(source.count)
            output.writeWithUnsafeMutableBytes(minimumWritableBytes: source.count + end.count) { target in
                stream.next_out = target.assumingMemoryBound(to: Bytef.self).baseAddress
                stream.avail_out = uInt(source.count + end.count)
                status = deflate(&stream, Z_SYNC_FLUSH)
                return source.count + end.count - Int(stream.avail_out)
            }
        }
        guard status == Z_OK, stream.avail_in == 0, stream.avail_out > 0,
            output.readableBytesView.suffix(end.count).elementsEqual(end)
        else { return nil }
        output.moveWriterIndex(to: output.writerIndex - end.count)
        return output.readableBytes < message.readableBytes ? output : nil
    }

    /// The message that was compressed.
    ///
    /// - Parameter most: the most bytes that it may have.
    static func inflate(_ compressed: ByteBuffer, most: Int) throws(Fault) -> ByteBuffer {
        var stream = z_stream()
        guard zlib_inflate_raw(&stream, MAX_WBITS) == Z_OK else { throw .malformed }
        defer { inflateEnd(&stream) }
        var input = compressed
        input.writeBytes(end)
        var output = ByteBuffer()
        var status = Z_OK
        input.withUnsafeReadableBytes { source in
            stream.next_in = UnsafeMutablePointer(mutating: source.assumingMemoryBound(to: Bytef.self).baseAddress)
            stream.avail_in = uInt(source.count)
            repeat {
                output.writeWithUnsafeMutableBytes(minimumWritableBytes: step) { target in
                    stream.next_out = target.assumingMemoryBound(to: Bytef.self).baseAddress
                    stream.avail_out = uInt(step)
                    status = CZlib.inflate(&stream, Z_NO_FLUSH)
                    return step - Int(stream.avail_out)
                }
            } while status == Z_OK && stream.avail_out == 0 && output.readableBytes <= most
        }
        // A message may also end with a block that says so (RFC 7692 §7.2.3.4); what follows it counts as nothing.
        guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else { throw .malformed }
        guard output.readableBytes <= most else { throw .tooLarge }
        guard status == Z_STREAM_END || stream.avail_in == 0 else { throw .malformed }
        return output
    }
}
