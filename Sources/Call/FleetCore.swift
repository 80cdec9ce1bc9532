import Basics
import Peer
import Sockets
import Threads

/// The participants of a fleet, on the loop's thread.
final class FleetCore: MediaLoopDelegate {
    private let loop: MediaLoop
    private var legs: [Int: Leg] = [:]
    private var byPort: [UInt16: Leg] = [:]
    private var identity: DTLSIdentity?
    /// Several times the test pattern's 500 kbit/s, so that a flash, which is a large frame, is sent within one frame
    /// interval.
    private static let pace = BitRate.megabits(3)

    init(loop: MediaLoop) {
        self.loop = loop
    }

    func addLeg(
        _ number: Int, at address: SocketAddress, codec: VideoCodec, only: Bool, hasOwnIdentity: Bool,
        onEvent: @escaping @Sendable (Fleet.Event) -> Void
    ) throws -> String {
        let now = MonotonicClock.now()
        let identity = try hasOwnIdentity ? DTLSIdentity.generate() : self.identity ?? DTLSIdentity.generate()
        if !hasOwnIdentity { self.identity = identity }
        var configuration = PeerConfiguration(role: .client)
        configuration.localAddresses = [address]
        configuration.videoCodecs = only ? [codec] : [codec] + VideoCodec.received.filter { $0 != codec }
        configuration.trustsReports = true
        // One source for all participants cannot follow the bit rate that the server requests of each.
        configuration.feedback.remove(.remb)
        // It cannot follow an estimate either: pacing below the rate of the source would only delay frames.
        configuration.bandwidth.start = Self.pace
        configuration.bandwidth.minimum = Self.pace
        let connection = try PeerConnection(configuration, identity: identity, at: now)
        let leg = Leg(number: number, address: address, connection: connection) { event in
            switch event {
            case .connected: onEvent(.connected)
            case .video(let frame): onEvent(.video(frame))
            case .audio(let packet): onEvent(.audio(packet))
            case .failed(let reason), .overBudget(let reason): onEvent(.ended(reason))
            case .closed: onEvent(.ended("the server closed the connection"))
            default: break
            }
        }
        legs[number] = leg
        byPort[address.port] = leg
        return connection.makeOffer(at: now)
    }

    func accept(_ answer: String, for number: Int) throws {
        try legs[number]?.connection.accept(answer: answer, at: MonotonicClock.now())
    }

    func statistics(_ number: Int) -> PeerStatistics? {
        legs[number]?.connection.statistics(at: MonotonicClock.now())
    }

    func close(_ number: Int, at now: Instant) {
        guard let leg = legs.removeValue(forKey: number) else { return }
        leg.connection.close(at: now)
        flush(leg)
        byPort[leg.address.port] = nil
    }

    func closeAll(at now: Instant) {
        for number in legs.keys { close(number, at: now) }
    }

    func send(audio packet: [UInt8], timestamp: Int64, level: UInt8?) {
        let now = MonotonicClock.now()
        for leg in legs.values where leg.isConnected {
            leg.connection.send(audio: packet, timestamp: timestamp, marker: false, level: level, at: now)
        }
    }

    /// Sends the frame on all connections. Returns whether one of them got a keyframe request.
    func send(_ frame: PacketizedVideoFrame) -> Bool {
        let now = MonotonicClock.now()
        var isAsked = false
        for leg in legs.values where leg.isConnected {
            leg.connection.send(frame, at: now)
            if leg.takeKeyframeRequest() { isAsked = true }
        }
        return isAsked
    }

    func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        guard let leg = byPort[flow.local.port] else { return }
        leg.connection.receive(datagram, flow: flow, at: now)
    }

    func advance(to now: Instant) -> Instant? {
        var deadline: Instant?
        for leg in legs.values {
            leg.advance(to: now)
            flush(leg)
            if let next = leg.connection.nextDeadline(after: now) { deadline = min(deadline ?? next, next) }
        }
        return deadline
    }

    func closed(_ flow: Flow) {}

    private func flush(_ leg: Leg) {
        leg.connection.flush { loop.send($0, flow: $1) }
    }
}
