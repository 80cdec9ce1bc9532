import Basics
import Foundation
import Peer
import Sockets
import Synchronization
import TestSupport
import Testing
import Threads

@testable import RoomMedia

/// Records the `ended` events of the loops.
private final class Told: Sendable {
    struct End: Sendable {
        var participant: String
        var reason: PeerEnd
        var why: String?
    }

    private let kept = Guarded<[End]>([])
    var ends: [End] { kept.withLock { $0 } }
    var events: PeerLoopEvents {
        PeerLoopEvents(
            media: { _, _, _ in },
            ended: { [kept] participant, reason, why in
                kept.withLock { $0.append(End(participant: participant, reason: reason, why: why)) }
            }, link: { _, _ in }, chat: { _, _ in })
    }
}

@Suite("PeerLoop", .timeLimit(.minutes(1)))
struct PeerLoopTests {
    private static let address = SocketAddress(.v4(0x7F00_0001), port: 9)
    private let told = Told()
    private let still = StillServices()

    private func withLoops(_ count: Int = 1, _ body: (PeerLoops) async throws -> Void) async throws {
        let loops = try PeerLoops(
            MediaLoopConfiguration(udp: [SocketAddress(.v4(0x7F00_0001), port: 0)]), loops: count, events: told.events,
            meters: StageMeters())
        loops.start()
        defer { loops.stop() }
        try await body(loops)
    }

