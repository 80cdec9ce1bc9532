/// Cuts a TCP byte stream into RFC 4571 frames: two bytes of length, then that many bytes. Empty frames are skipped.
///
/// Keeps no more than one unfinished frame: whole ones are handed out where they lie.
struct FrameReader {
    /// RFC 4571 §2 allows 65 535; no packet of ours comes near.
    static let maxFrame = 8192

    /// The start of a frame whose rest has not come yet, its length included.
    private var pending: [UInt8] = []

    /// Takes what was read and hands out each whole frame. False when a frame is longer than any that this protocol
    /// sends: the other end does not speak it, and the connection should be closed.
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
                // Only the length is there, of a frame that is empty or begins now.
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
