import Basics
import Peer
import Synchronization
import TestSupport
import Testing

@testable import RoomMedia

@Suite("The quality of a room's media")
struct MediaQualityTests {
    private func value(_ quality: MediaQuality, _ room: String?, _ name: String, _ direction: String? = nil) -> Double?
    {
        quality.samples(room: room).first { $0.name == name && $0.labels["direction"] == direction }?.value
    }

    @Test("what a room counts is counted for all rooms too")
    func totals() {
        let all = MediaQuality()
        let (one, other) = (MediaQuality(addingTo: all), MediaQuality(addingTo: all))
        one.played(samples: 48_000, concealed: 4800)
        other.played(samples: 48_000, concealed: 0)
        one.shown(for: .milliseconds(300), isFreeze: true)
        one.shown(for: .milliseconds(700), isFreeze: false)
        one.add(.init(bytesIn: 1, bytesOut: 2, packetsIn: 3, lostIn: 4, packetsOut: 5, lostOut: 6))
        #expect(value(one, "r", "tessera_room_audio_played_seconds_total") == 1)
        #expect(value(one, "r", "tessera_room_audio_concealed_seconds_total") == 0.1)
        #expect(value(all, nil, "tessera_audio_played_seconds_total") == 2)
        #expect(value(one, "r", "tessera_room_pictures_shown_seconds_total") == 1)
        #expect(value(all, nil, "tessera_pictures_frozen_seconds_total") == 0.3)
        #expect(value(all, nil, "tessera_picture_freezes_total") == 1)
        #expect(value(other, "s", "tessera_room_picture_freezes_total") == 0)
        #expect(value(all, nil, "tessera_media_bytes_total", "in") == 1)
        #expect(value(one, "r", "tessera_room_media_bytes_total", "out") == 2)
        #expect(value(one, "r", "tessera_room_media_packets_total", "in") == 3)
        #expect(value(one, "r", "tessera_room_media_packets_lost_total", "in") == 4)
        #expect(value(one, "r", "tessera_room_media_packets_total", "out") == 5)
        #expect(value(all, nil, "tessera_media_packets_lost_total", "out") == 6)
        #expect(one.samples(room: "r").allSatisfy { $0.labels["room"] == "r" })
        #expect(all.samples(room: nil).allSatisfy { $0.labels["room"] == nil })
    }

    @Test("the delay of a picture counts from its arrival, once for each picture that is new in a frame")
    func delays() {
        let quality = MediaQuality()
        let start = Instant.zero
        var trace = PictureTrace(composed: start + .milliseconds(30))
        trace.origins = [
            PictureOrigin(arrival: start, decoded: start + .milliseconds(5)),
            PictureOrigin(arrival: start + .milliseconds(20), decoded: start + .milliseconds(25)),
        ]
        quality.left([trace, PictureTrace(composed: start)], at: start + .milliseconds(60))
        let samples = quality.delaySamples(room: "r")
        #expect(
            samples.map(\.name) == [
                "tessera_room_picture_delay_seconds_sum", "tessera_room_picture_delay_seconds_count",
            ])
        #expect(samples.map(\.value) == [0.1, 2])
        #expect(Set(samples.map(\.family)) == ["tessera_room_picture_delay_seconds"])
    }

    @Test("a loss that a report takes back and another states again counts once")
    func losses() {
        var meter = LinkMeter()
        var statistics = PeerStatistics()
        var lost = 0
        for count in [3, 1, 3, 4] {
            statistics.videoSent.packetsLost = count
            statistics.videoSent.counters.packets += 10
            lost += meter.count(statistics).lostOut
        }
        #expect(lost == 4)
        statistics.audioReceived.packets = 90
        statistics.audioReceived.packetsLost = 10
        let link = meter.count(statistics)
        #expect(link == .init(packetsIn: 100, lostIn: 10))
        #expect(meter.count(statistics) == .init())
    }

    @Test("a link that changes little is reported every second time, any other change at once")
    func reports() {
        var meter = LinkMeter()
        func told(_ change: (inout LinkState) -> Void) -> Bool {
            var link = meter.measured
            (link.estimate, link.sent) = (.kilobits(500), .kilobits(300))
            change(&link)
            return meter.report(link) != nil
        }
        #expect(told { _ in } && !told { _ in })
        #expect(
            (0..<6).map { count in told { $0.sent = .kilobits(310 + count) } } == [
                false, true, false, true, false, true,
            ])
        #expect(told { $0.rung = 180 } && told { $0.rung = 360 } && told { $0.lossDown = 0.1 })
        #expect(told { $0.heard = .sound } && told { $0.estimate = .kilobits(90) })
    }

    @Test("a talker's audio counts once a second, and what was lost of it as concealed")
    func audio() throws {
        let quality = MediaQuality()
        let talker = try Talker(tone: 440)
        let intake = AudioIntake(
            inbox: talker.inbox, statistics: AudioIntakeStatistics(quality: quality), audioDelay: AudioDelay())
        var output: [Float] = []
        for tick in 0..<400 {
            // One packet in ten is lost.
            if tick % 10 != 9 { try talker.send(tick: tick, amplitude: 0.3) }
            let now = AudioRoom.time(ofTick: tick)
            intake.collect(at: now)
            _ = intake.pull(at: now, into: &output)
        }
        // Who sends nothing is only silent, and may not dilute the share of what was concealed.
        for tick in 400..<800 { _ = intake.pull(at: AudioRoom.time(ofTick: tick), into: &output) }
        let played = try #require(value(quality, nil, "tessera_audio_played_seconds_total"))
        let concealed = try #require(value(quality, nil, "tessera_audio_concealed_seconds_total"))
        #expect(played >= 6 && played <= 8)
        #expect(concealed > 0.02 * played && concealed < 0.2 * played)
    }

    @Test("renditions of one label share a counter that lasts as long as one of them")
    func renditionCounters() {
        func key(_ singleNAL: Bool) -> RenditionKey {
            RenditionKey(room: "r", view: .main, codec: .h264, singleNAL: singleNAL, kind: .rung(0))
        }
        let rung = Ladder(RoomMediaConfiguration.Rung.standard, width: 1280, height: 720, framesPerSecond: 30).rungs[0]
        let table = RenditionCounterTable()
        var first: RenditionCounters? = table[RenditionLabel(key(false), rung)]
        var second: RenditionCounters? = table[RenditionLabel(key(true), rung)]
        #expect(first === second)
        first?.count(bytes: 7, isKeyframe: true)
        first = nil
        #expect(second?.bytes.load(ordering: .relaxed) == 7)
        second = nil
        #expect(table[RenditionLabel(key(false), rung)].frames.load(ordering: .relaxed) == 0)
        var own = key(false)
        own.view = ViewID("main", choice: ViewChoice(layout: "grid", pins: ["p1"]))
        #expect(RenditionLabel(own, rung).view == "personal")
    }
}
