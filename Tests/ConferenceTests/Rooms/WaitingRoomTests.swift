import Basics
import TestSupport
import Testing
import Threads

@testable import Conference
@testable import RoomMedia

/// The waiting room of a whole conference.
@Suite("The waiting room", .serialized)
struct WaitingRoomTests {
    /// The ends of waits, and the lists of a moderator, as they come.
    private final class Log: Sendable {
        private let state = Guarded((ends: [String: WaitingEnd](), lists: [[String]](), others: 0))

        func take(_ event: SharedEvent) {
            state.withLock { state in
                if case .waiting(let people) = event.event { state.lists.append(people.map(\.name)) }
            }
        }
        func decided(_ name: String) -> @Sendable (WaitingEnd) -> Void {
            { end in
                self.state.withLock { state in
                    if state.ends.updateValue(end, forKey: name) != nil { state.others += 1 }
                }
            }
        }
        func end(_ name: String) -> WaitingEnd? { state.withLock { $0.ends[name] } }
        var ends: [String: WaitingEnd] { state.withLock { $0.ends } }
        var list: [String]? { state.withLock { $0.lists.last } }
        /// Ends that came a second time.
        var repeated: Int { state.withLock { $0.others } }
    }

    private func request(_ name: String, address: UInt32 = 1, role: Role? = nil) -> JoinRequest {
        var request = JoinRequest(room: "r", name: name, role: role ?? .participant)
        (request.roleIsProven, request.isNative) = (role != nil, true)
        request.client.address = .v4(address)
        return request
    }

    private func waiting(_ conference: Conference) -> Double? {
        conference.metrics().first { $0.name == "tessera_limited_current" && $0.labels == ["name": "waiting"] }?.value
    }

    private func withWaitingRoom(_ body: (Conference, Participant, Log) async throws -> Void) async throws {
        try await withConference({ $0.rooms.settings.admit = .moderator }) { conference in
            let log = Log()
            let host = try conference.join(request("Host")) { log.take($0) }
            #expect(host.info?.role == .moderator, "the first of an open room passes")
            try await body(conference, host, log)
        }
    }

    @Test("who waits has no seat; who is let in joins, who is refused does not")
    func decisions() async throws {
        try await withWaitingRoom { conference, host, log in
            for name in ["Ann", "Bob", "Cem"] {
                #expect(throws: ConferenceError.mustWait("r")) { try conference.join(request(name)) { _ in } }
            }
            let ann = try conference.wait(for: request("Ann"), log.decided("Ann"))
            let bob = try conference.wait(for: request("Bob"), log.decided("Bob"))
            _ = try conference.wait(for: request("Cem"), log.decided("Cem"))
            #expect(await eventually { log.list == ["Ann", "Bob", "Cem"] })
            #expect(host.participants.count == 1 && waiting(conference) == 3 && conference.room("r")?.waiting == 3)
            #expect(throws: ConferenceError.participantNotFound("x")) { try host.moderate(.admit("x")) }
            try host.moderate(.admit(ann))
            try host.moderate(.refuse(bob))
            #expect(await eventually { log.end("Ann") == .admitted && log.end("Bob") == .refused })
            var admitted = request("Ann")
            admitted.admission = ann
            // PIN and lock are for those whom nobody let in.
            var change = RoomSettingsChange()
            (change.locked, change.pin) = (true, "2718")
            try host.changeRoom(change)
            let seat = try conference.join(admitted) { _ in }
            #expect(seat.info?.role == .participant)
            #expect(throws: ConferenceError.self, "an admission is for one join") {
                try conference.join(admitted) { _ in }
            }
            admitted.admission = bob
            (change.locked, change.pin) = (false, "")
            try host.changeRoom(change)
            #expect(throws: ConferenceError.mustWait("r")) { try conference.join(admitted) { _ in } }
            #expect(log.list == ["Cem"] && waiting(conference) == 1)
            try host.moderate(.admit(nil))
            #expect(await eventually { log.end("Cem") == .admitted && log.list == [] })
            #expect(waiting(conference) == 0 && log.repeated == 0)
        }
    }

    @Test("moderators by token pass; a new moderator is told who waits; without one people wait on")
    func moderators() async throws {
        try await withConference({ $0.rooms.settings.admit = .moderator }) { conference in
            let log = Log()
            func guest(_ name: String) -> JoinRequest { request(name, role: .participant) }
            #expect(throws: ConferenceError.mustWait("r")) { try conference.join(guest("Ann")) { _ in } }
            _ = try conference.wait(for: guest("Ann"), log.decided("Ann"))
            conference.seats.expire(at: MonotonicClock.now() + .seconds(600))
            #expect(conference.room("r")?.waiting == 1 && log.ends.isEmpty, "the room waits with its guest")
            let host = try conference.join(request("Host", role: .moderator)) { log.take($0) }
            #expect(await eventually { log.list == ["Ann"] })
            try host.moderate(.admit(nil))
            #expect(await eventually { log.end("Ann") == .admitted })
        }
    }

    @Test("a wait ends with its client, its room, the setting, and time")
    func ends() async throws {
        try await withWaitingRoom { conference, host, log in
            let ann = try conference.wait(for: request("Ann"), log.decided("Ann"))
            conference.stopWaiting(ann, in: "r")
            conference.stopWaiting(ann, in: "r")
            #expect(await eventually { log.end("Ann") == .left && log.list == [] })
            _ = try conference.wait(for: request("Bob"), log.decided("Bob"))
            var change = RoomSettingsChange()
            change.admit = .anyone
            try host.changeRoom(change)
            #expect(await eventually { log.end("Bob") == .admitted })
            change.admit = .moderator
            try host.changeRoom(change)
            _ = try conference.wait(for: request("Cem"), log.decided("Cem"))
            conference.waiting.expire(at: MonotonicClock.now() + WaitingList.timeout + .seconds(1))
            #expect(await eventually { log.end("Cem") == .timeout })
            _ = try conference.wait(for: request("Dee"), log.decided("Dee"))
            try host.moderate(.end)
            #expect(await eventually { log.end("Dee") == .ended(.roomEnded) })
            #expect(waiting(conference) == 0 && conference.rooms().isEmpty && log.repeated == 0)
        }
    }

    @Test("a thousand who wait are bounded by address, room and server, and leave nothing behind")
    func flood() async throws {
        try await withWaitingRoom { conference, host, log in
            var waits: [String] = []
            var kinds: [String: Int] = [:]
            for number in 0..<1000 {
                // Ten addresses, each with a hundred clients.
                let guest = request("G\(number)", address: UInt32(10 + number / 100))
                do throws(ConferenceError) {
                    waits.append(try conference.wait(for: guest, log.decided("G\(number)")))
                } catch {
                    kinds[error.kind, default: 0] += 1
                }
            }
            #expect(waits.count == WaitingList.limit && waiting(conference) == Double(WaitingList.limit))
            #expect(kinds["tooFast"] == 210 && kinds["atCapacity"] == 690, "\(kinds)")
            #expect(host.participants.count == 1)
            // Clients that come back again and again take no second place.
            for round in 0..<50 {
                conference.stopWaiting(waits[round], in: "r")
                waits.append(
                    try conference.wait(for: request("again", address: 77 + UInt32(round)), log.decided("a\(round)")))
            }
            #expect(waiting(conference) == Double(WaitingList.limit))
            try host.moderate(.refuse(nil))
            #expect(await eventually { log.ends.count == 150 && log.list == [] })
            #expect(waiting(conference) == 0 && log.repeated == 0)
        }
    }
}
