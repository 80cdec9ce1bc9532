import Basics
import Simulation
import Testing

@testable import Peer

@Suite("What one peer may cost")
struct PeerBudgetTests {
    private func connected(seed: UInt64, budget: PeerBudget = PeerBudget()) throws -> SimulatedCall {
        var server = PeerConfiguration(role: .server)
        server.budget = budget
        return try SimulatedCall.connected(seed: seed, server: server, for: .seconds(1))
    }

    /// Audio of the client's under its own SSRC, made for this.
    private func packet(_ call: SimulatedCall, _ sequence: inout UInt16) throws -> [UInt8] {
        let type = try #require(call.server.negotiated?.section(.audio)?.codecs.first).payloadType
        sequence &+= 1
        var plain: [UInt8] = [0x80, type]
        plain.append16(sequence)
        plain.append32(UInt32(sequence) * 960)
        plain.append32(0x7000_0001)
        plain += [0x78, 1, 2, 3]
        let length = plain.count
        plain += [UInt8](repeating: 0, count: SRTPContext.maximumOverhead)
        let srtp = try #require(call.client.srtp)
        let count = try plain.withUnsafeMutableBytes { try srtp.protectRTP($0, length: length) }
        return Array(plain[..<count])
    }

    private func reason(_ call: SimulatedCall) -> String? {
        call.serverEvents.lazy.compactMap { if case .overBudget(let reason) = $0 { reason } else { nil } }.first
    }

    @Test("A peer that sends too much is processed up to its budget, and ended after ten seconds of it, with a BYE")
    func flood() throws {
        var budget = PeerBudget()
        budget.packets = 600
        budget.lastingPackets = 400
        let call = try connected(seed: 1, budget: budget)
        var sequence: UInt16 = 0
        let start = call.now
        while !call.server.isEnded, call.now - start < .seconds(20) {
            for _ in 0..<20 { call.inject(try packet(call, &sequence)) }
            call.run(for: .milliseconds(20))
        }
        #expect((9...12).contains((call.now - start).inSeconds), "\(call.now - start)")
        #expect(reason(call)?.contains("400 packets") == true)
        #expect(call.server.statistics(at: call.now).overBudgetDatagrams > 3000)
        call.run(for: .seconds(1))
        #expect(call.client.isEnded, "it was told")
    }

    @Test("A burst of a few seconds is forgiven")
    func burst() throws {
        var budget = PeerBudget()
        budget.packets = 600
        budget.lastingPackets = 400
        let call = try connected(seed: 2, budget: budget)
        var sequence: UInt16 = 0
        for _ in 0..<5 {
            for _ in 0..<250 {
                for _ in 0..<20 { call.inject(try packet(call, &sequence)) }
                call.run(for: .milliseconds(20))
            }
            call.run(for: .seconds(2))
        }
        #expect(call.areConnected)
    }

    @Test("Forged packets end nobody's call and take nothing of the budget of its media")
    func forged() throws {
        var budget = PeerBudget()
        budget.packets = 600
        budget.lastingPackets = 400
        let call = try connected(seed: 3, budget: budget)
        let start = call.now
        var random = SeededRandom(seed: 9)
        for _ in 0..<1500 {
            for _ in 0..<40 {
                var bytes: [UInt8] = [0x80, 111]
                for _ in 0..<60 { bytes.append(.random(in: 0...255, using: &random)) }
                call.inject(bytes)
                // A handshake that nobody wants, and a check of nobody's.
                call.inject([22, 254, 253] + bytes)
            }
            call.run(for: .milliseconds(10))
        }
        #expect(call.areConnected)
        #expect(reason(call) == nil)
        #expect(call.server.statistics(at: call.now).refusedSources > 50_000)
        #expect(call.audioPackets(.server, since: start) > 0)
    }

    @Test("Checks beyond the budget are not even hashed, and end nobody: STUN has no protection against replays")
    func checks() throws {
        let call = try connected(seed: 4)
        let server = try call.server.localCredentials
        var message = STUNMessage(.request, transaction: .init(high: 3, low: 4))
        message.username = "\(server.ufrag):x"
        message.priority = 1
        message.iceControlling = 1
        let bytes = message.encoded(password: server.password)
        for _ in 0..<200 {
            for _ in 0..<100 { call.inject(bytes) }
            call.run(for: .milliseconds(100))
        }
        #expect(call.areConnected)
        #expect(call.server.statistics(at: call.now).overBudgetDatagrams > 15_000)
    }

    @Test("ClientHellos beyond the budget of a handshake are dropped, and the handshake continues afterwards")
    func hellos() throws {
        let call = try SimulatedCall.make(seed: 5)
        try call.negotiate()
        let hello = try DTLSTransport(role: .client, identity: try #require(CallIdentities.client), at: call.now)
        hello.start(at: call.now)
        let datagram = try #require(hello.nextTransmit())
        var sent = 0
        call.onDatagram = { side, bytes, _ in
            if side == .server, (20...63).contains(bytes[0]) { sent += bytes.count }
        }
        // The client's path is found; its own handshake is held up.
        call.filter = { side, bytes in side == .client && (20...63).contains(bytes[0]) }
        call.run(for: .milliseconds(200))
        for _ in 0..<100 {
            for _ in 0..<50 { call.inject(datagram) }
            call.run(for: .milliseconds(10))
        }
        #expect(call.server.statistics(at: call.now).overBudgetDatagrams > 4000)
        #expect(sent < 300 * 1200, "\(sent)")
    }
}
