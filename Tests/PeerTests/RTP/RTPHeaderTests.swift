import Basics
import Testing

@testable import Peer

/// Macros cannot take spans apart; these take arrays.
extension RTPHeader {
    init(_ bytes: [UInt8]) throws(RTPError) { try self.init(parsing: bytes.span) }
    func value8(_ id: UInt8, _ bytes: [UInt8]) -> UInt8? { extension8(id, in: bytes.span) }
    func value16(_ id: UInt8, _ bytes: [UInt8]) -> UInt16? { extension16(id, in: bytes.span) }
    func element(_ id: UInt8, _ bytes: [UInt8]) -> Range<Int>? { extensionElement(id, in: bytes.span) }
}

@Suite struct RTPHeaderTests {
    @Test func `One-byte extensions, CSRC and padding are located`() throws {
        let bytes: [UInt8] = [
            0xB1, 0xE0, 0x12, 0x34, 0, 0, 0, 9, 0, 0, 0, 7,  // P, X, one CSRC, marker, PT 96
            0, 0, 0, 5,  // CSRC
            0xBE, 0xDE, 0, 2, 0x10, 0x8A, 0, 0x31, 0xAB, 0xCD, 0, 0,  // id 1 (1 byte), padding, id 3 (2 bytes)
            1, 2, 3, 0, 0, 3,
        ]
        let header = try RTPHeader(bytes)
        #expect(
            header.marker && header.payloadType == 96 && header.sequence == 0x1234 && header.timestamp == 9
                && header.ssrc == 7)
        #expect(header.payloadRange == 28..<31 && header.paddingCount == 3)
        #expect(header.value8(1, bytes) == 0x8A)
        #expect(header.value16(3, bytes) == 0xABCD)
        #expect(header.element(2, bytes) == nil)
    }

    @Test func `Two-byte extensions are parsed in the same stream`() throws {
        let bytes: [UInt8] = [
            0x90, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0x10, 0, 0, 2, 20, 3, 1, 2, 3, 4, 1, 0x61,
        ]
        let header = try RTPHeader(bytes)
        #expect(header.element(20, bytes)?.count == 3)
        #expect(header.value8(4, bytes) == 0x61)
    }

    @Test(
        arguments: [
            ([0x80, 96, 0, 1], RTPError.truncated),
            ([0x40, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7], .wrongVersion),
            ([0xA0, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7], .wrongPadding),
            ([0xA0, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0], .wrongPadding),
            ([0xA0, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 2], .wrongPadding),
            ([0x90, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0xBE, 0xDE, 0, 1], .truncated),
        ] as [([UInt8], RTPError)])
    func `Broken headers throw their fault`(bytes: [UInt8], error: RTPError) {
        #expect(throws: error) { try RTPHeader(bytes) }
    }

    @Test(arguments: [false, true]) func `A written packet is parsed unchanged`(twoByte: Bool) throws {
        var buffer = [UInt8](repeating: 0xFF, count: 200)
        let count = buffer.withUnsafeMutableBytes { memory -> Int? in
            var writer = RTPPacketWriter(
                memory, marker: true, payloadType: 111, sequence: 65535, timestamp: 0xFFFF_FFFF, ssrc: 42,
                twoByteExtensions: twoByte)
            writer.addExtension(4, "mid")
            writer.addExtension(3, UInt16(0x0102))
            [UInt8](1...9).withUnsafeBytes { writer.append($0) }
            return writer.finish()
        }
        let bytes = Array(buffer.prefix(try #require(count)))
        let header = try RTPHeader(bytes)
        #expect(bytes[header.payloadRange].elementsEqual(1...9))
        #expect(header.value16(3, bytes) == 0x0102)
        let mid = try #require(header.element(4, bytes))
        #expect(bytes[mid].elementsEqual("mid".utf8))
    }

    @Test func `A packet that does not fit is refused, not truncated`() {
        var buffer = [UInt8](repeating: 0, count: 20)
        buffer.withUnsafeMutableBytes { memory in
            var writer = RTPPacketWriter(memory, marker: false, payloadType: 1, sequence: 1, timestamp: 1, ssrc: 1)
            [UInt8](repeating: 0, count: 9).withUnsafeBytes { writer.append($0) }
            let length = writer.finish()
            #expect(length == nil)
        }
    }

    @Test func `Arbitrary bytes never trap`() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            if !bytes.isEmpty { bytes[0] = 0x80 | bytes[0] & 0x3F }
            guard let header = try? RTPHeader(bytes) else { continue }
            for id in UInt8(0)...20 { _ = header.element(id, bytes) }
            _ = RetransmittedPayload(header: header, in: bytes.span)
        }
    }

    @Test func `A probe of padding has no original sequence number`() throws {
        let probe: [UInt8] = [0xA0, 97, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 4]
        let none = RetransmittedPayload(header: try RTPHeader(probe), in: probe.span)
        #expect(none == nil)
        let packet: [UInt8] = [0x80, 97, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0x12, 0x34, 9]
        let original = RetransmittedPayload(header: try RTPHeader(packet), in: packet.span)
        #expect(original?.originalSequence == 0x1234 && original?.payloadRange == 14..<15)
    }
}
