import Conference
import Testing

@testable import Gateway

@Suite struct RoomSealTests {
    private let seal = RoomSeal(secret: TestNode.secret)
    private let state = Array(#"{"room": "r", "settings": {"pin": "4711"}}"#.utf8)

    @Test func `a state is read by who has the secret, and by nobody else`() throws {
        let sealed = seal.sealed(state, of: "r")
        #expect(sealed.count == state.count + RoomSeal.overhead)
        #expect(try RoomSeal(secret: TestNode.secret).opened(sealed, of: "r") == state)
        #expect(sealed.firstRange(of: Array("4711".utf8)) == nil)
        #expect(seal.sealed(state, of: "r") != sealed, "the same state twice does not show that it is the same")
        #expect(throws: BadRoomState.self) { try RoomSeal(secret: TestNode.secret + "!").opened(sealed, of: "r") }
        #expect(throws: BadRoomState.self) { try seal.opened(sealed, of: "other") }
    }

    @Test func `no bit of it can be changed, and no end is missing`() {
        let sealed = seal.sealed(state, of: "r")
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

    @Test func `an empty state is one`() throws {
        #expect(try seal.opened(seal.sealed([], of: ""), of: "") == [])
    }
}
