import Basics
import Simulation
import TestSupport
import Testing

@testable import Peer

/// Whole calls with peers that offer less than a browser, or suffer more.
@Suite("Calls with unusual peers") struct UnusualPeerTests {
    /// A call whose offer was changed in transit.
    private func call(
        seed: UInt64, link: LinkConditions = LinkConditions(), client: PeerConfiguration? = nil,
        media: CallMedia = CallMedia(),
        dropping unwanted: (String) -> Bool
    ) throws -> SimulatedCall {
        let call = try SimulatedCall.make(up: link, down: link, seed: seed, client: client)
        media.attach(to: call)
        let offer = call.client.makeOffer(at: call.now)
        let links = offer.split(separator: "\r\n").map(String.init).filter { !unwanted($0) }
        #expect(links.joined(separator: "\r\n").utf8.count < offer.utf8.count - 2, "nothing was taken out")
        try call.client.accept(
            answer: call.server.answer(links.joined(separator: "\r\n") + "\r\n", at: call.now), at: call.now)
        try #require(call.run(atMost: .seconds(20)) { $0.areConnected })
        return call
    }

    @Test("Without RTX a lost packet is retransmitted with the same bytes")
    func withoutRTX() throws {
        let link = LinkConditions(delay: .milliseconds(30), loss: .random(0.05))
        // Below the estimate at the start: without RTX there is no padding either, so the link is not probed for more.
        let media = CallMedia()
        media.frameBytes = 1500
        let call = try call(seed: 1, link: link, media: media) {
            $0.contains(" rtx/") || $0.contains("apt=") || $0.hasPrefix("a=ssrc-group")
        }
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

    @Test("Without transport-wide feedback no more is sent than the peer's REMB allows")
    func limitOnly() throws {
        var client = PeerConfiguration(role: .client)
        client.receiveLimit = .kilobits(700)
        let call = try call(seed: 2, client: client) { $0.contains("transport-cc") || $0.contains("transport-wide-cc") }
        // From 300 kbit/s it grows to the peer's limit.
        call.run(for: .seconds(4))
        let start = call.now
        call.run(for: .seconds(5))
        #expect(call.server.statistics(at: call.now).videoSent.bitRate <= .kilobits(720))
        #expect(call.frames(.client, since: start) > 110)
    }

    /// A call whose offer got lines of its video section added or replaced in transit.
    private func call(
        seed: UInt64, client: PeerConfiguration? = nil, replacing change: (String) -> String
    ) throws -> SimulatedCall {
        let call = try SimulatedCall.make(seed: seed, client: client)
        CallMedia().attach(to: call)
        let offer = call.client.makeOffer(at: call.now)
        let changed = change(offer)
        #expect(changed != offer)
        try call.client.accept(answer: call.server.answer(changed, at: call.now), at: call.now)
        try #require(call.run(atMost: .seconds(20)) { $0.areConnected })
        return call
    }

    @Test(
        "No more is sent than the peer's b= accepts, and no probe exceeds it",
        arguments: ["b=AS:200", "b=TIAS:200000"])
    func describedLimit(link: String) throws {
        let call = try call(seed: 9) { $0.replacing("a=mid:1", with: "\(link)\r\na=mid:1") }
        #expect(call.server.negotiated?.section(.video)?.remoteBandwidth == .kilobits(200))
        var most = BitRate.zero
        for _ in 0..<30 {
            call.run(for: .milliseconds(200))
            most = max(most, call.server.estimate)
        }
        #expect(most <= .kilobits(264), "the video's limit and the audio beside it")
        #expect(most > .kilobits(200))
        let offer = call.client.makeOffer(at: call.now)
        try call.client.accept(answer: call.server.answer(offer, at: call.now), at: call.now)
        call.run(for: .seconds(6))
        #expect(call.server.estimate > .kilobits(400), "a later offer without it takes the limit away")
    }

    @Test("An answer limits the rate if no REMB can", arguments: [true, false])
    func answeredLimit(takesREMB: Bool) throws {
        var client = PeerConfiguration(role: .client)
        if !takesREMB { client.feedback.remove(.remb) }
        let call = try SimulatedCall.make(seed: 10, client: client)
        let answer = try call.server.answer(call.client.makeOffer(at: call.now), at: call.now)
        #expect(answer.contains("b=TIAS:2500000") == !takesREMB)
    }

    @Test(
        "A keyframe is requested as negotiated: by PLI, else FIR with a new number each time, and by PLI if neither was",
        arguments: [(CodecFeedback.all, 1, 0), (.all.subtracting(.pli), 0, 1), (.all.subtracting([.pli, .fir]), 1, 0)])
    func keyframeRequests(feedback: CodecFeedback, losses: Int, intra: Int) throws {
        var section = NegotiatedSection(mid: "1", kind: .video)
        section.accepted = true
        section.direction = .sendReceive
        section.codecs = [
            NegotiatedCodec(
                name: .vp8, payloadType: 96, clockRate: 90_000, parameters: FormatParameters(), feedback: feedback)
        ]
        section.remoteSources = [RemoteSource(ssrc: 7)]
        let ice = ICECredentials.random()
        let session = NegotiatedSession(
            localIce: ice, remoteIce: ice, iceRestarted: false, remoteCandidates: [], remoteIsLite: false,
            remoteFingerprints: [],
            dtlsRole: .server, sections: [section], remoteMaxMessageSize: 0, extmapAllowMixed: false)
        var receiver = MediaReceiver(VideoReceiveConfiguration())
        let start = Instant(nanoseconds: 1_000_000_000)
        receiver.configure(session, at: start)
        // An interframe without the keyframe before it.
        var packet = [UInt8](repeating: 0, count: 60)
        packet.replaceSubrange(0..<16, with: [0x80, 0x80 | 96, 0, 1, 0, 0, 0, 9, 0, 0, 0, 7, 0x10, 0x31, 0, 0])
        var asked: [RTCPPacket] = []
        for step in 0..<40 {
            let now = start + .milliseconds(Int64(step) * 100)
            packet[3] = UInt8(step)
            packet[7] = UInt8(step)
            packet.withUnsafeBytes { receiver.receive($0, at: now) }
            if step % 10 == 0 { receiver.requestKeyframe(of: .camera) }
            receiver.advance(to: now, roundTrip: .milliseconds(20))
            asked += receiver.makeFeedback(senderSSRC: 1, at: now)
        }
        let lost = asked.filter { if case .pictureLoss = $0 { true } else { false } }
        let numbers = asked.compactMap { packet -> UInt8? in
            if case .fullIntraRequest(let request) = packet { request.entries.first?.sequence } else { nil }
        }
        #expect((lost.count > 1 ? 1 : 0) == losses, "\(lost.count)")
        #expect((numbers.count > 1 ? 1 : 0) == intra)
        #expect(numbers == (0..<numbers.count).map { UInt8($0) })
    }

    @Test("Without SSRCs and MIDs the payload type identifies audio and video")
    func payloadTypesOnly() throws {
        let call = try call(seed: 3) { $0.hasPrefix("a=ssrc") || $0.contains("sdes:mid") }
        let start = call.now
        call.run(for: .seconds(4))
        #expect(call.frames(.server, since: start) > 90)
        #expect(call.audioPackets(.server, since: start) > 180)
    }

    @Test("A peer with an RSA certificate connects like any other")
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

    @Test("An ICE restart on a lossy link keeps the call", arguments: seeds(5...7))
    func restartUnderLoss(seed: UInt64) throws {
        let link = LinkConditions(delay: .milliseconds(50), loss: .random(0.15))
        let call = try SimulatedCall.connected(up: link, down: link, seed: seed, within: .seconds(20), for: .seconds(2))
        try call.negotiate(iceRestart: true)
        call.run(for: .seconds(4))
        let start = call.now
        call.run(for: .seconds(4))
        #expect(call.areConnected)
        #expect(call.audioPackets(.server, since: start) > 140)
        #expect(call.frames(.server, since: start) > 0)
    }

    @Test("A link that dies ends both sides with a reason, once")
    func consentExpiry() throws {
        let call = try SimulatedCall.connected(seed: 8, media: nil)
        call.filter = { _, _ in true }
        call.run(for: .seconds(90))
        #expect(call.server.isEnded && call.client.isEnded)
        for events in [call.serverEvents, call.clientEvents] {
            #expect(events.filter { if case .failed = $0 { true } else { false } }.count == 1)
            #expect(events.contains { if case .interrupted = $0 { true } else { false } })
        }
    }
}
