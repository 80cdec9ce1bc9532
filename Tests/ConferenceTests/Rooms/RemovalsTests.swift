import Basics
import TestSupport
import Testing
import Threads

@testable import Conference

/// Who stays outside, in simulated time.
@Suite("Removals")
struct RemovalsTests {
    private let start = Instant.zero

    /// The removals by reference, since an expectation changes no value.
    private final class Table {
        var removals = Removals()

        func remove(_ client: JoinClient, from room: String, _ meeting: String, at now: Instant) {
            removals.remove(client, from: room, meeting, at: now)
        }
        func standing(_ client: JoinClient, _ room: String, _ meeting: String?, _ now: Instant) -> Removals.Standing {
            removals.standing(of: client, in: room, meeting: meeting, at: now)
        }
    }

    private func client(_ address: UInt32?, sub: String? = nil, _ device: JoinClient.Device? = nil) -> JoinClient {
        var client = JoinClient(address: address.map { .v4($0) }, identity: sub)
        client.device = device
        return client
    }

    private func standing(
        _ client: JoinClient, _ table: Table, meeting: String? = "m", after time: Duration = .zero
    ) -> Removals.Standing {
        table.standing(client, "r", meeting, start + time)
    }

    @Test("a sub is one person, at whatever address")
    func subs() {
        let removals = Table()
        removals.remove(client(1, sub: "ada"), from: "r", "m", at: start)
        #expect(standing(client(2, sub: "ada"), removals, after: .seconds(7200)) == .asks)
        #expect(standing(client(1, sub: "bo"), removals) == .free, "a neighbour with a token")
        #expect(standing(client(1), removals) == .free)
        #expect(removals.standing(client(2, sub: "ada"), "s", "m", start) == .free)
        #expect(standing(client(2, sub: "ada"), removals, meeting: "next", after: .seconds(7200)) == .free)
    }

    @Test("without a sub the people of the address ask, for the meeting")
    func addresses() {
        let removals = Table()
        removals.remove(client(1), from: "r", "m", at: start)
        #expect(standing(client(1), removals, after: .seconds(7200)) == .asks)
        #expect(standing(client(1, sub: "bo"), removals) == .free)
        #expect(standing(client(2), removals) == .free && standing(client(nil), removals) == .free)
        #expect(standing(client(1), removals, meeting: "next", after: .seconds(7200)) == .free)
        removals.remove(client(nil), from: "r", "m", at: start)
        #expect(standing(client(nil), removals) == .free, "nothing is known of it")
    }

    @Test("a device is known at another address, and an app that would offer again is refused")
    func devices() {
        let removals = Table()
        removals.remove(client(1, JoinClient.Device(["account ada"])), from: "r", "m", at: start)
        removals.remove(client(3, JoinClient.Device(["tcp 7", "tcp 8"], isRefused: true)), from: "r", "m", at: start)
        #expect(standing(client(2, JoinClient.Device(["account ada"])), removals) == .asks)
        #expect(standing(client(2, JoinClient.Device(["account bo"])), removals) == .free)
        let again = client(9, JoinClient.Device(["tcp 8", "tcp 9"], isRefused: true))
        #expect(standing(again, removals, after: .seconds(3600)) == .staysOutside)
        // Beyond the meeting as long as it keeps trying.
        #expect(standing(again, removals, meeting: nil, after: .seconds(3605)) == .staysOutside)
        #expect(standing(again, removals, meeting: "next", after: .seconds(4204)) == .staysOutside)
        #expect(standing(again, removals, meeting: "next", after: .seconds(4804)) == .free)
    }

    @Test("an app that comes back by itself does not make an ended room anew")
    func endedRooms() {
        let removals = Table()
        let (tcp, other) = (
            client(1, JoinClient.Device(["tcp 7"], isRefused: true, comesBack: true)),
            client(2, JoinClient.Device(["dtls a"], isRefused: true))
        )
        removals.removals.roomEnded("r", with: tcp, at: start)
        removals.removals.roomEnded("r", with: other, at: start)
        #expect(standing(tcp, removals, meeting: nil) == .staysOutside)
        #expect(standing(other, removals, meeting: nil) == .free && standing(client(1), removals) == .free)
        #expect(standing(tcp, removals, meeting: nil, after: .seconds(600)) == .free)
    }

