import Basics
import Foundation
import RoomMedia
import TestSupport
import Testing

@testable import Conference

/// Rooms between two conferences of one process that take each other's tickets; no peer.
@Suite("Rooms that move")
struct RoomMoveTests {
    /// What one participant was told.
    private final class Told: Sendable {
        private let events = Guarded<[ParticipantEvent]>([])
        func take(_ event: SharedEvent) { events.withLock { $0.append(event.event) } }
        var all: [ParticipantEvent] { events.withLock { $0 } }
        var end: LeaveReason? {
            for case .left(let reason) in all { return reason }
            return nil
        }
        var isMoving: Bool { all.contains { if case .moving = $0 { true } else { false } } }
    }

    private func withTwo(
        _ change: @escaping (inout ConferenceConfiguration) -> Void = { _ in },
        _ body: (Conference, Conference, TestSecrets) async throws -> Void
    ) async throws {
        let secrets = TestSecrets()
        let both = { (settings: inout ConferenceConfiguration) in
            settings.seatSecrets = secrets
            change(&settings)
        }
        try await withConference(both) { a in
            try await withConference(both) { b in try await body(a, b, secrets) }
        }
    }

    private func join(
        _ conference: Conference, _ name: String, native: Bool = true, _ told: Told = Told(),
        _ change: (inout AdmittedJoin) -> Void = { _ in }
    ) throws -> Participant {
        var request = AdmittedJoin(room: "r", name: name)
        (request.roleIsProven, request.isNative) = (false, native)
        change(&request)
        return try conference.join(request) { told.take($0) }
    }

    /// The room of `a` as it comes out of a store.
    private func carry(_ a: Conference, to b: Conference, at date: Date = Date()) throws {
        let state = try #require(a.moves.state(of: "r", at: date))
        #expect(try b.moves.restore(RoomState(json: state.encoded()), at: date))
    }

    private func resume(_ conference: Conference, _ old: Participant, _ told: Told = Told()) throws -> Participant {
        try conference.resume(id: old.id, secret: old.resumeSecret) { told.take($0) }
    }

    private func kinds(_ conference: Conference) -> [String] {
        conference.events.page(after: 0, limit: 1000).events.map(\.event.happening.kind.rawValue)
    }

    @Test("who was removed asks at the next server too, and who was let in does not")
    func removals() async throws {
        try await withTwo { a, b, _ in
            func come(_ name: String, _ address: UInt32, sub: String? = nil, at conference: Conference) throws
                -> Participant
            {
                try join(conference, name) { ($0.client.address, $0.client.identity) = (.v4(address), sub) }
            }
            let ann = try come("Ann", 1, at: a)
            let (bob, eve, cem) = try (come("Bob", 2, at: a), come("Eve", 3, sub: "eve", at: a), come("Cem", 4, at: a))
            for person in [bob, eve, cem] { try ann.moderate(.remove(person.id)) }
            var back = AdmittedJoin(room: "r", name: "Cem")
            (back.isNative, back.client.address) = (true, .v4(4))
            let wait = try a.wait(for: back) { _ in }
            try ann.moderate(.admit(wait))
            #expect(await eventually { a.rooms.room("r")?.waiting == 0 })
            try carry(a, to: b)
            #expect(throws: ConferenceError.mustWait("r")) { try come("Bob", 2, at: b) }
            #expect(throws: ConferenceError.mustWait("r")) { try come("Eve", 9, sub: "eve", at: b) }
            _ = try (come("Cem", 4, at: b), come("Dan", 5, at: b))
        }
    }

