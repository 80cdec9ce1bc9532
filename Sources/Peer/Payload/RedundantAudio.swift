import Basics

/// The blocks of a packet with redundant audio (RFC 2198 §3): copies of earlier payloads, oldest first, and the newest
/// payload last.
///
/// A copy's header has four bytes: a 1 bit, its payload type, how much earlier its timestamp is (14 bits), its length
/// (10 bits). The newest payload's header is one byte, and it takes the rest of the packet.
struct RedundantAudio: Sendable, Equatable {
    /// One payload in the packet.
    struct Block: Sendable, Equatable {
        var payloadType: UInt8
        /// How many ticks of the stream's clock it is older than the packet's timestamp.
        var timestampOffset: Int
        /// Its range in the parsed payload.
        var range: Range<Int>
    }

    /// libwebrtc accepts as many; nobody sends more than a handful.
    static let maximumBlocks = 32
    /// 14 bits: 341 ms at 48 kHz.
    static let maximumOffset = 0x3FFF
    /// 10 bits.
    static let maximumCopy = 0x3FF
    /// The header bytes of a copy, and of the newest payload.
    static let copyHeader = 4
    static let newestHeader = 1

    /// In the packet's order: the newest payload is the last.
    private(set) var blocks: [Block] = []

    /// nil if a header is truncated, the lengths do not fit, or there are more blocks than `maximumBlocks`.
    init?(parsing payload: Span<UInt8>) {
        var lengths: [Int] = []
        var reader = ByteReader(payload)
        do {
            while true {
                let first = try reader.readUInt8()
                guard first & 0x80 != 0 else {
                    blocks.append(Block(payloadType: first, timestampOffset: 0, range: 0..<0))
                    break
                }
                guard blocks.count < Self.maximumBlocks - 1 else { return nil }
                let rest = try reader.readUInt24()
                blocks.append(Block(payloadType: first & 0x7F, timestampOffset: Int(rest >> 10), range: 0..<0))
                lengths.append(Int(rest) & Self.maximumCopy)
            }
            lengths.append(reader.remaining - lengths.reduce(0, +))
            for (index, length) in lengths.enumerated() { blocks[index].range = try reader.take(length) }
        } catch {
            return nil
        }
    }

    /// Whether a copy of this many bytes and this age can be carried.
    static func canCarry(_ count: Int, age: Int64) -> Bool {
        (1...maximumCopy).contains(count) && (1...Int64(maximumOffset)).contains(age)
    }

    /// An earlier payload that a packet carries.
    struct Copy {
        var payload: [UInt8]
        /// In ticks of the stream's clock.
        var age: Int64
    }

    /// Writes the payload of a packet with copies, the oldest first. See `canCarry`.
    static func write(copies: [Copy], newest: [UInt8], payloadType: UInt8, into writer: inout RTPPacketWriter) {
        for copy in copies {
            writer.append(0x80 | payloadType)
            writer.append16(UInt16(truncatingIfNeeded: copy.age << 2 | Int64(copy.payload.count) >> 8))
            writer.append(UInt8(truncatingIfNeeded: copy.payload.count))
        }
        writer.append(payloadType & 0x7F)
        for copy in copies { copy.payload.withUnsafeBytes { writer.append($0) } }
        newest.withUnsafeBytes { writer.append($0) }
    }
}