    @Test("who is let in is free, with the device")
    func lifted() {
        let removals = Table()
        let app = client(1, JoinClient.Device(["tcp 7"], isRefused: true))
        removals.remove(app, from: "r", "m", at: start)
        removals.removals.lift(client(2), in: "r")
        removals.removals.lift(client(1), in: "s")
        #expect(standing(app, removals) == .staysOutside)
        removals.removals.lift(client(1), in: "r")
        #expect(standing(app, removals) == .free && removals.removals.count == 0)
    }

    @Test("removals are bounded, and the newest stay")
    func bounded() {
        let removals = Table()
        for number in 0..<5000 { removals.remove(client(UInt32(number)), from: "r", "m", at: start) }
        for _ in 0..<100 { removals.remove(client(4999), from: "r", "m", at: start) }
        #expect(removals.removals.count == Removals.limit)
        #expect(standing(client(4999), removals) == .asks && standing(client(0), removals) == .free)
    }

    // MARK: - In a conference

    private func request(_ name: String, address: UInt32, role: Role? = nil) -> AdmittedJoin {
        var request = AdmittedJoin(room: "r", name: name, role: role ?? .participant)
        (request.roleIsProven, request.isNative) = (role != nil, true)
        request.client.address = .v4(address)
        return request
    }

    @Test("a removed client asks to be let in, whatever the door, and others do not")
    func conference() async throws {
        try await withConference { conference in
            let host = try conference.join(request("Host", address: 1)) { _ in }
            let bob = try conference.join(request("Bob", address: 2)) { _ in }
            try host.moderate(.remove(bob.id))
            #expect(throws: ConferenceError.mustWait("r")) { try conference.join(request("Bob", address: 2)) { _ in } }
            #expect(throws: ConferenceError.mustWait("r")) {
                try conference.join(request("Rob", address: 2, role: .moderator)) { _ in }
            }
            var viewer = request("Bob", address: 2)
            viewer.kind = .viewer
            #expect(throws: ConferenceError.mustWait("r")) { try conference.join(viewer) { _ in } }
            _ = try conference.join(request("Cem", address: 3)) { _ in }

            let ends = Guarded<[WaitingEnd]>([])
            let wait = try conference.wait(for: request("Bob", address: 2)) { end in ends.withLock { $0.append(end) } }
            #expect(conference.rooms.room("r")?.waiting == 1)
            try host.moderate(.admit(wait))
            #expect(await eventually { ends.withLock { $0 } == [.admitted] })
            var admitted = request("Bob", address: 2)
            admitted.admission = wait
            _ = try conference.join(admitted) { _ in }
            _ = try conference.join(request("Bob's wife", address: 2)) { _ in }
        }
    }

    @Test("an address at which others of the room are keeps nobody out, and a sub there does")
    func sharedAddresses() async throws {
        try await withConference { conference in
            _ = try conference.join(request("Ada", address: 2)) { _ in }
            let bob = try conference.join(request("Bob", address: 2)) { _ in }
            try conference.people.remove(bob.id, in: "r")
            _ = try conference.join(request("Cem", address: 2)) { _ in }
            var known = request("Eve", address: 2)
            known.client.identity = "eve"
            let eve = try conference.join(known) { _ in }
            try conference.people.remove(eve.id, in: "r")
            #expect(throws: ConferenceError.mustWait("r")) { try conference.join(known) { _ in } }
        }
    }

    @Test("the API's removal counts too, and the next meeting is free")
    func nextMeeting() async throws {
        try await withConference { conference in
            let bob = try conference.join(request("Bob", address: 2)) { _ in }
            let cem = try conference.join(request("Cem", address: 3)) { _ in }
            try conference.people.remove(bob.id, in: "r")
            #expect(throws: ConferenceError.mustWait("r")) { try conference.join(request("Bob", address: 2)) { _ in } }
            cem.leave()
            try conference.rooms.end("r")
            _ = try conference.join(request("Bob", address: 2)) { _ in }
        }
    }
}