    @Test("the keys of hosts go along, with nobody back and of a room that has ended, and are no one else's")
    func hosts() async throws {
        try await withTwo { a, b, _ in
            let ann = try join(a, "Ann")
            let bob = try join(a, "Bob")
            try ann.moderate(.changeRole(bob.id, .moderator))
            let (hers, his) = (try #require(ann.hostKey), try #require(bob.hostKey))
            #expect(hers != his)
            try ann.moderate(.changeRole(bob.id, .participant))
            #expect(bob.hostKey == nil, "who is no host any more has no key")
            try carry(a, to: b)
            b.moves.lose(["r"])
            try carry(a, to: b)
            // Both have lost their tickets, as a page that was loaded again.
            #expect(try join(b, "Bob") { $0.hostKey = his }.info?.role == .participant)
            let back = try join(b, "Ann") { $0.hostKey = hers }
            #expect(back.info?.role == .moderator && back.hostKey == hers)
        }
        try await withTwo { a, b, _ in
            let ann = try join(a, "Ann")
            let key = try #require(ann.hostKey)
            try ann.moderate(.end)
            let (state, life) = try #require(a.moves.stateOfEnded("r"))
            #expect(life <= Hosts.keep && life > Hosts.keep - .seconds(60))
            #expect(!String(decoding: state.encoded(), as: UTF8.self).contains(key), "only its digest is stored")
            #expect(try !b.moves.restore(RoomState(json: state.encoded())), "there is no room")
            #expect(try join(b, "Guest").info?.role == .participant)
            #expect(try join(b, "Ann") { $0.hostKey = key }.info?.role == .moderator)
            try b.rooms.end("r")
            #expect(try join(b, "Guest").info?.role == .moderator, "an administrator has forgotten the hosts")
        }
    }

    @Test("everyone comes back with id, name, role, pins, mutes, views; layout, lock, PIN and chat are there before")
    func everything() async throws {
        try await withTwo { a, b, _ in
            let ann = try join(a, "Ann")
            let bob = try join(a, "Bob")
            let eve = try join(a, "Eve") { $0.unrecordedBy = [.own, .token] }
            try ann.moderate(.changeRole(bob.id, .presenter))
            try ann.moderate(.mute(eve.id))
            var change = ParticipantChange()
            (change.pinned, change.audioMuted, change.videoMuted, change.volume) = (true, true, true, 0.25)
            try a.people.update(bob.id, in: "r", change)
            try eve.setState(hand: true)
            try eve.setLayout("single", scope: .me, pins: [bob.id])
            try ann.setLayout("speaker", scope: .room)
            try ann.chat("hello")
            try bob.chat("hi")
            var settings = RoomSettingsChange()
            (settings.locked, settings.pin, settings.maxParticipants) = (true, "4711", 7)
            settings.admit = .moderator
            try a.rooms.update("r", settings)
            let before = try #require(a.rooms.room("r"))

            try carry(a, to: b)
            let empty = try #require(b.rooms.room("r"))
            #expect(empty.participants.isEmpty && empty.layout == "speaker" && empty.createdAt == before.createdAt)
            #expect(empty.settings.locked && empty.settings.pin?.matches("4711") == true)
            // Admission is as it was, for all others.
            let error = #expect(throws: ConferenceError.self) { try join(b, "Stranger") }
            #expect(error?.kind == "pinRequired")

            // In another order; who comes first does not become the moderator.
            let told = Told()
            let there = try [eve, bob, ann].map { try resume(b, $0, told) }
            let after = try #require(b.rooms.room("r"))
            #expect(there.map(\.id) == [eve.id, bob.id, ann.id] && after.participants == before.participants)
            #expect(after.participants.map(\.role) == [.moderator, .presenter, .participant])
            #expect(after.settings == before.settings)
            #expect(there[0].chatHistory == eve.chatHistory && there[0].chatHistory.map(\.text) == ["hello", "hi"])
            #expect(there[0].shown == eve.shown && there[0].shown.pins == [bob.id] && there[0].shown.name == "single")
            #expect(there[0].info?.unrecordedBy == [.own, .token] && there[0].info?.audio == false)
            // Nothing began or ended, as programs see it.
            #expect(kinds(b) == ["room.moved"])
        }
    }

    @Test("a seat that nobody takes back is told to have left, and an heir becomes the moderator")
    func missing() async throws {
        let quickly: (inout ConferenceConfiguration) -> Void = {
            ($0.rooms.emptyTimeout, $0.rooms.hostAbsence) = (.milliseconds(300), .milliseconds(100))
        }
        try await withTwo(quickly) { a, b, _ in
            _ = try join(a, "Ann")
            let bob = try join(a, "Bob")
            try carry(a, to: b)
            _ = try resume(b, bob)
            #expect(b.rooms.room("r")?.participants.map(\.role) == [.participant])
            #expect(await eventually { b.rooms.room("r")?.participants.map(\.role) == [.moderator] })
            #expect(kinds(b).prefix(2) == ["room.moved", "participant.left"])

            _ = try join(a, "Later")
            try a.rooms.end("r")
            #expect(kinds(a).last == "room.ended")
        }
    }

    @Test("a restored room to which nobody comes ends after emptyTimeout; one of the API stays as it was set")
    func nobody() async throws {
        try await withTwo({ $0.rooms.emptyTimeout = .milliseconds(100) }) { a, b, _ in
            _ = try join(a, "Ann")
            try carry(a, to: b)
            #expect(await eventually { b.rooms.room("r") == nil })
            #expect(kinds(b).last == "room.ended")
        }
        try await withTwo({ $0.rooms.emptyTimeout = .milliseconds(100) }) { a, b, _ in
            var change = RoomSettingsChange()
            change.pin = "4711"
            try a.rooms.create("r", change)
            let old = try #require(a.moves.state(of: "r", at: Date() - 100_000))
            #expect(try b.moves.restore(RoomState(json: old.encoded())), "settings do not grow old")
            try await Task.sleep(for: .milliseconds(500))
            #expect(b.rooms.room("r")?.settings.pin?.matches("4711") == true)
        }
    }

    @Test("a state that is too old to say who is there keeps its room closed, and its people's tickets good")
    func closed() async throws {
        for change in [("4711", false, Admission.anyone), ("", true, .anyone), ("", false, .moderator)] {
            try await withTwo { a, b, _ in
                let ann = try join(a, "Ann")
                let bob = try join(a, "Bob")
                try ann.moderate(.remove(bob.id))
                try ann.chat("a secret")
                var door = RoomSettingsChange()
                (door.pin, door.locked, door.admit) = (change.0, change.1, change.2)
                try a.rooms.update("r", door)
                // The clock of the next owner is ahead, or the store was away for as long.
                let old = try #require(a.moves.state(of: "r", at: Date() - RoomState.lifetime - 60))
                #expect(try b.moves.restore(RoomState(json: old.encoded())))
                #expect(b.rooms.room("r")?.participants.isEmpty == true)
                do {
                    _ = try join(b, "Stranger")
                    Issue.record("a stranger is in")
                } catch {}
                #expect(throws: ConferenceError.self) { try resume(b, bob) }
                let back = try resume(b, ann)
                #expect(back.info?.role == .moderator && back.chatHistory.isEmpty)
            }
        }
        try await withTwo { a, b, _ in
            _ = try join(a, "Ann")
            let old = try #require(a.moves.state(of: "r", at: Date() - RoomState.lifetime - 60))
            #expect(try !b.moves.restore(RoomState(json: old.encoded())), "an open room's meeting is over")
        }
    }

    @Test("tickets are for their room, their meeting, an hour, and not for who was removed or has left")
    func tickets() async throws {
        try await withTwo { a, b, secrets in
            let ann = try join(a, "Ann")
            let (bob, eve, dan) = (try join(a, "Bob"), try join(a, "Eve"), try join(a, "Dan"))
            try ann.moderate(.remove(bob.id))
            eve.leave()
            try carry(a, to: b)
            func refused(_ id: String, _ secret: String, in room: String? = nil) -> Bool {
                do {
                    _ = try b.resume(id: id, secret: secret, in: room) { _ in }
                    return false
                } catch {
                    return error.kind == "unauthorized"
                }
            }
            #expect(refused(bob.id, bob.resumeSecret) && refused(eve.id, eve.resumeSecret))
            #expect(refused(ann.id, dan.resumeSecret) && refused(ann.id, "rubbish") && refused(ann.id, ""))
            #expect(refused(dan.id, dan.resumeSecret, in: "other"))
            #expect(refused(dan.id, secrets.changed(dan.resumeSecret) { $0.meeting = "an earlier one" }))
            // A ticket of another room makes no room but its own, and is no key for this one.
            let other = secrets.changed(dan.resumeSecret) { $0.room = "s" }
            #expect(try b.resume(id: dan.id, secret: other) { _ in }.room == "s")
            b.moves.lose(["s"])

            // By itself a ticket is good for an hour, of a seat that the room knows for a day; clocks differ by 30 s.
            func aged(_ seconds: TimeInterval, id: String) -> String {
                secrets.changed(dan.resumeSecret) { ($0.id, $0.issuedAt) = (id, Date() - seconds) }
            }
            #expect(refused("nobody", aged(3700, id: "nobody")) && refused("nobody", aged(-40, id: "nobody")))
            #expect(!refused("nobody", aged(3610, id: "nobody")) && !refused("early", aged(-20, id: "early")))
            #expect(refused(dan.id, aged(86_500, id: dan.id)))
            #expect(!refused(dan.id, aged(80_000, id: dan.id)))
        }
    }

    @Test("the second client with one ticket takes the seat over, and both bearer secrets are the seat's")
    func takeOver() async throws {
        try await withTwo { a, b, _ in
            let ann = try join(a, "Ann")
            try carry(a, to: b)
            let (first, second) = (Told(), Told())
            let seat = try resume(b, ann, first)
            let again = try resume(b, ann, second)
            #expect(again.id == seat.id && b.rooms.room("r")?.participants.map(\.id) == [ann.id])
            #expect(seat.resumeSecret != ann.resumeSecret, "the time of a ticket begins anew")
            try again.chat("to the second")
            #expect(await eventually { second.all.contains { if case .chat = $0 { true } else { false } } })
            #expect(!first.all.contains { if case .chat = $0 { true } else { false } })
            // As `ID.SECRET` of requests beside the call.
            for secret in [ann.resumeSecret, seat.resumeSecret] {
                #expect(try b.participant(ann.id, secret: secret, in: "r").id == ann.id)
            }
            #expect(throws: ConferenceError.self) { try b.participant(ann.id, secret: "x", in: "r") }
        }
    }

    @Test("many at once with one ticket are one member")
    func race() async throws {
        try await withTwo { a, b, _ in
            let ann = try join(a, "Ann")
            try carry(a, to: b)
            let won = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<40 {
                    group.addTask { (try? b.resume(id: ann.id, secret: ann.resumeSecret) { _ in }) != nil }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(won == 40 && b.rooms.room("r")?.participants.count == 1 && b.seatCount == 1)
        }
    }

    @Test("where the state is lost, a room goes on with who comes first, and their meeting")
    func lost() async throws {
        try await withTwo { a, b, _ in
            let (ann, bob) = (try join(a, "Ann"), try join(a, "Bob"))
            _ = try resume(b, ann)
            _ = try resume(b, bob)
            #expect(b.rooms.room("r")?.participants.map(\.role) == [.moderator, .participant])
            // A room that strangers have made is another one.
            b.moves.lose(["r"])
            _ = try join(b, "Stranger")
            let error = #expect(throws: ConferenceError.self) { try resume(b, ann) }
            #expect(error?.kind == "unauthorized")
        }
    }

    @Test("a seat that timed out comes back as it was left, and its host as the host")
    func absent() async throws {
        try await withTwo { a, _, _ in
            let (ann, bob) = (try join(a, "Ann"), try join(a, "Bob"))
            var mute = ParticipantChange()
            mute.audioMuted = true
            try a.people.update(bob.id, in: "r", mute)
            for seat in [ann, bob] { seat.leave(.timeout) }
            var locked = RoomSettingsChange()
            locked.locked = true
            try a.rooms.update("r", locked)
            // Whoever is back first: the room is Ann's.
            let back = try resume(a, bob).info
            #expect(back?.audioMuted == true && back?.role == .participant)
            #expect(try resume(a, ann).info?.role == .moderator)
        }
        try await withTwo({ $0.rooms.hostAbsence = .milliseconds(50) }) { a, _, _ in
            let (ann, bob) = (try join(a, "Ann"), try join(a, "Bob"))
            ann.leave(.timeout)
            #expect(await eventually { bob.info?.role == .moderator })
            #expect(try resume(a, ann).info?.role == .moderator && bob.info?.role == .participant)
        }
    }

    @Test("a moving room tells native clients, refuses others, and ends when those have gone")
    func moving() async throws {
        try await withTwo { a, b, _ in
            let (annHere, guestHere, waiter) = (Told(), Told(), Guarded<WaitingEnd?>(nil))
            let ann = try join(a, "Ann", annHere)
            _ = try join(a, "Phone", native: false, guestHere)
            var door = RoomSettingsChange()
            door.admit = .moderator
            try a.rooms.update("r", door)
            _ = try a.wait(for: AdmittedJoin(room: "r", name: "Wendy")) { end in waiter.withLock { $0 = end } }
            try carry(a, to: b)
            try await a.moves.begin("r", within: .seconds(60))
            #expect(a.moves.state(of: "r") == nil, "what is stored stays")
            for attempt in [{ _ = try join(a, "Late") }, { _ = try resume(a, ann) }] {
                let error = #expect(throws: ConferenceError.self) { try attempt() }
                #expect(error?.kind == "moving" && error?.retryAfter == .seconds(1))
            }
            #expect(await eventually { annHere.isMoving && waiter.withLock { $0 } == .ended(.moved) })
            #expect(a.rooms.room("r")?.participants.count == 2, "the call goes on until it is there")

            let there = try resume(b, ann)
            ann.leave()
            #expect(await eventually { a.rooms.room("r") == nil })
            #expect(await eventually { guestHere.end == .moved && annHere.end == .left })
            #expect(there.info?.role == .moderator)
            // Who has no ticket has left; the room and who moves have not.
            #expect(kinds(a).filter { $0.hasSuffix("left") || $0.hasSuffix("ended") } == ["participant.left"])
        }
    }

    @Test("a native client that does not move is told to come back, some seconds after the others have gone")
    func straggler() async throws {
        try await withTwo { a, b, _ in
            let (annHere, oldHere) = (Told(), Told())
            let ann = try join(a, "Ann", annHere)
            let old = try join(a, "Old app", oldHere)
            try carry(a, to: b)
            try await a.moves.begin("r", within: .seconds(600))
            _ = try resume(b, ann)
            ann.leave()
            #expect(oldHere.end == nil && a.rooms.room("r") != nil, "it may be on its way")
            #expect(await eventually(.seconds(30)) { oldHere.end == .moved && a.rooms.room("r") == nil })
            #expect(try resume(b, old).info?.name == "Old app")
        }
    }

    @Test("a move ends at its limit, and a lost room at once")
    func limit() async throws {
        try await withTwo { a, _, _ in
            let told = Told()
            _ = try join(a, "Ann", told)
            try await a.moves.begin("r", within: .milliseconds(300))
            #expect(a.rooms.room("r") != nil)
            #expect(await eventually { told.end == .moved && a.rooms.room("r") == nil })
            let other = Told()
            _ = try join(a, "Bob", other)
            a.moves.lose(["r", "nothing"])
            #expect(a.rooms.room("r") == nil)
            #expect(await eventually { other.end == .moved })
        }
    }

    @Test("without seatSecrets nothing is kept, and secrets are 32 random characters")
    func alone() async throws {
        try await withConference { conference in
            let ann = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { _ in }
            #expect(ann.resumeSecret.count == 32)
            ann.leave(.timeout)
            #expect(conference.registry["r"]?.read(\.room.absent) == AbsentSeats())
        }
    }

    /// Which rooms were reported.
    private final class Watcher: RoomObserver {
        let news = Guarded<[String]>([])
        func changed(_ room: String) { news.withLock { $0.append(room) } }
        func ended(_ room: String, _ reason: LeaveReason) { news.withLock { $0.append("\(room) \(reason)") } }
        func take() -> [String] {
            news.withLock { news in
                defer { news = [] }
                return news
            }
        }
    }

    @Test("an observer hears of what changes the state, and of nothing else")
    func observing() async throws {
        try await withTwo { a, _, _ in
            let watcher = Watcher()
            a.moves.observe(watcher)
            let ann = try join(a, "Ann")
            let bob = try join(a, "Bob")
            #expect(watcher.take() == ["r", "r"])
            try a.roomService.change("r") { slot throws(ConferenceError) in
                slot.room.speakers(Speakers(active: ann.id, ranks: [ann.id], speaking: [ann.id]))
                slot.room.signallingLost(bob.id, at: .zero + .seconds(1))
            }
            #expect(watcher.take() == [])
            try ann.chat("hello")
            try ann.setState(hand: true)
            try ann.setLayout("speaker", scope: .room)
            #expect(watcher.take() == ["r", "r", "r"])
            try ann.chat("for Bob alone", to: bob.id)
            #expect(watcher.take() == [])
            try a.rooms.end("r")
            #expect(watcher.take() == ["r roomEnded"])
            a.moves.observe(nil)
            _ = try join(a, "Ann")
            #expect(watcher.take() == [])
        }
    }
}
