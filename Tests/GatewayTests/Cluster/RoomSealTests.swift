import Conference
import Testing

@testable import Admission
@testable import ClusterGateway
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct RoomSealTests {
    private let seal = RoomSeal(secret: TestNode.secret)
    private let state = Array(#"{"room": "r", "settings": {"pin": "4711"}}"#.utf8)

    @Test func `a state is read by who has the secret, and by nobody else`() throws {
        let sealed = try seal.sealed(state, of: "r")
        #expect(sealed.count == state.count + RoomSeal.overhead)
        #expect(try RoomSeal(secret: TestNode.secret).opened(sealed, of: "r") == state)
        #expect(sealed.firstRange(of: Array("4711".utf8)) == nil)
        #expect(try seal.sealed(state, of: "r") != sealed, "the same state twice does not show that it is the same")
        #expect(throws: BadRoomState.self) { try RoomSeal(secret: TestNode.secret + "!").opened(sealed, of: "r") }
        #expect(throws: BadRoomState.self) { try seal.opened(sealed, of: "other") }
    }

    @Test func `no bit of it can be changed, and no end is missing`() throws {
        let sealed = try seal.sealed(state, of: "r")
        for bit in 0..<sealed.count * 8 {
            var changed = sealed
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: BadRoomState.self) { try seal.opened(changed, of: "r") }
        }
        for count in 0..<sealed.count {
            #expect(throws: BadRoomState.self) { try seal.opened(Array(sealed.prefix(count)), of: "r") }
        }
        #expect(throws: BadRoomState.self) { try seal.opened(state, of: "r") }
    }

    /// Made with Python's `cryptography` (HKDF, AESGCM), as every version of the server has sealed it: nodes of two
    /// versions read each other's states while a cluster is updated.
    @Test func `what another version sealed is read`() throws {
        let sealed: [UInt8] = [
            0x01, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x30, 0x78, 0xB8, 0xBF, 0x11,
            0x4B, 0x98, 0x75, 0x75, 0x11, 0x62, 0x56, 0x47, 0x79, 0x89, 0x09, 0xBA, 0x29, 0x66, 0x76, 0xE6, 0x40, 0x37,
            0xD8, 0x12, 0xC3, 0x55, 0x1D,
        ]
        let other = RoomSeal(secret: "the secret of the nodes, of 32 bytes")
        #expect(try other.opened(sealed, of: "r") == Array(#"{"room":"r"}"#.utf8))
    }

    @Test func `an empty state is one`() throws {
        #expect(try seal.opened(seal.sealed([], of: ""), of: "") == [])
    }
}
