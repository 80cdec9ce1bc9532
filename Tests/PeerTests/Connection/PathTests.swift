import Basics
import Simulation
import Testing

@testable import Peer

@Suite("Paths of a call that change, and that are forged")
struct PathTests {
    private static let elsewhere = IPAddress.v4(0xCB00_7109)
    private static let victim = Flow(
        .udp, local: SimulatedCall.serverAddress, remote: SocketAddress(.v4(0xCB00_7177), port: 53))

    /// A check that the client could send from anywhere: it knows both sides' credentials.
    private func check(_ call: SimulatedCall) throws -> [UInt8] {
        let server = try call.server.localCredentials
        let client = try call.client.localCredentials
        var message = STUNMessage(.request, transaction: .init(high: 3, low: UInt64(bitPattern: call.now.nanoseconds)))
        message.username = "\(server.ufrag):\(client.ufrag)"
        message.priority = 1
        message.iceControlling = 1
        message.useCandidate = true
        return message.encoded(password: server.password)
    }

    @Test("The client's IP address changes: media follows within a round trip of the first check")
    func newAddress() throws {
        let call = try SimulatedCall.connected(seed: 1, for: .seconds(2))
        call.rebindClient(to: Self.elsewhere)
        call.run(for: .seconds(5))
        let start = call.now
        call.run(for: .seconds(3))
        #expect(call.frames(.server, since: start) > 65)
        #expect(call.frames(.client, since: start) > 65)
        #expect(call.server.statistics(at: call.now).flow?.remote.ip == Self.elsewhere)
        #expect(call.server.statistics(at: call.now).unansweredDatagrams == 0)
    }

    @Test("An ICE restart from another IP address keeps the call")
    func restartElsewhere() throws {
        let call = try SimulatedCall.connected(seed: 2, for: .seconds(2))
        call.rebindClient(to: Self.elsewhere)
        try call.negotiate(iceRestart: true)
        call.run(for: .seconds(2))
        let start = call.now
        call.run(for: .seconds(3))
        #expect(call.frames(.client, since: start) > 65)
        #expect(call.server.statistics(at: call.now).flow?.remote.ip == Self.elsewhere)
    }

    @Test("A participant that forges checks from elsewhere and falls silent fills nobody else's link")
    func reflection() throws {
        let call = try SimulatedCall.connected(seed: 3, for: .seconds(2))
        var toVictim = 0
        call.onDatagram = { side, bytes, destination in
            if side == .server, destination == Self.victim.remote { toVictim += bytes.count }
        }
        call.filter = { side, _ in side == .client }
        var forged = 0
        for _ in 0..<100 {
            let bytes = try check(call)
            forged += bytes.count
            let claim = call.inject(bytes, from: Self.victim)
            #expect(claim != .answered)
            call.run(for: .milliseconds(200))
        }
        #expect(forged > 9000)
        // Replies, a few checks of our own, and no more media than thrice what came.
        #expect(toVictim < forged * 6, "\(toVictim) for \(forged)")
    }

    @Test("Before the keys exist, a forged path gets no more than three times what came from it")
    func forgedStart() throws {
        let call = try SimulatedCall.make(seed: 4)
        call.filter = { side, _ in side == .client }
        try call.negotiate()
        var toVictim = 0
        call.onDatagram = { side, bytes, destination in
            if side == .server, destination == Self.victim.remote { toVictim += bytes.count }
        }
        // The hello of a handshake that the client began in its own name.
        let hello = try DTLSTransport(role: .client, identity: try #require(CallIdentities.client), at: call.now)
        hello.start(at: call.now)
        let bytes = try check(call)
        call.inject(bytes, from: Self.victim)
        let datagram = try #require(hello.nextTransmit())
        call.inject(datagram, from: Self.victim)
        call.run(for: .seconds(20))
        #expect(toVictim < 3 * (bytes.count + datagram.count) + 100 + 6 * 120, "\(toVictim)")
    }

    @Test(
        "A call connects although the client answers none of our checks and flights are lost as well",
        arguments: [0, 1, 2])
    func clientWithoutAnswers(lost: Int) throws {
        let call = try SimulatedCall.make(seed: 5)
        CallMedia().attach(to: call)
        var left = lost
        call.filter = { side, bytes in
            guard side == .client else {
                guard (20...63).contains(bytes[0]), left > 0 else { return false }
                left -= 1
                return true
            }
            return bytes.count > 1 && bytes[0] == 1 && bytes[1] == 1
        }
        try call.negotiate()
        try #require(call.run(atMost: .seconds(3)) { $0.areConnected })
        let start = call.now
        call.run(for: .seconds(3))
        #expect(call.frames(.client, since: start) > 60)
    }

    @Test("Handshake garbage on a path is no sign that the peer is alive")
    func handshakeGarbage() throws {
        let call = try SimulatedCall.connected(seed: 6, for: .seconds(2))
        call.filter = { side, _ in side == .client }
        call.run(for: .milliseconds(100))
        for _ in 0..<80 {
            call.inject([22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0])
            call.run(for: .milliseconds(100))
        }
        #expect(call.serverEvents.contains { if case .interrupted = $0 { true } else { false } })
    }
}
