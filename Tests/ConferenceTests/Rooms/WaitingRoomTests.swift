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

    private func request(_ name: String, address: UInt32 = 1, role: Role? = nil) -> AdmittedJoin {
        var request = AdmittedJoin(room: "r", name: name, role: role ?? .participant)
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
            #expect(
                host.participants.count == 1 && waiting(conference) == 3 && conference.rooms.room("r")?.waiting == 3)
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
            func guest(_ name: String) -> AdmittedJoin { request(name, role: .participant) }
            #expect(throws: ConferenceError.mustWait("r")) { try conference.join(guest("Ann")) { _ in } }
            _ = try conference.wait(for: guest("Ann"), log.decided("Ann"))
            conference.expiry.expire(at: MonotonicClock.now() + .seconds(600))
            #expect(conference.rooms.room("r")?.waiting == 1 && log.ends.isEmpty, "the room waits with its guest")
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
            #expect(waiting(conference) == 0 && conference.rooms.list().isEmpty && log.repeated == 0)
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
            // Each address may have 30, and those that come later displace the oldest of those that have most.
            let most = Double(WaitingList.limit)
            #expect(waiting(conference).map { $0 > 0.9 * most && $0 <= most } == true)
            #expect(kinds.count == 2 && (kinds["tooFast"] ?? 0) >= 210, "\(kinds)")
            let names = conference.registry["r"]?.read { $0.room.waiting.people.map(\.name) } ?? []
            for address in 0..<10 {
                let own = names.count { (Int($0.dropFirst()) ?? 0) / 100 == address }
                #expect((8...14).contains(own), "address \(address) has \(own)")
            }
            #expect(host.participants.count == 1)
            // Friends come in, each from an address of its own, however often the others ask.
            for round in 0..<50 {
                waits.append(
                    try conference.wait(for: request("again", address: 77 + UInt32(round)), log.decided("a\(round)")))
                _ = try? conference.wait(for: request("more", address: 10), log.decided("m\(round)"))
            }
            let friends = conference.registry["r"]?.read { $0.room.waiting.people.count { $0.name == "again" } }
            #expect(friends == 50 && waiting(conference).map { $0 <= most } == true)
            try host.moderate(.refuse(nil))
            #expect(await eventually { log.ends.count >= waits.count && log.list == [] })
            #expect(waiting(conference) == 0 && log.repeated == 0)
        }
    }

    @Test("a moderator refuses everybody of an address, and who asks from there again within ten minutes")
    func refusedAddress() async throws {
        try await withWaitingRoom { conference, host, log in
            let eve = try conference.wait(for: request("Eve", address: 5), log.decided("Eve"))
            for name in ["Eva", "Evi"] {
                _ = try conference.wait(for: request(name, address: 5), log.decided(name))
            }
            _ = try conference.wait(for: request("Ann", address: 6), log.decided("Ann"))
            #expect(throws: ConferenceError.participantNotFound("nobody")) {
                try host.moderate(.refuseAddress("nobody"))
            }
            try host.moderate(.refuseAddress(eve))
            #expect(await eventually { ["Eve", "Eva", "Evi"].allSatisfy { log.end($0) == .refused } })
            #expect(log.end("Ann") == nil && log.list == ["Ann"] && waiting(conference) == 1)
            #expect { try conference.wait(for: request("Eve", address: 5), log.decided("again")) } throws: {
                ($0 as? ConferenceError)?.kind == "forbidden"
            }
            _ = try conference.wait(for: request("Bob", address: 7), log.decided("Bob"))
            #expect(waiting(conference) == 2)
        }
    }
}

@Suite("WaitingList")
struct WaitingListTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    @Test("a refusal of an address is of its whole /48, for ten minutes, and at most 64 are remembered")
    func refusedSites() throws {
        var list = WaitingList()
        func add(_ id: String, _ net: UInt64, at now: Instant) throws {
            _ = try list.add(WaitingPerson(id: id, name: id), from: .v6(net, 1), at: now)
        }
        let site: UInt64 = 0x2001_0DB8_0001_0000
        for number in 0..<4 as Range<UInt64> { try add("e\(number)", site | number << 8, at: start) }
        try add("ann", site + 0x1_0000, at: start)
        #expect(Set(list.refuseSite(of: "e2", at: start)) == ["e0", "e1", "e2", "e3"])
        #expect(list.people.map(\.id) == ["ann"])
        #expect(throws: ConferenceError.self) { try add("e4", site | 7, at: start + .seconds(599)) }
        try add("e4", site | 7, at: start + .seconds(600))
        for number in 1...70 as ClosedRange<UInt64> {
            try add("x\(number)", site + number << 20, at: start + .seconds(601))
            _ = list.refuseSite(of: "x\(number)", at: start + .seconds(601) + .milliseconds(Int64(number)))
        }
        try add("x1", site + 1 << 20, at: start + .seconds(602))
        #expect(throws: ConferenceError.self) { try add("x70", site + 70 << 20, at: start + .seconds(602)) }
    }

    @Test("strangers from five addresses and a /48 do not keep friends from asking to be let in")
    func strangers() throws {
        var list = WaitingList()
        var now = start
        var (came, refused, lost) = (0, 0, 0)
        for round in 0..<300 {
            now += .milliseconds(100)
            for number in 0..<6 as Range<UInt32> {
                let address: IPAddress =
                    number < 5 ? .v4(number) : .v6(0x2001_0DB8_0001_0000 | UInt64(round % 65536), 1)
                let id = "e\(round)-\(number)"
                let displaced = (try? list.add(WaitingPerson(id: id, name: "Eve"), from: address, at: now)) ?? nil
                if displaced?.hasPrefix("f") == true { lost += 1 }
            }
            if round % 10 == 5 {
                came += 1
                do throws(ConferenceError) {
                    let friend = WaitingPerson(id: "f\(round)", name: "Ann")
                    _ = try list.add(friend, from: .v4(0xC000_0000 | UInt32(round)), at: now)
                } catch { refused += 1 }
            }
        }
        #expect(came == 30 && refused == 0 && lost == 0)
        #expect(list.people.count { $0.id.hasPrefix("f") } == 30 && list.people.count <= WaitingList.limit)
    }
}
