import Basics
import Foundation
import Testing

@testable import Conference

/// In simulated time.
@Suite("Guest links")
struct GuestLinkTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)
    private var room = Room(id: "r", settings: RoomSettings(), createdAt: Date(timeIntervalSince1970: 0), at: .zero)

    private mutating func make(_ change: (inout GuestLinkRequest) -> Void = { _ in }) throws(ConferenceError)
        -> GuestLink
    {
        var wish = GuestLinkRequest()
        change(&wish)
        return try room.makeLink(wish, at: now)
    }

    @discardableResult
    private mutating func join(
        _ id: String, by link: GuestLink, _ visit: String? = nil, secret: String? = nil, after time: TimeInterval = 0,
        _ change: (inout AdmittedJoin) -> Void = { _ in }
    ) throws(ConferenceError) -> Member {
        var request = AdmittedJoin(room: "r", name: id)
        (request.roleIsProven, request.isNative, request.visit) = (false, true, visit)
        request.guestPass = GuestPass(link: link.id, secret: secret ?? link.secret)
        change(&request)
        let admitted = try room.admitted(request, at: now + time)
        let member = try room.join(admitted, id: id, secret: "s", at: .zero)
        try room.useLink(of: admitted, by: id)
        return member
    }

    private func refuses(
        _ id: String, by link: GuestLink, _ visit: String? = nil, secret: String? = nil, after time: TimeInterval = 0
    ) -> Bool {
        var copy = self
        do {
            try copy.join(id, by: link, visit, secret: secret, after: time)
            return false
        } catch {
            return error.kind == "forbidden"
        }
    }

    @Test("a guest comes in without the PIN, in the link's role, until its end or until it is revoked")
    mutating func ends() throws {
        room.settings.pin = RoomPIN("4711")
        let (link, watch) = try (make { $0.life = 3600 }, make { $0.role = .viewer })
        #expect(try join("ann", by: link, after: 3599).role == .participant)
        #expect(try join("viewer", by: watch).role == .viewer)
        #expect(try join("asks", by: link) { $0.role = .viewer }.role == .viewer)
        #expect(!room.members.contains { $0.role == .moderator }, "a guest is no host, though the first")
        #expect(refuses("late", by: link, after: 3600))
        let other = try #require(watch.secret)
        for wrong in ["", "a", String(repeating: "a", count: 26), other] {
            #expect(refuses("guess", by: link, secret: wrong))
        }
        try room.revokeLink(link.id, at: now)
        #expect(refuses("revoked", by: link))
        #expect(throws: ConferenceError.guestLinkNotFound) { try room.revokeLink(link.id, at: now) }
        #expect(throws: ConferenceError.guestLinkNotFound) { try room.revokeLink("none", at: now) }
        #expect(throws: ConferenceError.guestLinkNotFound, "it has ended") {
            try room.revokeLink(watch.id, at: now + GuestLink.usualLife)
        }
        try room.revokeLink(watch.id, at: now + GuestLink.usualLife - 1)
    }

    @Test("lock and waiting room are for guests too")
    mutating func door() throws {
        let link = try make()
        room.settings.admit = .moderator
        #expect(throws: ConferenceError.mustWait("r")) { try join("ann", by: link) }
        room.settings.locked = true
        #expect(throws: ConferenceError.roomLocked("r")) { try join("ann", by: link) }
    }

    @Test("a number of guests: who comes back does not count again, and two at once are two")
    mutating func uses() throws {
        let link = try make { $0.uses = 2 }
        try join("ann", by: link, "browser 1")
        room.leave("ann", at: .zero)
        try join("ann again", by: link, "browser 1")
        #expect(room.links.all[0].used == 1)
        try join("at the same time", by: link, "browser 1")
        #expect(room.links.all[0].used == 2)
        #expect(refuses("third", by: link, "browser 2") && refuses("nobody", by: link))
        for id in ["ann again", "at the same time"] { room.leave(id, at: .zero) }
        try join("back", by: link, "browser 1")
    }

    @Test("what a link may be, and how many there may be")
    mutating func limits() throws {
        let bad: [(inout GuestLinkRequest) -> Void] = [
            { $0.role = .moderator }, { $0.life = 59 }, { $0.life = GuestLink.longest + 1 }, { $0.life = .nan },
            { $0.uses = 0 }, { $0.uses = 101 },
        ]
        for change in bad { #expect(throws: ConferenceError.self) { try make(change) } }
        for _ in 0..<GuestLinks.most { _ = try make() }
        let error = #expect(throws: ConferenceError.self) { try make() }
        #expect(error?.kind == "conflict")
        // Those that have ended make place.
        #expect(try room.makeLink(GuestLinkRequest(), at: now + GuestLink.usualLife + 1).used == 0)
        #expect(room.links.all.count == 1)
    }

    @Test("links outlive the room and the server, as digests")
    mutating func kept() throws {
        let link = try make { $0.uses = 3 }
        try join("ann", by: link, "browser 1")
        var kept = KeptRooms()
        kept.keep(room.kept, of: "r", for: nil, at: .zero, now)
        // Longer than the keys of hosts.
        let taken = kept.take("r", at: .zero + Hosts.keep + .seconds(60))
        let later = try #require(taken)
        #expect(later.hosts.isEmpty && later.links.all == room.links.all)
        let stored = try JSONEncoder().encode(later.links.all.map { RoomState.Link($0) })
        let secret = try #require(link.secret)
        #expect(!String(decoding: stored, as: UTF8.self).contains(secret))
        var next = Room(id: "r", settings: RoomSettings(), createdAt: now, at: .zero)
        next.take(KeptRoom(links: GuestLinks(try JSONDecoder().decode([RoomState.Link].self, from: stored))))
        room = next
        try join("ann", by: link, "browser 1")
        #expect(room.links.all[0].used == 1)
    }

    @Test("a pass is read as it is written, and nothing else is one")
    func passes() {
        let pass = GuestPass(link: "abc", secret: "def")
        #expect(pass.text == "guest.abc.def" && GuestPass(text: "guest.abc.def") == pass)
        for text in [
            "", "guest", "guest.a", "guest.a.b.c", "a.b.c", "guest." + String(repeating: "a", count: 300) + ".b",
        ] {
            #expect(GuestPass(text: text) == nil)
        }
    }
}
