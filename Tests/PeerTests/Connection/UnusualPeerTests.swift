import Basics
import Simulation
import Testing

@testable import Peer

/// Whole calls with peers that offer less than a browser, or suffer more.
@Suite("Calls with unusual peers") struct UnusualPeerTests {
    /// A call whose offer was changed on its way.
    private func call(
        seed: UInt64, line: LinkConditions = LinkConditions(), client: PeerConfiguration? = nil, media: CallMedia = CallMedia(),
        dropping unwanted: (String) -> Bool
    ) throws -> SimulatedCall {
        let call = try SimulatedCall.make(up: line, down: line, seed: seed, client: client)
        media.attach(to: call)
        let offer = call.client.makeOffer(at: call.now)
        let lines = offer.split(separator: "\r\n").map(String.init).filter { !unwanted($0) }
        #expect(lines.joined(separator: "\r\n").utf8.count < offer.utf8.count - 2, "nothing was taken out")
        try call.client.accept(answer: call.server.answer(lines.joined(separator: "\r\n") + "\r\n", at: call.now), at: call.now)
        try #require(call.run(atMost: .seconds(20)) { $0.areConnected })
        return call
    }

    @Test("Without RTX a lost packet goes out again as the very same bytes")
    func withoutRTX() throws {
        let line = LinkConditions(delay: .milliseconds(30), loss: .random(0.05))
        // Below the estimate at the start: without RTX there is no padding either, so the line is not probed for more.
        let media = CallMedia()
        media.frameBytes = 1500
        let call = try call(seed: 1, line: line, media: media) { $0.contains(" rtx/") || $0.contains("apt=") || $0.hasPrefix("a=ssrc-group") }
        #expect(call.server.negotiated?.section(.video)?.codecs.allSatisfy { $0.rtxPayloadType == nil } == true)
        var seen: [[UInt8]: [UInt8]] = [:]
        var repeated = 0
        var different = 0
        call.filter = { side, bytes in
            guard side == .server, bytes.withUnsafeBytes({ DatagramKind($0) }) == .rtp else { return false }
            let key = Array(bytes[2..<4] + bytes[8..<12])
            if let first = seen[key] {
                repeated += 1
                if first != bytes { different += 1 }
            }
            seen[key] = bytes
            return false
        }
        let start = call.now
        call.run(for: .seconds(6))
        #expect(repeated > 3)
        #expect(different == 0)
        #expect(call.frames(.client, since: start) > 120)
    }

    @Test("Without transport-wide feedback no more is sent than the peer's REMB says")
    func limitOnly() throws {
        var client = PeerConfiguration(role: .client)
        client.receiveLimit = .kilobits(700)
        let call = try call(seed: 2, client: client) { $0.contains("transport-cc") || $0.contains("transport-wide-cc") }
        // From 300 kbit/s it climbs to what the peer says.
        call.run(for: .seconds(4))
        let start = call.now
        call.run(for: .seconds(5))
        #expect(call.server.statistics(at: call.now).videoSent.bitRate <= .kilobits(720))
        #expect(call.frames(.client, since: start) > 110)
    }

    @Test("Without SSRCs and MIDs the payload type tells sound from picture")
    func payloadTypesOnly() throws {
        let call = try call(seed: 3) { $0.hasPrefix("a=ssrc") || $0.contains("sdes:mid") }
        let start = call.now
        call.run(for: .seconds(4))
        #expect(call.frames(.server, since: start) > 90)
        #expect(call.audioPackets(.server, since: start) > 180)
    }

    @Test("A peer with an RSA certificate is a peer like any other")
    func rsa() throws {
        let call = try SimulatedCall(
            clientIdentity: TestIdentities.rsa.get(), serverIdentity: TestIdentities.first.get(),
            up: LinkConditions(loss: .random(0.1)), down: LinkConditions(loss: .random(0.1)), seed: 4)
        CallMedia().attach(to: call)
        try call.negotiate()
        try #require(call.run(atMost: .seconds(10)) { $0.areConnected })
        call.run(for: .seconds(2))
        #expect(call.frames(.server) > 30)
    }

    @Test("An ICE restart on a lossy line keeps the call", arguments: [5, 6, 7] as [UInt64])
    func restartUnderLoss(seed: UInt64) throws {
        let line = LinkConditions(delay: .milliseconds(50), loss: .random(0.15))
        let call = try SimulatedCall.make(up: line, down: line, seed: seed)
        CallMedia().attach(to: call)
        try call.negotiate()
        try #require(call.run(atMost: .seconds(20)) { $0.areConnected })
        call.run(for: .seconds(2))
        try call.negotiate(iceRestart: true)
        call.run(for: .seconds(4))
        let start = call.now
        call.run(for: .seconds(4))
        #expect(call.areConnected)
        #expect(call.audioPackets(.server, since: start) > 140)
        #expect(call.frames(.server, since: start) > 0)
    }

    @Test("A line that dies ends both sides with a reason, once")
    func consentExpiry() throws {
        let call = try SimulatedCall.make(seed: 8)
        try call.negotiate()
        try #require(call.run(atMost: .seconds(10)) { $0.areConnected })
        call.filter = { _, _ in true }
        call.run(for: .seconds(90))
        #expect(call.server.isEnded && call.client.isEnded)
        for events in [call.serverEvents, call.clientEvents] {
            #expect(events.filter { if case .failed = $0 { true } else { false } }.count == 1)
            #expect(events.contains { if case .interrupted = $0 { true } else { false } })
        }
    }
}
