import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

@Suite struct RawTCPFrameTests {
    private func reader(_ bytes: [UInt8], max: Int = RawTCPFrame.maxJSON) -> RawTCPFrameReader {
        var reader = RawTCPFrameReader(maxJSON: max)
        reader.append(bytes)
        return reader
    }

    /// The app's login, byte by byte.
    private static let login =
        #"{"type":"login_req","source":0,"destination":0,"status":0,"detail_info":{"device_type":"ios"}}"#

    @Test func `a frame has its length, 0xAB, 0x00, the JSON and 0xEE`() throws {
        let frame = try #require(RawTCPFrame.encode(Array(Self.login.utf8)))
        #expect(frame.count == 99)
        // 0x0061: 94 bytes of JSON and three.
        #expect(frame.prefix(6) == [0x00, 0x61, 0xAB, 0x00, 0x7B, 0x22])
        #expect(frame.suffix(3) == [0x7D, 0x7D, 0xEE])
        var reader = reader(frame)
        #expect(try reader.next() == Array(Self.login.utf8))
        #expect(try reader.next() == nil)
    }

    @Test(arguments: [1, 2, 3, 5, 7, 64, 4096]) func `frames arrive in pieces of any size`(piece: Int) throws {
        let texts = ["{}", Self.login, "{\"a\":\"" + String(repeating: "x", count: 5000) + "\"}"]
        let bytes = texts.flatMap { RawTCPFrame.encode(Array($0.utf8)) ?? [] }
        var reader = RawTCPFrameReader(maxJSON: 8192)
        var found: [String] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            reader.append(bytes[start..<min(start + piece, bytes.count)])
            while let json = try reader.next() { found.append(String(decoding: json, as: UTF8.self)) }
        }
        #expect(found == texts)
        #expect(reader.waiting == 0)
    }

    @Test(
        arguments: [
            ([0x00, 0x02], RawTCPFault.length), ([0x00, 0x00, 0xAB], .length), ([0x00, 0x05, 0xAA], .head),
            ([0x00, 0x05, 0xAB, 0x01], .method), ([0x00, 0x05, 0xAB, 0x00, 0x7B, 0x7D, 0xED], .tail),
            ([0x40, 0x01, 0xAB, 0x00], .size), ([0xFF, 0xFF], .size),
        ] as [([UInt8], RawTCPFault)])
    func `a wrong byte ends the connection as soon as it is there`(bytes: [UInt8], fault: RawTCPFault) {
        var reader = reader(bytes, max: 16_381)
        #expect(throws: fault) { try reader.next() }
    }

    @Test func `the largest frame has 65,532 bytes of JSON`() throws {
        let json = [UInt8](repeating: 32, count: 65_532)
        let frame = try #require(RawTCPFrame.encode(json))
        #expect(frame.prefix(2) == [0xFF, 0xFF])
        #expect(RawTCPFrame.encode(json + [32]) == nil)
        var reader = reader(frame)
        #expect(try reader.next() == json)
    }

    @Test func `an announced frame costs no memory before its bytes`() throws {
        var reader = reader([0xFF, 0xFF, 0xAB, 0x00])
        #expect(try reader.next() == nil)
        #expect(reader.waiting == 4)
    }
}
