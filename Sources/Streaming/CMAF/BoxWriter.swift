import Basics

/// Writes boxes of an MP4 (ISO/IEC 14496-12 §4.2), whose sizes it fills in.
struct BoxWriter {
    private(set) var bytes: [UInt8] = []

    /// A box with what `body` writes.
    mutating func box(_ kind: String, _ body: (inout BoxWriter) -> Void) {
        let start = bytes.count
        bytes.append32(0)
        bytes += kind.utf8
        body(&self)
        put(UInt32(clamping: bytes.count - start), at: start)
    }

    /// A box with a version and flags.
    mutating func fullBox(_ kind: String, version: UInt8 = 0, flags: UInt32 = 0, _ body: (inout BoxWriter) -> Void) {
        box(kind) { writer in
            writer.bytes.append32(UInt32(version) << 24 | flags & 0xFF_FFFF)
            body(&writer)
        }
    }

    mutating func u8(_ values: UInt8...) { bytes += values }
    mutating func u16(_ values: UInt16...) { for value in values { bytes.append16(value) } }
    mutating func u32(_ values: UInt32...) { for value in values { bytes.append32(value) } }
    mutating func u64(_ value: UInt64) { bytes.append64(value) }
    mutating func text(_ text: String) { bytes += text.utf8 }
    mutating func raw(_ data: [UInt8]) { bytes += data }
    mutating func zeros(_ count: Int) { bytes += [UInt8](repeating: 0, count: count) }

    /// The place of the next byte.
    var position: Int { bytes.count }

    /// Replaces four bytes.
    mutating func put(_ value: UInt32, at place: Int) {
        for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * index)) }
    }
}
