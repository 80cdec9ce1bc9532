/// Bytes that a demuxer reads: a file, or what a server sends. One thread uses it.
package protocol ByteSource: AnyObject {
    /// The number of bytes in all; nil where it is not known.
    var length: Int64? { get }
    /// Whether `seek` works.
    var isSeekable: Bool { get }

    /// Reads at most `buffer.count` bytes, at least one, and returns their number; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
    /// Sets the position of the next read.
    func seek(to position: Int64) throws
}
