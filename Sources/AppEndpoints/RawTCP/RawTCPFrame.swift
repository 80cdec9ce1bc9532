/// The frames of the raw TCP protocol: two bytes of length in big-endian order, 0xAB, 0x00, a JSON text, 0xEE.
///
/// The length counts the bytes behind it: the JSON's and three. The frames are those of the SocketClient of
/// `Xianlau/SwiftProject`, which has no other description.
package enum RawTCPFrame {
    /// The most bytes of a frame's JSON: its length field has 16 bits.
    package static let maxJSON = Int(UInt16.max) - overhead
    /// The bytes in front of the JSON.
    package static let prefix = 4
    /// The counted bytes beside the JSON: head, method and tail.
    package static let overhead = 3
    package static let head: UInt8 = 0xAB
    /// The method of encryption, which is always none.
    package static let method: UInt8 = 0x00
    package static let tail: UInt8 = 0xEE

    /// The frame of a JSON text; nil if that is too long.
    package static func encode(_ json: [UInt8]) -> [UInt8]? {
        guard json.count <= maxJSON else { return nil }
        let length = UInt16(json.count + overhead)
        var frame: [UInt8] = [UInt8(length >> 8), UInt8(length & 0xFF), head, method]
        frame.reserveCapacity(json.count + prefix + 1)
        frame += json
        frame.append(tail)
        return frame
    }

    /// The bytes of the frame of a JSON text.
    package static func size(json count: Int) -> Int { count + prefix + 1 }
}

/// What a client sent that is no frame. Its connection ends: nothing tells where the next frame would begin.
package enum RawTCPFault: String, Error, Sendable, CaseIterable {
    /// The length is below that of an empty frame.
    case length
    /// The frame is larger than this client may send now.
    case size
    case head
    case method
    case tail
    /// The JSON is none, or no message.
    case json
}

/// Cuts the bytes of one connection into frames, however they arrive.
///
/// It holds less than one frame and one read of bytes: each byte in front of the JSON is checked as soon as it is
/// there, so that a stranger's announcement of 64 KiB costs no memory.
package struct RawTCPFrameReader: Sendable {
    /// The most bytes of a JSON text that are taken now.
    package var maxJSON: Int
    private var buffer: [UInt8] = []
    private var start = 0

    package init(maxJSON: Int) { self.maxJSON = maxJSON }

    /// The bytes that wait for the rest of their frame.
    package var waiting: Int { buffer.count - start }

    package mutating func append(_ bytes: some Sequence<UInt8>) {
        buffer.removeSubrange(..<start)
        start = 0
        buffer += bytes
    }

    /// The JSON text of the next frame; nil until the rest of it has arrived.
    package mutating func next() throws(RawTCPFault) -> [UInt8]? {
        let count = waiting
        guard count >= 2 else { return nil }
        let length = Int(buffer[start]) << 8 | Int(buffer[start + 1])
        guard length >= RawTCPFrame.overhead else { throw .length }
        guard length - RawTCPFrame.overhead <= maxJSON else { throw .size }
        if count > 2, buffer[start + 2] != RawTCPFrame.head { throw .head }
        if count > 3, buffer[start + 3] != RawTCPFrame.method { throw .method }
        let end = start + 2 + length
        guard buffer.count >= end else { return nil }
        guard buffer[end - 1] == RawTCPFrame.tail else { throw .tail }
        defer { start = end }
        return Array(buffer[(start + RawTCPFrame.prefix)..<(end - 1)])
    }
}
