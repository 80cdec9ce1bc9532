import NIOCore
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

@Suite struct EnginePayloadTests {
    private func decode(_ text: String) throws(EngineFault) -> [EnginePacket] {
        try EnginePayload.decode(text: Array(text.utf8))
    }

    @Test func `a handshake has the lengths that clients count`() {
        let open = EnginePacket(
            .open, #"{"sid":"Zk3_9aQ1","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":60000}"#)
        let body = EnginePayload.encode(text: [open, EnginePacket(.message, "0")])
        #expect(
            String(decoding: body, as: UTF8.self)
                == #"85:0{"sid":"Zk3_9aQ1","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":60000}2:40"#)
    }

    @Test func `lengths are UTF-16 units, so an emoji has two`() throws {
        #expect(try decode("7:42[\"😀\"1:2") == [EnginePacket(.message, "2[\"😀\""), EnginePacket(.ping)])
        #expect(try decode("4:4你好!") == [EnginePacket(.message, "你好!")])
        #expect(String(decoding: EnginePayload.encode(text: [EnginePacket(.message, "😀")]), as: UTF8.self) == "3:4😀")
    }

    @Test func `bytes go as b4 and base64, in both directions`() throws {
        let packet = EnginePacket(BinaryMessage([0, 255, 1]))
        let body = EnginePayload.encode(text: [packet])
        #expect(String(decoding: body, as: UTF8.self) == "6:b4AP8B")
        #expect(try EnginePayload.decode(text: body) == [packet])
    }

    @Test func `the Java client's octets`() throws {
        // Text of two bytes, then an attachment of three behind its kind.
        let body: [UInt8] = [0, 2, 0xFF, 0x34, 0x32, 1, 4, 0xFF, 4, 9, 8, 7]
        #expect(
            try EnginePayload.decode(octets: body)
                == [EnginePacket(.message, "2"), EnginePacket(BinaryMessage([9, 8, 7]))])
        #expect(Array(EnginePayload.encode(octets: try EnginePayload.decode(octets: body)).readableBytesView) == body)
    }

    @Test func `nothing is a payload of no packets`() throws {
        #expect(try decode("").isEmpty && decode("0:").isEmpty)
        #expect(try EnginePayload.decode(octets: []).isEmpty)
    }

    @Test(arguments: [
        "5", "5:", ":", "a:1", "1:", "2:4", "1:9", "1:x", "9999999999:4", "3:b4", "4:b4%%", "2:b5", "-1:4", "1:😀",
    ])
    func `a payload that breaks the format is malformed`(text: String) {
        // `3:b4` is one unit short.
        #expect(throws: EngineFault.malformed) { try decode(text) }
    }

    @Test(
        arguments: [
            [0], [0, 0xFF], [2, 1, 0xFF, 0x34], [0, 5, 0xFF, 0x34], [1, 0, 0xFF], [1, 1, 0xFF, 9], [0, 1, 0xFF, 0xFF],
            [0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0xFF], [0, 1, 0x20, 0x34],
        ] as [[UInt8]])
    func `octets that break the format are malformed`(bytes: [UInt8]) {
        #expect(throws: EngineFault.malformed) { try EnginePayload.decode(octets: bytes) }
    }

    @Test func `a body has a limited number of packets`() throws {
        #expect(try decode(String(repeating: "1:2", count: 256)).count == 256)
        #expect(throws: EngineFault.tooManyPackets) { try decode(String(repeating: "1:2", count: 257)) }
    }

    @Test func `a payload in pieces has the length that it names, and is what it was as a whole`() throws {
        let budget = ByteBudget(1 << 20, perAddress: 1 << 20)
        let large = [UInt8]((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
        let packets = [
            EnginePacket(try #require(SharedText("2[\"😀 你好\"]", budget, for: nil))),
            EnginePacket(BinaryMessage(large)), EnginePacket(BinaryMessage([1])), EnginePacket(BinaryMessage([])),
            EnginePacket(.noop),
        ]
        let plain = [EnginePacket(.message, "2[\"😀 你好\"]")] + packets.dropFirst()
        for isText in [true, false] {
            let pieces = EnginePieces(packets, isText: isText)
            let body = pieces.reduce(into: [UInt8]()) { $0 += $1.readableBytesView }
            #expect(body.count == pieces.count)
            let read = isText ? try EnginePayload.decode(text: body) : try EnginePayload.decode(octets: body)
            #expect(read == plain)
            // The largest piece of base64 is that of 48 KiB.
            if isText { #expect(pieces.allSatisfy { $0.readableBytes <= 65_536 }) }
        }
    }
}
