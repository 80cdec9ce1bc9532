/// Splits a TCP byte stream into RFC 4571 frames: two bytes of length, then that many bytes. Empty frames are skipped.
///
/// The reader keeps at most one unfinished frame; it delivers whole frames without a copy.
struct FrameReader {
    /// RFC 4571 §2 allows 65 535 bytes; no packet of a peer comes near that.
    static let maxFrame = 8192

    /// The received part of an unfinished frame, its length field included.
    private var pending: [UInt8] = []

    /// Takes received bytes and delivers each whole frame to `body`. Returns false where a frame is longer than
    /// `maxFrame`: the other end does not speak RFC 4571, and the connection should be closed.
    mutating func append(_ bytes: UnsafeMutableRawBufferPointer, _ body: (UnsafeMutableRawBufferPointer) -> Void)
        -> Bool
    {
        var offset = 0
        while !pending.isEmpty {
            let whole = pending.count < 2 ? 2 : 2 + Self.length(pending[0], pending[1])
            let piece = min(whole - pending.count, bytes.count - offset)
            pending.append(contentsOf: bytes[offset..<offset + piece])
            offset += piece
            guard pending.count == whole else { return true }
            if whole == 2 {
                // Only the length field is complete; the frame is empty or begins with the next byte.
                let length = Self.length(pending[0], pending[1])
                guard length <= Self.maxFrame else { return false }
                if length == 0 { pending.removeAll(keepingCapacity: true) }
                if offset == bytes.count { return true }
                continue
            }
            pending.withUnsafeMutableBytes { body(UnsafeMutableRawBufferPointer(rebasing: $0[2...])) }
            pending.removeAll(keepingCapacity: true)
        }
        while bytes.count - offset >= 2 {
            let length = Self.length(bytes[offset], bytes[offset + 1])
            guard length <= Self.maxFrame else { return false }
            guard bytes.count - offset - 2 >= length else { break }
            if length > 0 { body(UnsafeMutableRawBufferPointer(rebasing: bytes[offset + 2..<offset + 2 + length])) }
            offset += 2 + length
        }
        if offset < bytes.count { pending.append(contentsOf: bytes[offset...]) }
        return true
    }

    private static func length(_ high: UInt8, _ low: UInt8) -> Int { Int(high) << 8 | Int(low) }
}
