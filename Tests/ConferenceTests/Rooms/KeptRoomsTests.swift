import Basics
import Foundation
import Logging
import TestSupport
import Testing

@testable import Conference

/// What outlives rooms.
@Suite("Kept rooms")
struct KeptRoomsTests {
    private func kept() throws -> KeptRoom {
        var hosts = Hosts()
        let key = hosts.make()
        _ = try #require(key)
        return KeptRoom(hosts: hosts)
    }

    @Test("a room is kept for its time, is taken once, and one without hosts is not kept")
    func time() throws {
        var rooms = KeptRooms()
        rooms.keep(try kept(), of: "r", for: .v4(1), at: .zero)
        rooms.keep(KeptRoom(), of: "s", for: .v4(1), at: .zero)
        #expect(rooms.count == 1 && rooms.room("r", at: .zero + .seconds(3599))?.life == .seconds(1))
        #expect(rooms.room("r", at: .zero + .seconds(3600)) == nil)
        let taken = rooms.take("r", at: .zero + .seconds(60))
        #expect(taken?.hosts.awaitedUntil == .zero + .seconds(3600) && rooms.count == 0)
        #expect(rooms.take("r", at: .zero + .seconds(61)) == nil)
    }

    @Test("an address that makes rooms all day forgets its own, not the hosts of others")
    func flood() throws {
        var rooms = KeptRooms()
        let room = try kept()
        rooms.keep(room, of: "honest", for: .v4(0x0A00_0001), at: .zero)
        for number in 0..<(KeptRooms.limit * 2) {
            rooms.keep(room, of: "r\(number)", for: .v4(0xC000_0201), at: .zero + .seconds(1))
        }
        #expect(rooms.count <= KeptRooms.limit && rooms.room("honest", at: .zero + .seconds(2)) != nil)
    }

    private func join(_ conference: Conference, _ name: String, key: String? = nil) throws -> Participant {
        var request = AdmittedJoin(room: "r", name: name)
        (request.roleIsProven, request.isNative, request.hostKey) = (false, true, key)
        return try conference.join(request) { _ in }
    }

    @Test("a server that is killed knows the hosts when it is started again, and no file has a key")
    func killed() async throws {
        let scratch = ScratchDirectory()
        let path = scratch.path + "/data/rooms.json"
        try await withConference({ $0.roomsFile = path }) { first in
            let key = try #require(try join(first, "Ann").hostKey)
            func text() -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
            #expect(await eventually { text().contains("\"keys\"") })
            #expect(!text().contains(key))
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            // The first one is as if it were killed: it writes nothing more.
            let left = scratch.path + "/left.json"
            try FileManager.default.copyItem(atPath: path, toPath: left)
            try await withConference({ $0.roomsFile = left }) { second in
                let guest = try join(second, "Guest")
                let ann = try join(second, "Ann", key: key)
                #expect(guest.info?.role == .participant && ann.info?.role == .moderator)
            }
        }
    }

    @Test("a file that cannot be read, and a folder that cannot be written, cost the hosts and nothing else")
    func faults() async throws {
        let scratch = ScratchDirectory()
        for text in ["", "{", #"{"version":1,"rooms":[{"room":"r","hosts":{"keys":["x"]}},7]}"#] {
            let path = scratch.path + "/rooms.json"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            try await withConference({ $0.roomsFile = path }) { conference in
                let ann = try join(conference, "Ann")
                #expect(ann.info?.role == .moderator)
            }
        }
        try await withConference({ $0.roomsFile = "/proc/none/rooms.json" }) { conference in
            let ann = try join(conference, "Ann")
            #expect(ann.info?.role == .moderator)
        }
    }
}
