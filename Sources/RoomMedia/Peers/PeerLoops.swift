package import Basics
package import Peer
package import Sockets
package import Threads

/// The network loops with their peers, for callers on other threads.
///
/// A participant gets the loop with the fewest participants when its peer is created, and keeps it until it leaves, so
/// that all work for its peer happens there, in order. A room's participants may be on several loops.
package final class PeerLoops: Sendable {
    private struct State {
        /// The loop of each participant that has one.
        var places: [String: Int] = [:]
        var counts: [Int]
        /// Set before the loops stop: work that was handed to them until then runs, so no caller waits for ever.
        var isClosed = false
    }

    package let sockets: MediaLoopGroup
    package let hosts: [PeerLoop]
    private let table = PeerLoopTable()
    private let state: Guarded<State>

    /// A loop works for a tenth of a millisecond at a time, and all its peers wait for it. Beside busy encoders and
    /// other programs, with 16 participants on two processors, a loop of normal priority waited 1.6 ms for a processor
    /// each time, at worst so long that audio came late.
    private static let niceness: Int32 = -10

    /// Binds the ports. No loop runs before `start`.
    ///
    /// - Parameter count: the number of loops.
    package init(
        _ configuration: MediaLoopConfiguration, loops count: Int, events: PeerLoopEvents, meters: StageMeters
    ) throws(NetworkError) {
        sockets = try MediaLoopGroup(configuration, loops: count)
        let ufrags = LoopUfrags()
        hosts = sockets.loops.enumerated().map { [table] index, loop in
            PeerLoop(loop: loop, index: index, others: table, ufrags: ufrags, events: events, meters: meters)
        }
        state = Guarded(State(counts: Array(repeating: 0, count: hosts.count)))
        table.set(hosts)
    }

    package func start() {
        for (index, host) in hosts.enumerated() {
            host.loop.start(
                named: hosts.count > 1 ? "media-\(index)" : "media", niceness: Self.niceness, delegate: host)
        }
    }

    package func stop() {
        state.withLock { $0.isClosed = true }
        sockets.stop()
        table.clear()
    }

    // MARK: - One participant

    /// The loop of a participant; nil where it has none.
    package func host(of participant: String) -> PeerLoop? {
        state.withLock { $0.places[participant] }.map { hosts[$0] }
    }

    /// The loop of a participant, which gets one where it has none yet. `leave` gives the loop back.
    package func place(_ participant: String) -> PeerLoop {
        state.withLock { state in
            if let place = state.places[participant] { return hosts[place] }
            let place = state.counts.indices.min { state.counts[$0] < state.counts[$1] } ?? 0
            state.places[participant] = place
            state.counts[place] += 1
            return hosts[place]
        }
    }

    /// Ends the participant's peer, and gives its loop back.
    package func leave(_ participant: String) {
        let place = state.withLock { state -> Int? in
            guard let place = state.places.removeValue(forKey: participant) else { return nil }
            state.counts[place] -= 1
            return place
        }
        if let place { run(on: hosts[place]) { host, now in host.remove(participant, at: now) } }
    }

    /// Runs `body` on the loop of a participant; does nothing where the participant has none.
    package func run(_ participant: String, _ body: @escaping @Sendable (PeerLoop, Instant) -> Void) {
        if let host = host(of: participant) { run(on: host, body) }
    }

    /// Runs `body` on a loop. Returns whether `body` will run: not after `stop`.
    @discardableResult
    package func run(on host: PeerLoop, _ body: @escaping @Sendable (PeerLoop, Instant) -> Void) -> Bool {
        state.withLock { state in
            if state.isClosed { return false }
            host.execute(body)
            return true
        }
    }

    // MARK: - Several participants

    /// Runs `body` on every loop.
    package func everywhere(_ body: @escaping @Sendable (PeerLoop, Instant) -> Void) {
        for host in hosts { run(on: host, body) }
    }

    /// Delivers a frame of a rendition to its members on these loops.
    package func deliver(_ key: RenditionKey, _ frame: PacketizedVideoFrame, _ trace: PictureTrace, to loops: [Int]) {
        for loop in loops { hosts[loop].execute { $0.deliver(key, frame, trace, at: $1) } }
    }

    /// Delivers audio packets to the loops of their peers.
    package func deliver(_ audio: [AudioDelivery]) {
        guard hosts.count > 1 else { return hosts[0].execute { $0.deliver(audio, at: $1) } }
        for (loop, packets) in Dictionary(grouping: audio, by: \.seat.loop) where hosts.indices.contains(loop) {
            hosts[loop].execute { $0.deliver(packets, at: $1) }
        }
    }

    /// Sends a chat message to the peers of the room that chat by data channel.
    package func send(_ message: ChannelMessage, in room: RoomEngine) {
        for loop in room.loops {
            run(on: hosts[loop]) { [id = room.id] host, now in host.send(message, in: id, at: now) }
        }
    }

    // MARK: - Statistics

    package var backlogs: [BacklogStatistics] { hosts.map(\.loop.backlog) }

    package func samples(at now: Instant) -> [MetricSample] {
        LoopTurns.samples(of: hosts.map(\.turns), at: now) + HostCounters.samples(of: hosts.map(\.counters))
    }
}
