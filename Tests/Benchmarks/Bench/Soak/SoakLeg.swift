import Basics
import Peer
import Simulation

/// The media of one caller of the soak test: a peer connection, its link, and its source. Confined to the crowd's loop.
final class SoakLeg {
    /// The state of the connection.
    enum State: Sendable { case connecting, connected, ended(String) }

    /// The received media so far.
    struct Tally: Sendable {
        var state = State.connecting
        var frames = 0
        var keyframes = 0
        var packets = 0
        var messages = 0
    }

    let connection: PeerConnection
    let source: SoakSource
    /// Called with each event, after it was counted.
    let onEvent: (@Sendable (PeerEvent) -> Void)?
    /// The possible source addresses of its datagrams. The connection knows the first one only; a change stands for a
    /// NAT rebinding, or a phone that changes its network.
    let addresses: [SocketAddress]
    /// The index of the address that the server sees now.
    var shown = 0
    var sendsAudio = true
    var sendsPicture = true
    private(set) var tally = Tally()
    private var nextPicture: Int64 = 0
    private var link:
        (down: SimulatedLink<(bytes: [UInt8], flow: Flow)>, up: SimulatedLink<(bytes: [UInt8], flow: Flow)>)?

    /// The label of the data channel, the same for all callers.
    static let channel = "soak"
    /// Several times the rate of the source, so that no frame waits: the source cannot follow an estimate.
    private static let pace = BitRate.megabits(3)

    var isConnected: Bool { if case .connected = tally.state { true } else { false } }

    /// - Parameter addresses: the source addresses; empty for TCP.
    init(
        addresses: [SocketAddress], source: SoakSource, options: Crowd.Options, identity: DTLSIdentity, at now: Instant,
        onEvent: (@Sendable (PeerEvent) -> Void)?
    ) throws {
        self.addresses = addresses
        self.source = source
        self.onEvent = onEvent
        var configuration = PeerConfiguration(role: .client)
        configuration.localAddresses = Array(addresses.prefix(1))
        configuration.videoCodecs = [options.codec]
        configuration.audio = options.watchesOnly ? .receiveOnly : .sendReceive
        configuration.video = options.watchesOnly ? .receiveOnly : .sendReceive
        configuration.feedback.remove(.remb)
        configuration.bandwidth.start = Self.pace
        configuration.bandwidth.minimum = Self.pace
        connection = try PeerConnection(configuration, identity: identity, at: now)
        if !options.watchesOnly { connection.openChannel(label: Self.channel, at: now) }
    }

    // MARK: - The link

    /// Sets the condition of the link from now on.
    func change(link conditions: LinkConditions, seed: UInt64) {
        if link == nil { link = (SimulatedLink(conditions, seed: seed), SimulatedLink(conditions, seed: seed &+ 1)) }
        link?.down.change(to: conditions)
        link?.up.change(to: conditions)
    }

    func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        var flow = flow
        if flow.transport == .udp {
            // Datagrams to an earlier address are lost.
            guard addresses.indices.contains(shown), flow.local == addresses[shown] else { return }
            flow.local = addresses[0]
        }
        guard link != nil else { return connection.receive(datagram, flow: flow, at: now) }
        link?.down.send(([UInt8](datagram), flow), size: datagram.count, at: now)
    }

    /// Sends due media, handles events, and passes on datagrams. Returns the next deadline.
    func advance(to now: Instant, send: (UnsafeRawBufferPointer, Flow) -> Void) -> Instant? {
        while var arrived = link?.down.receive(at: now) {
            arrived.bytes.withUnsafeMutableBytes { connection.receive($0, flow: arrived.flow, at: now) }
        }
        connection.advance(to: now)
        while let event = connection.nextEvent() { take(event) }
        let next = sendPictures(at: now)
        flush(at: now, send: send)
        return [next, connection.nextDeadline(after: now), link?.up.nextDelivery, link?.down.nextDelivery].compactMap {
            $0
        }.min()
    }

    func flush(at now: Instant, send: (UnsafeRawBufferPointer, Flow) -> Void) {
        connection.flush { bytes, flow in
            var flow = flow
            if flow.transport == .udp, addresses.indices.contains(shown) { flow.local = addresses[shown] }
            if link == nil { return send(bytes, flow) }
            link?.up.send(([UInt8](bytes), flow), size: bytes.count, at: now)
        }
        while let leaving = link?.up.receive(at: now) { leaving.bytes.withUnsafeBytes { send($0, leaving.flow) } }
    }

    // MARK: - Media

    /// Sends the media of the 20 ms tick with this number.
    func sendAudio(_ tick: Int64, at now: Instant) {
        guard isConnected, sendsAudio else { return }
        connection.send(
            audio: source.packet(tick), timestamp: Instant(ticks: tick, at: 50).ticks(at: 48_000), marker: false,
            level: source.level, at: now)
    }

    private func sendPictures(at now: Instant) -> Instant? {
        guard isConnected, connection.sendsVideo else { return nil }
        let rate = Int64(source.framesPerSecond)
        let current = now.ticks(at: rate)
        // Missed ticks are skipped, as a camera does.
        if nextPicture < current { nextPicture = current }
        if nextPicture == current {
            if sendsPicture, let frame = source.frame(current) { connection.send(PacketizedVideoFrame(frame), at: now) }
            nextPicture = current + 1
        }
        return Instant(ticks: nextPicture, at: rate) + .nanoseconds(1)
    }

    private func take(_ event: PeerEvent) {
        switch event {
        case .connected: tally.state = .connected
        case .failed(let reason): tally.state = .ended(reason)
        case .closed: tally.state = .ended("the server closed the connection")
        case .video(let frame):
            tally.frames += 1
            if frame.frame.isKeyframe { tally.keyframes += 1 }
        case .audio: tally.packets += 1
        case .message: tally.messages += 1
        default: break
        }
        onEvent?(event)
    }
}
