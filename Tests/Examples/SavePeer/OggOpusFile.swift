import Foundation
import Peer

/// An Ogg file with one Opus stream (RFC 3533, RFC 7845), with one packet per page.
struct OggOpusFile {
    /// Samples at 48 kHz that a decoder drops at the start: libopus's delay (RFC 7845 §4.2).
    private static let preSkip: UInt16 = 312
    /// Flags of a page (RFC 3533 §6).
    private static let firstPage: UInt8 = 2, lastPage: UInt8 = 4

    private let file: FileHandle
    private let serial = UInt32.random(in: 0...UInt32.max)
    private var pages: UInt32 = 0
    private var start: Int64?
    /// The last packet, which waits for the next one because the last page needs a flag.
    private var waiting: (packet: [UInt8], position: UInt64)?

    /// Creates the file with its two header pages.
    init(path: String) throws {
        file = try .creating(path)
        // Version 1, two channels, 48 kHz, no gain, channel mapping 0 (RFC 7845 §5.1).
        try writePage(
            "OpusHead".utf8 + [1, 2] + Self.preSkip.littleEndianBytes + UInt32(48_000).littleEndianBytes + [0, 0, 0], 0,
            Self.firstPage)
        let vendor = Array("save-peer".utf8)
        try writePage(
            "OpusTags".utf8 + UInt32(vendor.count).littleEndianBytes + vendor + UInt32(0).littleEndianBytes, 0, 0)
    }

    /// Appends an Opus packet. `timestamp` is in unwrapped ticks of 48 kHz with any start. A gap between packets is a
    /// gap in the file.
    mutating func append(_ packet: [UInt8], timestamp: Int64) throws {
        guard let samples = OpusPacket(packet)?.samples else { return }
        if let waiting { try writePage(waiting.packet, waiting.position, 0) }
        let begin = start ?? timestamp
        start = begin
        waiting = (packet, UInt64(max(0, timestamp &- begin)) &+ UInt64(samples))
    }

    /// Writes the last packet and closes the file.
    mutating func finish() throws {
        if let waiting { try writePage(waiting.packet, waiting.position, Self.lastPage) }
        waiting = nil
        try file.close()
    }

    /// - Parameter position: the number of samples up to the end of the packet.
    private mutating func writePage(_ packet: [UInt8], _ position: UInt64, _ flags: UInt8) throws {
        // The packet's length in segments of 255 bytes; a shorter segment ends it (RFC 3533 §6). Opus packets have at
        // most 1275 bytes (RFC 6716 §3.2.1).
        let segments = [UInt8](repeating: 255, count: packet.count / 255) + [UInt8(packet.count % 255)]
        var page =
            "OggS".utf8 + [0, flags] + position.littleEndianBytes + serial.littleEndianBytes + pages.littleEndianBytes
        page += [0, 0, 0, 0, UInt8(truncatingIfNeeded: segments.count)] + segments + packet
        page.replaceSubrange(22..<26, with: Self.checksum(page).littleEndianBytes)
        pages &+= 1
        try file.write(contentsOf: page)
    }

    /// CRC-32 with polynomial 0x04C11DB7, from 0 on and without reflection (RFC 3533 §6), of a page whose checksum
    /// field is zero.
    private static func checksum(_ page: [UInt8]) -> UInt32 {
        page.reduce(0) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte) << 24) { value, _ in value << 1 ^ (value >> 31 == 1 ? 0x04C1_1DB7 : 0) }
        }
    }
}

extension FixedWidthInteger {
    /// The bytes in little-endian order, as in Ogg.
    fileprivate var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}
