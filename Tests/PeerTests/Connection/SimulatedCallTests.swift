import Basics
import Simulation
import TestSupport
import Testing

@testable import Peer

@Suite("Calls between two peers over simulated links")
struct SimulatedCallTests {
    @Test("On a good link both connect within half a second and every frame and packet arrives")
    func good() throws {
        let media = CallMedia()
        let call = try SimulatedCall.connected(seed: 1, media: media, within: .milliseconds(800))
        let start = call.now
        call.run(for: .seconds(5))
        #expect(call.frames(.server, since: start) >= 120)
        #expect(call.frames(.client, since: start) >= 120)
        #expect(call.audioPackets(.server, since: start) >= 245)
        #expect(call.audioPackets(.client, since: start) >= 245)
        let statistics = call.server.statistics(at: call.now)
        #expect(statistics.videoReceived.packetsLost == 0)
        #expect(statistics.videoReceived.freezes == 0)
        #expect(statistics.malformedPackets == 0)
    }

    @Test("H.264 goes both ways too")
    func h264() throws {
        let media = CallMedia()
        media.codec = .h264
        let call = try SimulatedCall.connected(seed: 2, media: media)
        let start = call.now
        call.run(for: .seconds(3))
        #expect(call.frames(.server, since: start) >= 70)
        #expect(call.frames(.client, since: start) >= 70)
    }

    @Test(
        "Bursts of 5 % loss, reordering, duplicates and 200 ms round trip: media continues",
        arguments: seeds(11...14))
    func bad(seed: UInt64) throws {
        var link = LinkConditions(
            delay: .milliseconds(100), jitter: .milliseconds(10),
            loss: .bursts(GilbertElliott(averageLoss: 0.05, burstLength: 3)),
            reordering: 0.02, duplication: 0.01)
        link.reorderingDelay = .milliseconds(15)
        let media = CallMedia()
        media.frameBytes = 1500
        let call = try SimulatedCall.connected(up: link, down: link, seed: seed, media: media, within: .seconds(20))
        call.run(for: .seconds(2))
        let start = call.now
        call.run(for: .seconds(20))
        // 500 frames were sent. If a burst takes a repair too, the picture freezes until a keyframe comes.
        #expect(call.frames(.server, since: start) > 425)
        #expect(call.frames(.client, since: start) > 425)
        #expect(call.audioPackets(.server, since: start) > 900)
        let statistics = call.client.statistics(at: call.now)
        #expect(statistics.videoReceived.nacks > 0)
        #expect(statistics.videoReceived.recovered > 0)
        #expect(call.server.statistics(at: call.now).videoSent.counters.retransmittedPackets > 0)
    }

