import Basics
import Foundation
import Testing

@testable import Conference

/// Who is the host of a room without tokens, and stays it. In simulated time.
@Suite("The hosts of a room")
struct HostTests {
    private var room = HostTests.room()

    private static func room() -> Room {
        Room(id: "r", settings: RoomSettings(), createdAt: Date(timeIntervalSince1970: 0), at: .zero)
    }

    @discardableResult
    private mutating func join(
        _ id: String, after time: Duration = .zero, key: String? = nil,
        _ change: (inout AdmittedJoin) -> Void = { _ in }
    ) throws(ConferenceError) -> Member {
        var request = AdmittedJoin(room: "r", name: id)
        (request.roleIsProven, request.isNative, request.hostKey) = (false, true, key)
        change(&request)
        return try room.join(request, id: id, secret: "s", at: .zero + time)
    }

    /// A room of the same name after the first one has ended, with what is kept for it until `until`.
    private mutating func begin(keptUntil until: Duration) {
        var kept = KeptRooms()
        kept.keep(room.kept, of: "r", for: .v4(1), at: .zero + until - Hosts.keep)
        room = Self.room()
        if let known = kept.take("r", at: .zero) { room.take(known) }
    }

    private mutating func wait(_ time: Duration) {
        if room.hostsAreDue(at: .zero + time) { room.endAwaitingHosts(at: .zero + time) }
    }

