/// Cuts a TCP byte stream into RFC 4571 frames: two bytes of length, then that many bytes. Empty frames are skipped.
struct FrameReader {
    /// RFC 4571 §2 allows 65 535; no packet of ours comes near.
    static let maxFrame = 8192

    private var pending: [UInt8] = []

    /// Adds what was read and hands out each whole frame. False when a frame is longer than any that this protocol sends:
    /// the other end does not speak it, and the connection should be closed.
    mutating func append(_ bytes: UnsafeRawBufferPointer, _ body: (UnsafeMutableRawBufferPointer) -> Void) -> Bool {
        pending.append(contentsOf: bytes)
        var offset = 0
        var valid = true
        while pending.count - offset >= 2 {
            let length = Int(pending[offset]) << 8 | Int(pending[offset + 1])
            if length > FrameReader.maxFrame {
                valid = false
                break
            }
            guard pending.count - offset - 2 >= length else { break }
            if length > 0 {
                let range = offset + 2..<offset + 2 + length
                pending.withUnsafeMutableBytes { body(UnsafeMutableRawBufferPointer(rebasing: $0[range])) }
            }
            offset += 2 + length
        }
        pending.removeFirst(offset)
        return valid
    }
}
