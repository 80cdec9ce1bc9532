import Basics
import Simulation
import TestSupport
import Testing

@testable import Peer

/// The effects of one connected peer on the loop that it shares with all others: the attacks of the review, on one
/// connection.
@Suite("A hostile peer with valid keys") struct HostilePeerTests {
    private func connected(seed: UInt64, codec: VideoCodec = .vp8) throws -> SimulatedCall {
        var client = PeerConfiguration(role: .client)
        client.videoCodecs = [codec]
        let media = CallMedia()
        media.codec = codec
        return try SimulatedCall.connected(seed: seed, media: media, client: client, for: .seconds(1)) { call in
            call.client.openChannel(label: "x", at: call.now)
        }
    }

    /// Rows `h264-units` and `h264-units-many`: 16 s of silence for everybody, and 664 MB held.
    @Test("Access units of thousands of parameter sets cost what their packets cost, and the statistics count them")
    func units() throws {
        let call = try connected(seed: 21, codec: .h264)
        let section = try #require(call.server.negotiated?.section(.video))
        let source = try #require(section.remoteSources.first)
        let codec = try #require(section.codecs.first)
        var now = call.now
        var sequence = 30_000 as UInt16
        let cost = processorTime {
            for unit in 0..<2 as Range<UInt32> {
                // An SPS, so that a keyframe seems to begin.
                let payloads = [PayloadTests.sps] + H264LimitTests.parameterSets(packets: 1500)
                for (index, payload) in payloads.enumerated() {
                    var bytes: [UInt8] = [0x80, codec.payloadType | (index == payloads.count - 1 ? 0x80 : 0)]
                    bytes.append16(sequence)
                    bytes.append32(unit &* 3000)
                    bytes.append32(source.ssrc.rawValue)
                    sequence &+= 1
                    if index % 50 == 0 { now += .milliseconds(1) }
                    FuzzBodies.plain(bytes + payload, into: call.server, at: now)
                }
            }
        }
        #expect(cost < .seconds(20))
        let statistics = call.server.statistics(at: now)
        #expect(statistics.videoReceived.oversizedFrames >= 1)
    }

    @Test("ICE is restarted without an offer, and the call continues")
    func restart() throws {
        let media = CallMedia()
        let call = try SimulatedCall.make(seed: 22)
        media.attach(to: call)
        let offer = try SessionDescription(parsing: call.client.makeOffer(at: call.now))
        var answer = try call.server.answer(offer, at: call.now)
        try call.client.accept(answer: answer, at: call.now)
        call.settle()
        try #require(call.run(atMost: .seconds(10)) { $0.areConnected })
        call.run(for: .seconds(1))
        #expect(call.server.remoteUfrag == offer.iceUfrag)
        let renewed = try #require(
            SessionDescription(parsing: call.client.makeOffer(at: call.now, iceRestart: true)).iceCredentials)
        let ours = try call.server.restartICE(remote: renewed, at: call.now)
        #expect(call.server.remoteUfrag == renewed.ufrag)
        #expect(ours != answer.iceCredentials && call.server.localUfrags.contains(ours.ufrag))
        for index in answer.media.indices {
            answer.media[index].iceUfrag = ours.ufrag
            answer.media[index].icePassword = ours.password
        }
        try call.client.accept(answer: answer, at: call.now)
        call.settle()
        let since = call.now
        call.run(for: .seconds(3))
        #expect(call.areConnected)
        #expect(call.frames(.server, since: since) > 60 && call.frames(.client, since: since) > 60)
        #expect(throws: SDPError.self) { try call.server.restartICE(remote: renewed, at: call.now) }
    }

    /// Row `channel-relay`, seen from the peer that is to get it all and acknowledges nothing.
    @Test("Messages to a peer that acknowledges nothing are refused and counted")
    func deaf() throws {
        let call = try connected(seed: 23)
        call.filter = { side, _ in side == .client }
        var sent = 0
        for _ in 0..<5000 where call.server.sendMessage(.text("x"), label: "x", at: call.now) { sent += 1 }
        let statistics = call.server.statistics(at: call.now).channels
        #expect(statistics.refusedMessages == 5000 - sent && sent > 1000 && sent < 4100)
        #expect(statistics.backlog <= 1 << 20)
    }

    @Test("A channel that is closed with a full backlog delivers that first, in order, and then reports its end")
    func closedBehindItsBacklog() throws {
        let call = try connected(seed: 25)
        let opened = call.serverEvents.lazy.compactMap {
            if case .channelOpened(let id, "x", true) = $0 { id } else { nil }
        }.first
        let channel = try #require(opened)
        let filler = String(repeating: "x", count: 10_000)
        call.filter = { side, _ in side == .client }
        var sent = 0
        while call.server.sendMessage(.text("\(sent) \(filler)"), on: channel, at: call.now) { sent += 1 }
        let tooLong = DataChannelMessage.binary([UInt8](repeating: 0, count: 1 << 20))
        #expect(
            sent > 90 && call.server.leavesHole(.text(filler), on: channel)
                && !call.server.leavesHole(tooLong, on: channel))
        call.server.closeChannel(channel, at: call.now)
        #expect(
            !call.server.leavesHole(.text(filler), on: channel)
                && !call.server.sendMessage(.text("late"), on: channel, at: call.now))
        call.run(for: .seconds(2))
        #expect(call.messages(.client).isEmpty)
        call.filter = { _, _ in false }
        call.run(for: .seconds(15))
        #expect(call.messages(.client) == (0..<sent).map { .text("\($0) \(filler)") })
        #expect(call.clientEvents.contains { if case .channelClosed(channel) = $0 { true } else { false } })
    }

    @Test("A peer that sends too fast is slowed down to its budget, loses nothing, and the statistics count it")
    func hurry() throws {
        let call = try connected(seed: 24)
        var sent = 0
        while call.client.sendMessage(.text("\(sent)"), label: "x", at: call.now) { sent += 1 }
        call.settle()
        #expect(sent > 1000)
        call.run(for: .seconds(3))
        let early = call.messages(.server).count
        #expect((500...850).contains(early))
        #expect(call.server.statistics(at: call.now).channels.slowed >= 1)
        call.run(for: .seconds(45))
        #expect(call.messages(.server) == (0..<sent).map { .text("\($0)") })
    }
}