    private var roles: [String] { room.members.map { "\($0.id) \($0.role)" } }
    private func key(_ id: String) throws -> String { try #require(room.member(id)?.hostKey?.text) }

    @Test("the first gets a key of 130 bits, of which the room keeps a digest, and nobody else gets one")
    mutating func first() throws {
        try join("ann")
        try join("bob")
        let key = try key("ann")
        #expect(key.count == 26 && room.member("bob")?.hostKey == nil)
        #expect(room.hosts.keys.count == 1 && room.hosts.keys[0].count == 64 && room.hosts.keys[0] != key)
        let ann = try #require(room.member("ann"))
        #expect(!"\(ann)".contains(key), "no log line has it")
    }

    @Test("after a restart, or when all have left, the role is its holder's, whoever comes first")
    mutating func comesBack() throws {
        try join("ann")
        let key = try key("ann")
        begin(keptUntil: Hosts.keep)
        try join("guest")
        try join("other", key: "a-key-of-another-room-123")
        #expect(roles == ["guest participant", "other participant"])
        try join("back", key: key)
        #expect(roles == ["guest participant", "other participant", "back moderator"])
        #expect(try self.key("back") == key, "it is the same one again")
        room.leave("back", .timeout, at: .zero)
        try join("again", key: key)
        #expect(roles.last == "again moderator")
    }

    @Test("an hour after the last one has left the keys are over, and who waits until then acts")
    mutating func time() throws {
        try join("ann")
        let key = try key("ann")
        begin(keptUntil: Hosts.keep - .seconds(600))
        try join("guest")
        wait(.seconds(2900))
        #expect(roles == ["guest participant"])
        wait(.seconds(3001))
        #expect(roles == ["guest moderator"] && room.member("guest")?.hostKey == nil)
        try join("back", key: key)
        #expect(roles == ["guest participant", "back moderator"], "until the host is back")

        room = Self.room()
        try join("ann")
        begin(keptUntil: .zero)
        try join("guest")
        #expect(roles == ["guest moderator"] && room.member("guest")?.hostKey != nil, "it is another host's room now")
    }

    @Test("a room that stays without anyone forgets its keys after an hour, but not the API's")
    mutating func standing() throws {
        try join("ann")
        room.leave("ann", at: .zero + .seconds(10))
        wait(.seconds(3600))
        #expect(!room.hosts.isEmpty)
        wait(.seconds(3611))
        #expect(room.hosts.isEmpty)
        room.give(HostKey("given-by-the-program-1234"))
        wait(.seconds(100_000))
        #expect(!room.hosts.isEmpty)
    }

    @Test("bots, viewers, and clients that cannot moderate never inherit")
    mutating func bots() throws {
        try join("bot") { $0.mayHost = false }
        try join("viewer") { $0.role = .viewer }
        try join("app") { $0.isNative = false }
        #expect(room.hosts.isEmpty && !roles.contains { $0.hasSuffix("moderator") })
        try join("ann")
        room.leave("ann", at: .zero)
        wait(.seconds(10_000))
        #expect(roles == ["bot participant", "viewer viewer", "app participant"])
        try join("app 2", key: "whatever-it-is-1234567890") { $0.isNative = false }
        #expect(!roles.contains { $0.hasSuffix("moderator") })
    }

    @Test("those in the room wait two minutes for a host that is lost, and go on at once without one that has left")
    mutating func absence() throws {
        try join("ann")
        let key = try key("ann")
        try join("bob")
        room.leave("ann", .timeout, at: .zero + .seconds(100))
        wait(.seconds(219))
        #expect(roles == ["bob participant"])
        wait(.seconds(220))
        #expect(roles == ["bob moderator"])
        try join("ann 2", after: .seconds(300), key: key)
        #expect(roles == ["bob participant", "ann 2 moderator"])
        room.leave("ann 2", .left, at: .zero + .seconds(400))
        #expect(roles == ["bob moderator"])
        try join("ann 3", after: .seconds(500), key: key)
        // A page that is loaded again says so.
        try room.mayReturn("ann 3")
        room.leave("ann 3", .left, at: .zero + .seconds(600))
        #expect(roles == ["bob participant"])
        try join("ann 4", after: .seconds(602), key: key)
        wait(.seconds(10_000))
        #expect(roles == ["bob participant", "ann 4 moderator"])
    }

    @Test("the key opens lock, PIN and waiting room, and no other text does")
    mutating func door() throws {
        try join("ann")
        let key = try key("ann")
        (room.settings.locked, room.settings.pin, room.settings.admit) = (true, RoomPIN("4711"), .moderator)
        for wrong in [nil, "", String(key.dropLast()), key + "x", key.uppercased(), room.hosts.keys[0]] {
            let error = #expect(throws: ConferenceError.self) { try join("x", key: wrong) }
            #expect(error?.kind == "pinRequired")
        }
        #expect(try join("ann 2", key: key).role == .moderator)
        #expect(throws: ConferenceError.mustWait("r")) { try join("ann 3", key: key) { $0.wasRemoved = true } }
    }

    @Test("a co-host gets a key of its own, which ends with the role and with a removal")
    mutating func others() throws {
        for id in ["ann", "bob", "cy"] { try join(id) }
        _ = try room.moderate(.changeRole("bob", .moderator), by: "ann")
        _ = try room.moderate(.changeRole("cy", .moderator), by: "bob")
        let (ann, bob, cy) = (try key("ann"), try key("bob"), try key("cy"))
        _ = try room.moderate(.changeRole("bob", .presenter), by: "ann")
        room.noteAbsence(of: "cy", .removed)
        room.leave("cy", .removed, at: .zero)
        #expect(try join("bob 2", key: bob).role == .participant && join("cy 2", key: cy).role == .participant)
        #expect(try join("ann 2", key: ann).role == .moderator)
    }

    @Test("a room has at most 16 keys; who acts gives none, and steps back")
    mutating func most() throws {
        try join("ann")
        for number in 1...20 {
            try join("h\(number)")
            _ = try room.moderate(.changeRole("h\(number)", .moderator), by: "ann")
        }
        #expect(room.hosts.keys.count == Hosts.most)

        room = Self.room()
        for id in ["ann", "bob", "cy"] { try join(id) }
        let key = try key("ann")
        room.leave("ann", at: .zero)
        _ = try room.moderate(.changeRole("cy", .moderator), by: "bob")
        #expect(roles == ["bob moderator", "cy moderator"] && room.member("cy")?.hostKey == nil)
        try join("ann 2", key: key)
        #expect(roles == ["bob participant", "cy participant", "ann 2 moderator"])
    }

    @Test("with the API's key nobody else is a host by being first, by inheriting, or by an earlier key")
    mutating func given() throws {
        try join("ann")
        let own = try key("ann")
        var change = RoomSettingsChange()
        change.hostKey = "given-by-the-program-1234"
        try room.change(change)
        try join("program", key: change.hostKey)
        #expect(roles == ["ann participant", "program moderator"])
        room.leave("program", .left, at: .zero)
        wait(.seconds(100_000))
        try join("ann 2", key: own)
        #expect(!roles.contains { $0.hasSuffix("moderator") })
        for bad in ["short", String(repeating: "a", count: 129), "spaces are not allowed in it"] {
            change.hostKey = bad
            #expect(throws: ConferenceError.self) { try room.change(change) }
        }
        change.hostKey = ""
        try room.change(change)
        #expect(try join("next").role == .moderator)
    }
}