    @Test("Sequence numbers, timestamps, picture ids and transport numbers wrap without a gap")
    func wraps() throws {
        var numbers = InitialNumbers(
            audioSequence: 0x7F00, videoSequence: 0xFF80, rtxSequence: 0xFFF0, audioTimestamp: 0, videoTimestamp: 0,
            transportSequence: 0xFF00,
            pictureID: 0x7FF0, tl0PictureIndex: 250)
        // Room time at the call's start is 1000 s: the timestamps wrap two seconds into it.
        numbers.audioTimestamp = RTPTimestamp(wrapping: -1002 * 48_000)
        numbers.videoTimestamp = RTPTimestamp(wrapping: -1002 * 90_000)
        var client = PeerConfiguration(role: .client)
        client.initialNumbers = numbers
        var server = PeerConfiguration(role: .server)
        server.initialNumbers = numbers
        let media = CallMedia()
        let link = LinkConditions(delay: .milliseconds(20), loss: .random(0.02))
        let call = try SimulatedCall.connected(
            up: link, down: link, seed: 21, media: media, client: client, server: server)
        let start = call.now
        call.run(for: .seconds(6))
        #expect(call.frames(.server, since: start) >= 135)
        #expect(call.frames(.client, since: start) >= 135)
        #expect(call.audioPackets(.client, since: start) > 280)
        let times = call.clientEvents.compactMap { event -> Int64? in
            if case .video(let frame) = event { frame.frame.timestamp } else { nil }
        }
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 > $0 && $1 - $0 < 90_000 })
    }

    @Test("Lost DTLS flights are retransmitted", arguments: [1, 2, 4])
    func lostFlights(count: Int) throws {
        let call = try SimulatedCall.make(seed: 31)
        var left: [SimulatedCall.Side: Int] = [.client: count, .server: count]
        call.filter = { side, bytes in
            guard let first = bytes.first, (20...63).contains(first), let open = left[side], open > 0 else {
                return false
            }
            left[side] = open - 1
            return true
        }
        try call.negotiate()
        #expect(call.run(atMost: .seconds(10)) { $0.areConnected })
    }

    @Test("An ICE restart keeps keys and media")
    func iceRestart() throws {
        let media = CallMedia()
        let call = try SimulatedCall.connected(seed: 41, media: media)
        call.run(for: .seconds(2))
        let ufrags = call.server.localUfrags
        try call.negotiate(iceRestart: true)
        #expect(call.server.localUfrags != ufrags)
        let start = call.now
        call.run(for: .seconds(4))
        #expect(call.frames(.server, since: start) > 85)
        #expect(call.frames(.client, since: start) > 85)
        #expect(call.areConnected)
    }

    @Test("The client's address changes: media follows")
    func addressChange() throws {
        let media = CallMedia()
        let call = try SimulatedCall.connected(seed: 51, media: media)
        call.run(for: .seconds(2))
        call.rebindClient()
        call.run(for: .seconds(5))
        let start = call.now
        call.run(for: .seconds(3))
        #expect(call.frames(.server, since: start) > 65)
        #expect(call.frames(.client, since: start) > 65)
        #expect(call.server.statistics(at: call.now).flow?.remote.port == SimulatedCall.clientAddress.port + 1)
    }

    @Test("Messages of data channels arrive both ways, in order, over a lossy link")
    func dataChannels() throws {
        let link = LinkConditions(delay: .milliseconds(40), loss: .random(0.05))
        let call = try SimulatedCall.make(up: link, down: link, seed: 61)
        call.client.openChannel(label: "chat", at: call.now)
        try call.negotiate()
        try #require(call.run(atMost: .seconds(20)) { $0.areConnected })
        try #require(
            call.run(atMost: .seconds(20)) { call in
                call.serverEvents.contains { if case .channelOpened(_, "chat", true) = $0 { true } else { false } }
            })
        for number in 0..<50 {
            #expect(call.client.sendMessage(.text("up \(number)"), label: "chat", at: call.now))
            #expect(call.server.sendMessage(.binary([1, 2, UInt8(number)]), label: "chat", at: call.now))
        }
        call.run(for: .seconds(20))
        #expect(call.messages(.server) == (0..<50).map { .text("up \($0)") })
        #expect(call.messages(.client) == (0..<50).map { .binary([1, 2, $0]) })
    }

    @Test("A thin link is not flooded: the estimate follows it and the video continues")
    func thinLink() throws {
        var down = LinkConditions(delay: .milliseconds(30), rate: .kilobits(1500))
        let media = CallMedia()
        media.frameBytes = 1800
        let call = try SimulatedCall.connected(down: down, seed: 71, media: media)
        call.run(for: .seconds(10))
        #expect(call.server.estimate > .kilobits(400))
        down.rate = .kilobits(200)
        call.down.change(to: down)
        media.frameBytes = 500
        call.run(for: .seconds(10))
        #expect(call.server.estimate < .kilobits(300))
        let start = call.now
        call.run(for: .seconds(5))
        #expect(call.frames(.client, since: start) > 80)
    }

    @Test("Statistics count what was sent over the link")
    func statistics() throws {
        let media = CallMedia()
        let link = LinkConditions(delay: .milliseconds(50))
        let call = try SimulatedCall.connected(up: link, down: link, seed: 81, media: media)
        call.run(for: .seconds(10))
        let server = call.server.statistics(at: call.now)
        let client = call.client.statistics(at: call.now)
        #expect(server.videoSent.codec == "vp8")
        #expect(client.videoReceived.codec == "vp8")
        #expect(client.videoReceived.width == 640)
        #expect(client.videoReceived.height == 360)
        #expect(server.videoSent.counters.frames - client.videoReceived.frames < 5)
        #expect((550_000...750_000).contains(client.videoReceived.bitRate.bitsPerSecond))
        #expect((550_000...750_000).contains(server.videoSent.bitRate.bitsPerSecond))
        #expect((30_000...50_000).contains(server.audioSent.bitRate.bitsPerSecond))
        let roundTrip = try #require(server.roundTrip)
        #expect((90...130).contains(roundTrip.inMilliseconds))
        #expect(server.videoSent.lossFraction == 0)
        #expect(client.videoReceived.jitter < .milliseconds(20))
        #expect(server.estimate > .kilobits(700))
    }

    @Test("Capture times synchronise audio and video of the sender")
    func captureTimes() throws {
        let media = CallMedia()
        let link = LinkConditions(delay: .milliseconds(60), jitter: .milliseconds(15))
        let call = try SimulatedCall.connected(up: link, down: link, seed: 91, media: media)
        call.run(for: .seconds(5))
        let start = call.now
        call.run(for: .seconds(5))
        var delays: [Double] = []
        for event in call.serverEvents {
            if case .video(let frame) = event, frame.arrival > start {
                delays.append((frame.arrival - frame.captureTime).inMilliseconds)
            }
        }
        #expect(delays.count > 100)
        // Capture is at most the shortest path delay before arrival: the clock knows the offset minus that delay.
        #expect(delays.allSatisfy { $0 >= 0 && $0 < 80 }, "\(delays.min() ?? 0)…\(delays.max() ?? 0) ms")
    }

    @Test("A report follows the first packet of each stream at once, and a second soon")
    func earlyReports() throws {
        let call = try SimulatedCall.connected(up: LinkConditions(delay: .milliseconds(20)), seed: 31, media: nil)
        call.onTick = { call, now in
            guard call.now - Instant.zero > .zero, now.ticks(at: 50) * 20_000_000 == now.nanoseconds else { return }
            call.client.send(
                audio: [0x78, 1, 2, 3], timestamp: now.ticks(at: 48_000), marker: false, level: nil, at: now)
        }
        var reports: [Instant] = []
        call.filter = { side, bytes in
            // RFC 5761 §4: the second byte distinguishes RTCP from RTP; 200 is a sender report.
            if side == .client, bytes.count > 1, bytes[0] >> 6 == 2, bytes[1] == 200 { reports.append(call.now) }
            return false
        }
        let start = call.now
        call.run(for: .seconds(1))
        let first = try #require(reports.first)
        #expect(first - start < .milliseconds(25))
        #expect(reports.count >= 3)
        #expect(reports[1] - first < .milliseconds(300))
        let media = CallMedia()
        let before = reports.count
        let begin = call.now
        call.client.send(media.frame(isKeyframe: true, at: begin), at: begin)
        call.settle()
        call.run(for: .milliseconds(15))
        #expect(reports.count == before + 1)
    }

    @Test("A request for a keyframe reaches the sender once")
    func keyframeRequest() throws {
        let media = CallMedia()
        let call = try SimulatedCall.connected(seed: 101, media: media)
        call.run(for: .seconds(3))
        let before = call.clientEvents.filter { if case .keyframeRequested = $0 { true } else { false } }.count
        call.server.requestKeyframe(at: call.now)
        call.run(for: .seconds(2))
        let after = call.clientEvents.filter { if case .keyframeRequested = $0 { true } else { false } }.count
        #expect(after == before + 1)
    }

    @Test("Closing sends BYE, and the other side reports it")
    func goodbye() throws {
        let call = try SimulatedCall.connected(seed: 111, media: nil)
        call.client.close(at: call.now)
        call.run(for: .seconds(1))
        #expect(call.server.isEnded)
        #expect(call.serverEvents.contains { if case .closed = $0 { true } else { false } })
    }

    @Test("The same seed makes the same call")
    func replays() throws {
        func run() throws -> [Int] {
            let link = LinkConditions(delay: .milliseconds(30), loss: .random(0.03))
            let call = try SimulatedCall.connected(up: link, down: link, seed: 121, media: CallMedia())
            call.run(for: .seconds(3))
            return [call.frames(.client) / 4, call.frames(.server) / 4]
        }
        #expect(try run() == run())
    }
}
