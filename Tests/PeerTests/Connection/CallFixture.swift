import Basics
import Simulation
import Testing

@testable import Peer

/// Two identities for the whole run: making keys is the slow part of a call.
enum CallIdentities {
    static let client = try? DTLSIdentity.generate()
    static let server = try? DTLSIdentity.generate()
}

struct MissingIdentity: Error {}

/// Media of a simulated call: 25 frames a second both ways and Opus each 20 ms, all recognisable.
final class CallMedia {
    var frameBytes = 3000
    var codec = VideoCodec.vp8
    var wantsKeyframe: [SimulatedCall.Side: Bool] = [.client: true, .server: true]
    private var tick = 0
    private(set) var framesSent = 0

    func frame(isKeyframe: Bool, at now: Instant) -> PacketizedVideoFrame {
        framesSent += 1
        return SimulatedFrame.make(
            codec, isKeyframe: isKeyframe, bytes: isKeyframe ? frameBytes * 4 : frameBytes,
            timestamp: now.ticks(at: 90_000))
    }

    func attach(to call: SimulatedCall) {
        call.onEvent = { _, side, event in
            if case .keyframeRequested = event { self.wantsKeyframe[side] = true }
        }
        call.onTick = { call, now in
            self.tick += 1
            if self.tick % 2 == 0 {
                let payload = [UInt8](repeating: UInt8(truncatingIfNeeded: self.tick / 2), count: 80)
                call.client.send(
                    audio: [0x78] + payload, timestamp: now.ticks(at: 48_000), marker: false, level: 30, at: now)
                call.server.send(
                    audio: [0x78] + payload, timestamp: now.ticks(at: 48_000), marker: false, level: 40, at: now)
            }
            if self.tick % 4 == 0 {
                for (side, peer) in [(SimulatedCall.Side.client, call.client), (.server, call.server)]
                where peer.isConnected {
                    let key = self.wantsKeyframe[side] ?? true
                    self.wantsKeyframe[side] = false
                    peer.send(self.frame(isKeyframe: key, at: now), at: now)
                }
            }
        }
    }
}

extension SimulatedCall {
    static func make(
        up: LinkConditions = LinkConditions(), down: LinkConditions = LinkConditions(), seed: UInt64,
        client: PeerConfiguration? = nil, server: PeerConfiguration? = nil
    ) throws -> SimulatedCall {
        guard let clientIdentity = CallIdentities.client, let serverIdentity = CallIdentities.server else {
            throw MissingIdentity()
        }
        return try SimulatedCall(
            client: client, server: server, clientIdentity: clientIdentity, serverIdentity: serverIdentity, up: up,
            down: down, seed: seed)
    }

    /// A call whose both sides are connected, and have been for `time`.
    ///
    /// - Parameters:
    ///   - limit: how long connecting may take.
    ///   - prepare: what is done before the offer is made.
    static func connected(
        up: LinkConditions = LinkConditions(), down: LinkConditions = LinkConditions(), seed: UInt64,
        media: CallMedia? = CallMedia(),
        client: PeerConfiguration? = nil, server: PeerConfiguration? = nil, within limit: Duration = .seconds(10),
        for time: Duration = .zero,
        prepare: (SimulatedCall) -> Void = { _ in }
    ) throws -> SimulatedCall {
        let call = try make(up: up, down: down, seed: seed, client: client, server: server)
        media?.attach(to: call)
        prepare(call)
        try call.negotiate()
        try #require(call.run(atMost: limit) { $0.areConnected }, "not connected within \(limit)")
        if time > .zero { call.run(for: time) }
        return call
    }

    /// The flow of the client's datagrams, as the server sees it.
    static let clientFlow = Flow(.udp, local: serverAddress, remote: clientAddress)

    /// Passes the server a datagram that the client did not send, or not on that flow. Returns what it proved about its
    /// flow.
    @discardableResult
    func inject(_ bytes: [UInt8], from flow: Flow = clientFlow) -> FlowClaim {
        var bytes = bytes
        bytes.withUnsafeMutableBytes { server.receive($0, flow: flow, at: now) }
        return server.latestClaim
    }

    func frames(_ side: Side, since: Instant = .distantPast) -> Int {
        (side == .client ? clientEvents : serverEvents).filter {
            if case .video(let frame) = $0 { frame.arrival >= since } else { false }
        }.count
    }

    func audioPackets(_ side: Side, since: Instant = .distantPast) -> Int {
        (side == .client ? clientEvents : serverEvents).filter {
            if case .audio(let packet) = $0 { packet.arrival >= since } else { false }
        }.count
    }

    func messages(_ side: Side) -> [DataChannelMessage] {
        (side == .client ? clientEvents : serverEvents).compactMap {
            if case .message(_, _, let message) = $0 { message } else { nil }
        }
    }

    var areConnected: Bool { client.isConnected && server.isConnected }
}

extension PeerConnection {
    /// The ICE credentials that this end has sent to the other.
    var localCredentials: ICECredentials {
        get throws {
            let credentials = ice?.local
            return try #require(credentials)
        }
    }
}