    /// Runs `body` in one turn of a loop; the times in `body` are simulated.
    private func on<Value: Sendable>(
        _ host: PeerLoop, _ loops: PeerLoops, _ body: @escaping @Sendable (PeerLoop, Instant) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            loops.run(on: host) { host, now in continuation.resume(with: Result { try body(host, now) }) }
        }
    }

    /// A peer that waits for checks at `address`.
    private static func seat(
        _ id: String, in room: RoomEngine, on host: PeerLoop, budget: LoopBudget, at now: Instant
    ) throws -> PeerSession {
        var settings = PeerConfiguration(role: .server)
        settings.candidates = [Candidate.host(address, preference: 0)]
        let seat = PeerSession(
            id: id, seatID: host.makeSeatID(),
            peer: try PeerConnection(settings, identity: try DTLSIdentity.generate(), at: now), engine: room,
            intake: room.add(id, hearsAs: id, requestKeyframe: { _ in }), opensChannels: [],
            loopBudget: budget)
        host.add(seat, at: now)
        return seat
    }

    /// Connects a client to the seat, and returns the checks that it sends.
    private static func checks(for seat: PeerSession, on host: PeerLoop, at now: Instant) throws -> [[UInt8]] {
        var settings = PeerConfiguration(role: .client)
        settings.localAddresses = [SocketAddress(.v4(0x7F00_0001), port: 4000)]
        let client = try PeerConnection(settings, identity: try DTLSIdentity.generate(), at: now)
        try client.accept(answer: seat.peer.answer(client.makeOffer(at: now), at: now), at: now)
        host.updateUfrags(seat)
        var sent: [[UInt8]] = []
        var time = now
        while sent.isEmpty {
            time += .milliseconds(10)
            client.advance(to: time)
            client.flush { bytes, _ in sent.append(Array(bytes)) }
        }
        return sent
    }

    private static func deliver(_ datagrams: [[UInt8]], on flow: Flow, to host: PeerLoop, at now: Instant) {
        for var bytes in datagrams {
            bytes.withUnsafeMutableBytes { host.received($0, flow: flow, at: now) }
        }
    }

    private static let flow = Flow(
        .udp, local: address, remote: SocketAddress(.v4(0x7F00_0001), port: 4000))

    @Test("A peer is found until it is removed, and its number is never used again")
    func seats() async throws {
        let room = still.room()
        try await withLoops { loops in
            let seen = try await on(loops.hosts[0], loops) { host, now in
                let budget = LoopBudget(share: 1, at: now)
                let first = try Self.seat("a", in: room, on: host, budget: budget, at: now)
                var seen = [host.seat("a") === first, host.seat("b") == nil]
                host.remove("a", at: now)
                host.remove("a", at: now)
                seen.append(host.seat("a") == nil)
                let second = try Self.seat("a", in: room, on: host, budget: budget, at: now)
                return seen + [host.seat("a") === second, second.seatID != first.seatID]
            }
            #expect(!seen.contains(false), "\(seen)")
        }
        #expect(told.ends.isEmpty, "a removal by the room is no event")
    }

    @Test("Another peer of a participant whose frames go to others is asked for as much as the one before")
    func limits() async throws {
        let room = still.room()
        _ = room.add("a", hearsAs: "a", requestKeyframe: { _ in })
        var scene = Scene(width: 320, height: 180, framesPerSecond: 30, views: [.main: Scene.View()])
        scene.people = [
            Scene.Person(
                id: "a", name: "", isShown: true, sendsVideo: true, sendsAudio: false, isMuted: false, hand: false,
                isPresenting: false, isPinned: false, joinOrder: 0, gain: 1, hearsAs: "a")
        ]
        room.apply(scene)
        // The room composes its first picture as it starts: with the sender, whose frames a picture without it would end.
        still.withoutPictures {
            room.setAudio("a", profile: .clear, receiverLimits: OpusReceiverLimits(), to: PeerID(loop: 1, number: 7))
            let key = room.subscribe(
                "b", view: .main, format: VideoSendFormat(codec: .vp8), kind: .forwarded("a"), budget: .kilobits(500),
                loop: 0)
            #expect(key != nil)
        }
        #expect(await eventually { !room.isBusy })
        try await withLoops { loops in
            let asked = try await on(loops.hosts[0], loops) { host, now in
                let seat = try Self.seat("a", in: room, on: host, budget: LoopBudget(share: 1, at: now), at: now)
                return seat.receiveLimits.forwarded
            }
            #expect(asked == [.camera: .kilobits(500) * RenditionControl.headers])
        }
    }

    @Test("A check reaches the peer whose user fragment it names, and other datagrams reach no peer")
    func routes() async throws {
        let room = still.room()
        try await withLoops { loops in
            let validated = try await on(loops.hosts[0], loops) { host, now in
                let budget = LoopBudget(share: 1, at: now)
                let seats = try ["a", "b"].map { try Self.seat($0, in: room, on: host, budget: budget, at: now) }
                let checks = try seats.map { try Self.checks(for: $0, on: host, at: now) }
                let strange: [[UInt8]] = [[1, 2, 3], [0x16, 0xFE, 0xFD, 0, 0], [0x80, 0, 0, 0]]
                return [strange, checks[1]].map { datagrams in
                    Self.deliver(datagrams, on: Self.flow, to: host, at: now)
                    return seats.map { $0.peer.isValidated(Self.flow) }
                }
            }
            #expect(validated == [[false, false], [false, true]])
        }
    }

    @Test("A check that arrives at another loop is handed to the loop of its peer")
    func handsOver() async throws {
        let room = still.room()
        try await withLoops(2) { loops in
            let (home, other) = (loops.hosts[0], loops.hosts[1])
            let checks = try await on(home, loops) { host, now in
                let seat = try Self.seat("a", in: room, on: host, budget: LoopBudget(share: 1, at: now), at: now)
                return try Self.checks(for: seat, on: host, at: now)
            }
            let handedOver = try await on(other, loops) { host, now in
                Self.deliver(checks, on: Self.flow, to: host, at: now)
                _ = host.advance(to: now)
                return host.counters.handedOver.load(ordering: .relaxed)
            }
            #expect(handedOver == checks.count)
            // The loop takes the datagrams that were handed over before it runs this.
            let isValidated = try await on(home, loops) { host, _ in host.seat("a")?.peer.isValidated(Self.flow) }
            #expect(isValidated == true)
        }
    }

    @Test("A peer that falls silent fails, and the event says why")
    func fails() async throws {
        let room = still.room()
        try await withLoops { loops in
            let (seconds, isGone) = try await on(loops.hosts[0], loops) { [told] host, now in
                let seat = try Self.seat("a", in: room, on: host, budget: LoopBudget(share: 1, at: now), at: now)
                Self.deliver(try Self.checks(for: seat, on: host, at: now), on: Self.flow, to: host, at: now)
                var time = now
                while told.ends.isEmpty, time - now < .seconds(120) {
                    time = max(host.advance(to: time) ?? time, time + .milliseconds(1))
                }
                return ((time - now).inSeconds, host.seat("a") == nil)
            }
            #expect((29...60).contains(seconds) && isGone)
        }
        let end = try #require(told.ends.first)
        #expect(told.ends.count == 1 && end.participant == "a" && end.why?.contains("did not answer") == true)
        #expect(end.reason == .failed)
    }

    @Test("A peer that exceeds its share of the loop for too long is ended, and no other")
    func overBudget() async throws {
        let room = still.room()
        try await withLoops { loops in
            let (isGone, isOtherThere, ended) = try await on(loops.hosts[0], loops) { [told] host, now in
                let strict = LoopBudget(share: 0.001, burst: 0.0001, tolerance: .milliseconds(5), at: now)
                let glutton = try Self.seat("a", in: room, on: host, budget: strict, at: now)
                let modest = try Self.seat("b", in: room, on: host, budget: strict, at: now)
                for _ in 0..<100 where told.ends.isEmpty {
                    let start = MonotonicClock.now()
                    host.charging(glutton) { while MonotonicClock.now() - start < .milliseconds(1) {} }
                    host.turnEnded(since: start)
                }
                let ended = host.counters.endedOverBudget.load(ordering: .relaxed)
                return (host.seat("a") == nil, host.seat("b") === modest, ended)
            }
            #expect(isGone && isOtherThere && ended == 1)
        }
        #expect(told.ends.map(\.participant) == ["a"] && told.ends.first?.reason == .overBudget)
    }
}
