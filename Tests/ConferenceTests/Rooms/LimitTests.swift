import Basics
import Peer
import Sockets
import TestSupport
import Testing
import Threads

@testable import Conference
@testable import RoomMedia

/// The limits of one client, one participant and one room, in a whole conference with small limits.
@Suite("The limits of a conference", .serialized)
struct LimitTests {
    private func join(
        _ conference: Conference, _ room: String, address: UInt32? = nil, role: Role = .participant,
        kind: JoinRequest.Kind = .participant, hasSignalling: Bool = true
    ) throws -> Participant {
        var request = AdmittedJoin(room: room, name: "Ann", role: role, kind: kind)
        request.client.address = address.map { .v4($0) }
        request.hasSignalling = hasSignalling
        return try conference.join(request) { _ in }
    }

    private func value(_ conference: Conference, _ name: String, _ labels: [String: String] = [:]) -> Double? {
        conference.metrics().first { $0.name == name && $0.labels == labels }?.value
    }

    private func current(_ conference: Conference, _ name: String) -> Double? {
        value(conference, "tessera_limited_current", ["name": name])
    }

    @Test("rooms and seats count for the client that created them, until they end")
    func roomsAndSeats() async throws {
        try await withConference({ settings in
            (settings.limits.rooms, settings.limits.roomsPerAddress) = (3, 2)
            (settings.limits.seats, settings.limits.seatsPerAddress) = (5, 3)
        }) { conference in
            let first = try join(conference, "a", address: 1)
            let second = try join(conference, "b", address: 1)
            for seat in [first, second] { conference.registry.setUsed(seat.id, true) }
            #expect { try join(conference, "c", address: 1) } throws: { ($0 as? ConferenceError)?.kind == "tooFast" }
            #expect(
                current(conference, "rooms") == 2 && current(conference, "seats") == 2,
                "who is refused leaves nothing behind")
            _ = try join(conference, "c", address: 2)
            #expect { try join(conference, "d", address: 3) } throws: { ($0 as? ConferenceError)?.kind == "atCapacity" }
            let third = try join(conference, "a", address: 1)
            conference.registry.setUsed(third.id, true)
            #expect { try join(conference, "a", address: 1) } throws: { ($0 as? ConferenceError)?.kind == "tooFast" }
            _ = try join(conference, "a", address: 5)
            #expect { try join(conference, "a", address: 4) } throws: {
                ($0 as? ConferenceError)?.retryAfter == .seconds(30)
            }
            first.leave()
            first.leave()
            #expect(current(conference, "seats") == 4)
            _ = try join(conference, "a", address: 4)
            try conference.rooms.end("b")
            #expect(current(conference, "rooms") == 2 && current(conference, "seats") == 4)
            _ = try join(conference, "d", address: 6)
            #expect(value(conference, "tessera_limit_refusals_total", ["name": "rooms", "reason": "total"]) == 1)
        }
    }

    @Test("where all rooms are taken, a newcomer's ends the oldest unused one of the address that has most")
    func displacedRooms() async throws {
        try await withConference({ $0.limits.rooms = 10 }) { conference in
            let used = try join(conference, "used", address: 1)
            conference.registry.setUsed(used.id, true)
            let reasons = Guarded<[LeaveReason]>([])
            var request = AdmittedJoin(room: "squat0", name: "Eve")
            request.client.address = .v4(1)
            _ = try conference.join(request) { event in
                if case .left(let reason) = event.event { reasons.withLock { $0.append(reason) } }
            }
            for number in 1..<8 { _ = try join(conference, "squat\(number)", address: 1) }
            _ = try join(conference, "small", address: 2)
            #expect(current(conference, "rooms") == 10)
            _ = try join(conference, "friend", address: 3)
            #expect(
                await eventually { conference.rooms.room("squat0") == nil && reasons.withLock { $0 } == [.roomEnded] })
            #expect(conference.rooms.room("used") != nil && conference.rooms.room("small") != nil)
            #expect(conference.rooms.room("squat1") != nil && conference.rooms.room("friend") != nil)
            #expect(current(conference, "rooms") == 10)
            #expect(value(conference, "tessera_limit_displaced_total", ["name": "rooms"]) == 1)
            try conference.rooms.create("board", RoomSettingsChange())
            #expect(await eventually { conference.rooms.room("squat1") == nil })
        }
    }

    @Test("visitors who have left a room each keep nobody out; who comes back to one has it again")
    func abandonedRooms() async throws {
        try await withConference({ $0.limits.rooms = 10 }) { conference in
            for number in 0..<9 {
                try join(conference, "left\(number)", address: UInt32(1 + number)).leave()
            }
            let back = try join(conference, "left0", address: 1)
            let one = try join(conference, "one", address: 20)
            conference.registry.setUsed(one.id, true)
            #expect(current(conference, "rooms") == 10)
            for number in 0..<20 {
                let visitor = try join(conference, "friend\(number)", address: UInt32(30 + number))
                conference.registry.setUsed(visitor.id, true)
                visitor.leave()
            }
            #expect(
                await eventually { conference.rooms.room("left1") == nil && conference.rooms.room("friend11") == nil })
            #expect(conference.rooms.room("left0") != nil && back.info != nil && conference.rooms.room("one") != nil)
            #expect(conference.rooms.room("friend19") != nil && current(conference, "rooms") == 10)
        }
    }

    @Test("who comes into an empty room between its displacement and its end stays there, and the room counts again")
    func joinedBeforeTheEnd() async throws {
        try await withConference({ $0.limits.rooms = 10 }) { conference in
            // The ends wait until the test runs them.
            let displaced = Guarded<[Capacity.Displaced]>([])
            conference.registry.onDisplaced { other in displaced.withLock { $0.append(other) } }
            for number in 0..<10 {
                try join(conference, "left\(number)", address: UInt32(1 + number)).leave()
            }
            _ = try join(conference, "friend", address: 40)
            #expect(displaced.withLock { $0 } == [.room("left0", wasEmpty: true)])
            let back = try join(conference, "left0", address: 1)
            conference.expiry.displace(.room("left0", wasEmpty: true))
            #expect(conference.rooms.room("left0") != nil && back.info != nil)
            #expect(current(conference, "rooms") == 11, "it is there, so it counts")
            // The next newcomer displaces a room as before, and the one too many goes with the first that ends.
            _ = try join(conference, "next", address: 41)
            #expect(displaced.withLock { $0 }.last == .room("left1", wasEmpty: true))
            conference.expiry.displace(.room("left1", wasEmpty: true))
            #expect(conference.rooms.room("left1") == nil && current(conference, "rooms") == 11)
            try conference.rooms.end("friend")
            #expect(current(conference, "rooms") == 10)
            // A room that ends before its turn comes, and a later one of its name.
            back.leave()
            try conference.rooms.end("left0")
            let other = try join(conference, "left0", address: 42)
            conference.expiry.displace(.room("left0", wasEmpty: false))
            #expect(conference.rooms.room("left0") != nil && other.info != nil, "what has a place was not displaced")
        }
    }

    @Test("where all seats are taken, a newcomer's ends the oldest one without media of the address that has most")
    func displacedSeats() async throws {
        try await withConference({ $0.limits.seats = 10 }) { conference in
            let squatters = try (0..<9).map { _ in try join(conference, "r", address: 1) }
            conference.registry.setUsed(squatters[0].id, true)
            _ = try join(conference, "r", address: 2)
            let friend = try join(conference, "r", address: 3)
            #expect(await eventually { squatters[1].info == nil })
            #expect(squatters[0].info != nil && friend.info != nil && current(conference, "seats") == 10)
            // A displaced seat that leaves by itself frees nobody's place.
            squatters[1].leave()
            #expect(current(conference, "seats") == 10)
        }
    }

    @Test("a seat without a media connection ends after a minute, whatever its signalling does")
    func silentSeats() async throws {
        try await withConference({ $0.limits.seatWithoutMedia = .seconds(60) }) { conference in
            let seat = try join(conference, "r", address: 1)
            let listener = try join(conference, "r", address: 1, kind: .viewer)
            conference.seats.mediaChanged(listener.id, true, since: MonotonicClock.now())
            conference.expiry.expire(at: MonotonicClock.now() + .seconds(58))
            #expect(seat.info != nil)
            conference.expiry.expire(at: MonotonicClock.now() + .seconds(61))
            #expect(seat.info == nil && listener.info != nil)
            conference.seats.mediaChanged(listener.id, false, since: MonotonicClock.now())
            conference.expiry.expire(at: MonotonicClock.now() + .seconds(61))
            #expect(listener.info == nil && current(conference, "seats") == 0)
        }
    }

    @Test("of a peer that is not connected a valid check has come in time, or it lacks one")
    func checks() async throws {
        try await withConference({ $0.limits.firstCheck = .seconds(600) }) { conference in
            let (silent, checking) = (
                try join(conference, "r", address: 1, hasSignalling: false),
                try join(conference, "r", address: 2, hasSignalling: false)
            )
            let clients = try (0..<2).map { _ in try LoopbackClient(codec: .vp8, colour: (90, 90, 90), tone: 500) }
            let offers = await [clients[0], clients[1]].asyncMap { await $0.onLoop { $0.makeOffer(at: $1) } }
            _ = try await silent.offer(offers[0])
            try await clients[1].call { try await checking.offer($0) }
            #expect(await eventually { clients[1].seen.isConnected && self.current(conference, "half_open") == 1 })
            // The peer's own clock is the loop's, so time passes for it.
            let host = try #require(conference.media.peers.host(of: silent.id))
            #expect(
                try await conference.media.peers.result(on: host) { host, _ in
                    .success(host.seat(silent.id)?.peer.hasValidCheck)
                } == false)
            #expect(
                try await conference.media.peers.result(on: host) { host, now in
                    .success(conference.expiry.lacksCheck(silent.id, host, at: now + .seconds(601)))
                })
            let other = try #require(conference.media.peers.host(of: checking.id))
            #expect(
                try await conference.media.peers.result(on: other) { host, now in
                    .success(!conference.expiry.lacksCheck(checking.id, host, at: now + .seconds(601)))
                })
            #expect(conference.registry.unchecked(at: MonotonicClock.now()) == [])
            #expect(conference.registry.unchecked(at: MonotonicClock.now() + .seconds(601)) == [silent.id])
            for client in clients { client.stop() }
        }
    }

    @Test("a peer of which no check comes ends with its seat, and makes room for a newcomer's")
    func unchecked() async throws {
        try await withConference({ ($0.limits.firstCheck, $0.limits.halfOpen) = (.milliseconds(1), 2) }) { conference in
            let clients = try (0..<3).map { _ in try LoopbackClient(codec: .vp8, colour: (90, 90, 90), tone: 500) }
            let offers = await [clients[0], clients[1], clients[2]].asyncMap {
                await $0.onLoop { $0.makeOffer(at: $1) }
            }
            let silent = try join(conference, "r", address: 1, hasSignalling: false)
            let keeps = try join(conference, "r", address: 2)
            _ = try await silent.offer(offers[0])
            _ = try await keeps.offer(offers[1])
            #expect(await eventually { silent.info == nil && self.current(conference, "half_open") == 0 })
            #expect(keeps.info != nil, "it has signalling, and may offer again")
            let newcomer = try join(conference, "r", address: 3)
            _ = try await newcomer.offer(offers[2])
            for client in clients { client.stop() }
        }
    }

    @Test("a join that the room refuses does not count")
    func refusedJoins() async throws {
        try await withConference { conference in
            var request = AdmittedJoin(room: "r", name: "Ann", kind: .viewer, asParticipant: "nobody")
            request.client.address = .v4(1)
            for _ in 0..<5 { #expect(throws: ConferenceError.self) { try conference.join(request) { _ in } } }
            request.layout = "none"
            request.asParticipant = nil
            request.kind = .participant
            #expect(throws: ConferenceError.unknownLayout("none")) { try conference.join(request) { _ in } }
            #expect(current(conference, "rooms") == 0 && current(conference, "seats") == 0)
        }
    }

    @Test("a peer counts as half open from its offer until it connects, leaves, or the offer is refused")
    func halfOpen() async throws {
        try await withConference({ $0.limits.halfOpen = 2 }) { conference in
            let clients = try (0..<3).map { _ in try LoopbackClient(codec: .vp8, colour: (90, 90, 90), tone: 500) }
            let seats = try (0..<3).map { try join(conference, "r", address: UInt32($0)) }
            #expect(current(conference, "half_open") == 0, "a seat may wait for a camera")
            await #expect(throws: ConferenceError.self) { try await seats[0].offer("v=0") }
            #expect(current(conference, "half_open") == 0)
            let offers = await [clients[0], clients[1], clients[2]].asyncMap {
                await $0.onLoop { $0.makeOffer(at: $1) }
            }
            _ = try await seats[0].offer(offers[0])
            _ = try await seats[0].offer(offers[0])
            #expect(current(conference, "half_open") == 1, "once, however often it offers")
            _ = try await seats[1].offer(offers[1])
            do throws(ConferenceError) {
                _ = try await seats[2].offer(offers[2])
                Issue.record("a third half-open peer was taken")
            } catch {
                #expect(error.kind == "atCapacity" && error.retryAfter == .seconds(5))
            }
            seats[0].leave()
            #expect(current(conference, "half_open") == 1)
            try await clients[2].call { try await seats[2].offer($0) }
            #expect(await eventually { clients[2].seen.isConnected && self.current(conference, "half_open") == 1 })
            // Without signalling the seat ends, with signalling only the peer.
            let later = MonotonicClock.now() + .seconds(21)
            conference.expiry.expire(at: later)
            #expect(current(conference, "half_open") == 0)
            #expect(seats[1].info != nil)
            let host = try #require(conference.media.peers.host(of: seats[1].id))
            #expect(
                await eventually {
                    (try? await conference.media.peers.result(on: host) { host, _ in
                        .success(host.seat(seats[1].id) == nil)
                    }) == true
                })
            for client in clients { client.stop() }
        }
    }

    @Test("offers are limited for each participant, and an ICE restart counts as one")
    func offers() async throws {
        try await withConference { conference in
            let seat = try join(conference, "r")
            var codes: [String] = []
            for index in 0..<30 {
                do throws(ConferenceError) {
                    if index % 2 == 0 {
                        _ = try await seat.offer("v=0")
                    } else {
                        _ = try await seat.restartICE(ufrag: "abcd", password: "x")
                    }
                } catch { codes.append(error.kind) }
            }
            #expect(codes.prefix(10).allSatisfy { $0 == "badSDP" })
            #expect(codes.suffix(15).allSatisfy { $0 == "tooFast" })
            let other = try join(conference, "r")
            do throws(ConferenceError) { _ = try await other.offer("v=0") } catch {
                #expect(error.kind == "badSDP", "another's are its own")
            }
        }
    }

    @Test("viewers cannot send messages")
    func viewers() async throws {
        try await withConference { conference in
            let ann = try join(conference, "r")
            for viewer in [try join(conference, "r", role: .viewer), try join(conference, "r", kind: .viewer)] {
                #expect { try viewer.chat("hello") } throws: { ($0 as? ConferenceError)?.kind == "forbidden" }
            }
            try ann.chat("hello")
            var change = ParticipantChange()
            change.role = .viewer
            try conference.people.update(ann.id, in: "r", change)
            #expect(throws: ConferenceError.self) { try ann.chat("hello") }
        }
    }

    @Test("chat and states are limited to a human rate")
    func rates() async throws {
        try await withConference { conference in
            let (ann, bob) = (try join(conference, "r"), try join(conference, "r"))
            let said = (0..<100).count { _ in (try? ann.chat("hello")) != nil }
            #expect((20...30).contains(said))
            let set = (0..<100).count { (try? ann.setState(audio: $0 % 2 == 0)) != nil }
            #expect((30...45).contains(set))
            try bob.chat("I may")
            let refused = value(conference, "tessera_limit_refusals_total", ["name": "chat", "reason": "rate"])
            #expect((refused ?? 0) >= 70)
        }
    }

    @Test("equal personal views are shared, and their number in a room is limited")
    func views() async throws {
        try await withConference({ $0.limits.viewsPerRoom = 2 }) { conference in
            let seats = try (0..<6).map { _ in try join(conference, "r") }
            let pins = [seats[0].id, seats[1].id]
            try seats[0].setLayout("speaker", scope: .me, pins: pins)
            try seats[1].setLayout("speaker", scope: .me, pins: pins + pins)
            try seats[2].setLayout("speaker", scope: .me)
            #expect(conference.registry["r"]?.read { $0.scene { _ in nil }.views.count } == 3, "the room's and two")
            #expect { try seats[3].setLayout("single", scope: .me) } throws: {
                guard case ConferenceError.atCapacity(let text, _) = $0 else { return false }
                return text.contains("2 pictures")
            }
            #expect(seats[3].shown.name == "grid", "it keeps the room's")
            try seats[3].setLayout("speaker", scope: .me, pins: pins)
            try seats[2].setLayout("single", scope: .me)
            #expect(seats[2].shown.name == "single", "one for another is not one more")
            for seat in seats { try seat.setLayout("grid", scope: .me) }
            #expect(conference.registry["r"]?.read { $0.scene { _ in nil }.views.count } == 1)
            #expect(value(conference, "tessera_limit_refusals_total", ["name": "views", "reason": "total"]) == 1)
        }
    }

    @Test("new personal views are limited in rate")
    func toggling() async throws {
        try await withConference { conference in
            let seat = try join(conference, "r")
            _ = try join(conference, "r")
            var made = 0
            for index in 0..<100 {
                guard (try? seat.setLayout(index % 2 == 0 ? "single" : "grid", scope: .me)) != nil else { continue }
                if index % 2 == 0 { made += 1 }
            }
            #expect(made <= 4)
        }
    }

    @Test("a room without connected peers does not run, and still gives snapshots")
    func idle() async throws {
        try await withConference { conference in
            for room in 0..<50 { _ = try join(conference, "r\(room)") }
            #expect(value(conference, "tessera_rooms") == 50 && value(conference, "tessera_room_engines_running") == 0)
            // The room announces its tiles all the same.
            let (ann, bob) = (try join(conference, "r3"), try join(conference, "r3"))
            #expect(await eventually { conference.rooms.room("r3")?.tiles.tiles.count == 3 })
            bob.leave()
            #expect(await eventually { conference.rooms.room("r3")?.tiles.tiles.count == 2 })
            try ann.setLayout("single", scope: .room)
            #expect(await eventually { conference.rooms.room("r3")?.tiles.tiles.count == 1 })
            let png = try await conference.rooms.snapshot("r7")
            #expect(png.starts(with: [0x89, 0x50, 0x4E, 0x47]))
            #expect(await eventually { self.value(conference, "tessera_room_engines_running") == 0 })
            // The room runs while a peer is connected, and stops when the peer leaves.
            let client = try LoopbackClient(codec: .vp8, colour: (90, 90, 90), tone: 500)
            let seat = try join(conference, "r7")
            try await client.call { try await seat.offer($0) }
            #expect(
                await eventually {
                    client.seen.frames > 2 && self.value(conference, "tessera_room_engines_running") == 1
                })
            seat.leave()
            #expect(await eventually { self.value(conference, "tessera_room_engines_running") == 0 })
            client.stop()
        }
    }

    @Test("a peer's statistics and the metrics count its refused packets")
    func refused() async throws {
        try await withConference { conference in
            let client = try LoopbackClient(codec: .vp8, colour: (90, 90, 90), tone: 500)
            let seat = try join(conference, "r")
            try await client.call { try await seat.offer($0) }
            #expect(await eventually { client.seen.isConnected && client.seen.frames > 2 })
            let before = try await conference.people.statistics(seat.id, in: "r").faults
            let flow = try #require(await client.onLoop { $0.statistics(at: $1).flow })
            // An SRTP packet from no source: a header, and bytes that no key has signed.
            let packet = [0x80, 96, 0, 1, 0, 0, 0, 0, 0x12, 0x34, 0x56, 0x78] + [UInt8](repeating: 7, count: 60)
            for _ in 0..<10 {
                client.loop.execute { [loop = client.loop] in packet.withUnsafeBytes { loop.send($0, flow: flow) } }
            }
            var now = before
            let isCounted = await eventually {
                now = (try? await conference.people.statistics(seat.id, in: "r").faults) ?? before
                return now[.undecryptable] + now[.sources] >= before[.undecryptable] + before[.sources] + 10
            }
            #expect(isCounted, "\(before.named), then \(now.named)")
            let isInMetrics = await eventually {
                let reasons = ["undecryptable", "source"].map {
                    self.value(conference, "tessera_packets_refused_total", ["reason": $0]) ?? 0
                }
                return reasons.reduce(0, +) >= 10
            }
            #expect(isInMetrics)
            seat.leave()
            client.stop()
        }
    }

    @Test("a peer that costs the loop too much is ended with a reason, and the others notice nothing")
    func overBudget() async throws {
        try await withConference { conference in
            let clients = try (0..<2).map { _ in try LoopbackClient(codec: .vp8, colour: (90, 90, 90), tone: 500) }
            let reasons = Guarded<[LeaveReason]>([])
            let costly = try conference.join(AdmittedJoin(room: "r", name: "Eve")) { event in
                if case .left(let reason) = event.event { reasons.withLock { $0.append(reason) } }
            }
            let other = try join(conference, "r")
            try await clients[0].call { try await costly.offer($0) }
            try await clients[1].call { try await other.offer($0) }
            #expect(await eventually { clients.allSatisfy { $0.seen.isConnected && $0.seen.frames > 2 } })
            // With this budget the cost of an ordinary peer is far too high.
            conference.media.peers.run(costly.id) { host, now in
                host.seat(costly.id)?.loopBudget = LoopBudget(
                    share: 0.001, burst: 0.0002, tolerance: .milliseconds(100), at: now)
            }
            #expect(await eventually { reasons.withLock { $0 } == [.overBudget] })
            #expect(conference.rooms.room("r")?.participants.map(\.id) == [other.id])
            let frames = clients[1].seen.frames
            #expect(await eventually { clients[1].seen.frames > frames + 5 })
            #expect(value(conference, "tessera_peers_over_budget_total") == 1)
            #expect(
                await eventually {
                    value(conference, "tessera_packets_refused_total", ["reason": "over_budget"]) ?? 0 > 0
                })
            #expect((value(conference, "tessera_loop_turn_seconds_count") ?? 0) > 10)
            for client in clients { client.stop() }
        }
    }

    @Test("who comes back while the server goes down waits a second for the next one, and keeps its ticket")
    func goingDown() async throws {
        try await withConference { conference in
            let ann = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { _ in }
            await conference.drain(within: .seconds(2))
            for attempt in [
                { _ = try conference.resume(id: ann.id, secret: ann.resumeSecret) { _ in } },
                { _ = try conference.join(AdmittedJoin(room: "r", name: "Bob")) { _ in } },
            ] {
                let error = #expect(throws: ConferenceError.self) { try attempt() }
                #expect(error?.message == ConferenceError.draining.message && error?.retryAfter == .seconds(1))
            }
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ body: (Element) async -> Value) async -> [Value] {
        var result: [Value] = []
        for element in self { result.append(await body(element)) }
        return result
    }
}
