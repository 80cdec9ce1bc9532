import Basics
import Codecs
import Foundation
import Peer
import Testing

@testable import RoomMedia

@Suite("The audio of a room")
struct AudioRoomTests {
    private final class Tape: Sendable {
        private let samples = Guarded<[Float]>([])
        func append(_ more: [Float]) { samples.withLock { $0 += more } }
        var all: [Float] { samples.withLock { $0 } }
    }

    /// One listener's packets of a room in which a participant sends a tone.
    private func deliveries(profile: AudioProfile, receiverLimits: OpusReceiverLimits, ticks: Int = 100) throws
        -> [AudioDelivery]
    {
        var configuration = RoomMediaConfiguration.Audio()
        configuration.bitRate = .kilobits(64)
        configuration.level = .off
        let room = AudioRoom(configuration: configuration, speakersChanged: { _, _ in })
        let talker = try Talker(tone: 600)
        room.seats["a"] = talker.seat("a")
        room.seats["b"] = AudioRoom.Seat("b")
        room.seats["b"]?.destination = PeerID(loop: 0, number: 2)
        room.seats["b"]?.profile = profile
        room.seats["b"]?.receiverLimits = receiverLimits
        var deliveries: [AudioDelivery] = []
        for tick in 0..<ticks {
            try talker.send(tick: tick, amplitude: 0.3)
            deliveries += room.run(tick: tick)
        }
        return deliveries.filter { $0.seat.number == 2 }
    }

    private func rate(_ deliveries: [AudioDelivery], seconds: Double) -> Double {
        Double(deliveries.reduce(0) { $0 + $1.payload.count } * 8) / seconds
    }

    @Test("the encodes keep to a peer's maxaveragebitrate and maxptime")
    func receiverLimits() throws {
        var parameters = OpusParameters(FormatParameters(parsing: "maxaveragebitrate=16000;useinbandfec=1"))
        var receiverLimits = OpusReceiverLimits(parameters, roomRate: .kilobits(64))
        #expect(
            receiverLimits.maxBitRate == .kilobits(16) && receiverLimits.takesFEC && receiverLimits.takesLongPackets)
        #expect(rate(try deliveries(profile: .clear, receiverLimits: receiverLimits), seconds: 2) < 20_000)
        #expect(rate(try deliveries(profile: .clear, receiverLimits: OpusReceiverLimits()), seconds: 2) > 35_000)

        #expect(try deliveries(profile: .narrow, receiverLimits: receiverLimits).count == 50, "40 ms each")
        parameters.maxPacketTime = 20
        receiverLimits = OpusReceiverLimits(parameters, roomRate: .kilobits(64))
        #expect(
            try deliveries(profile: .narrow, receiverLimits: receiverLimits).count == 100,
            "no longer than the peer takes")

        let silentOnFEC = OpusReceiverLimits(
            OpusParameters(FormatParameters(parsing: "maxaveragebitrate=510000")), roomRate: .kilobits(32))
        #expect(
            !silentOnFEC.takesFEC && silentOnFEC.maxBitRate == nil,
            "a limit that binds nobody keeps nobody from sharing an encode")
    }

    @Test("a room encodes few rates, however many peers ask for, and no peer gets more than its limit")
    func manyReceiverLimits() {
        let room = AudioRoom(configuration: RoomMediaConfiguration.Audio(), speakersChanged: { _, _ in })
        for number in 0..<100 {
            let id = "v\(number)"
            room.seats[id] = AudioRoom.Seat(id)
            room.seats[id]?.destination = PeerID(loop: 0, number: number)
            room.seats[id]?.profile = AudioProfile.allCases[number % AudioProfile.allCases.count]
            var receiverLimits = OpusReceiverLimits()
            receiverLimits.maxBitRate = .kilobits(6 + number / 4)
            receiverLimits.takesFEC = number % 2 == 0
            receiverLimits.takesLongPackets = number % 3 == 0
            room.seats[id]?.receiverLimits = receiverLimits
        }
        var counts: [PeerID: Int] = [:]
        var payloads: Set<[UInt8]> = []
        for tick in 0..<50 as Range<Int64> {
            var deliveries: [AudioDelivery] = []
            room.tick(Instant(nanoseconds: 1_000_000_000 + tick * 20_000_000), into: &deliveries)
            for delivery in deliveries { counts[delivery.seat, default: 0] += 1 }
            if tick == 1 { payloads = Set(deliveries.map(\.payload)) }
        }
        #expect((room.mix()?.codings.count ?? 0) <= VoiceMix.mostCodings && payloads.count <= VoiceMix.mostCodings + 1)
        // Peers with silence suppression get few packets, but every peer gets some.
        #expect(counts.count == 100)
        var rates: Set<BitRate> = []
        for rate in stride(from: 6000, to: 32_000, by: 1) {
            let parameters = OpusParameters(FormatParameters(parsing: "maxaveragebitrate=\(rate);useinbandfec=1"))
            let wish = OpusReceiverLimits(parameters, roomRate: .kilobits(32)).maxBitRate ?? .zero
            #expect(wish.bitsPerSecond <= rate)
            rates.insert(wish)
        }
        #expect(rates.count <= 5)
    }

    @Test("each packet carries its level")
    func levels() throws {
        let heard = try deliveries(profile: .clear, receiverLimits: OpusReceiverLimits())
        // A sine of 0.3 is 13.5 dB below full scale, and before it comes silence.
        #expect(heard.first?.level == 127)
        #expect((12...16).contains(heard.last?.level ?? 0))
    }

    @Test("a quiet and a loud participant are heard alike, and with levels off as they are", arguments: [true, false])
    func loudness(isLevelled: Bool) throws {
        var peaks: [Float] = []
        for amplitude in [0.03, 0.3] as [Float] {
            var configuration = RoomMediaConfiguration.Audio()
            configuration.level = isLevelled ? .auto : .off
            let room = AudioRoom(configuration: configuration, speakersChanged: { _, _ in })
            let tape = Tape()
            room.tap("file") { samples, _ in tape.append(samples) }
            let talker = try Talker(tone: 600)
            room.seats["a"] = talker.seat("a")
            for tick in 0..<250 {
                try talker.send(tick: tick, amplitude: amplitude)
                _ = room.run(tick: tick)
            }
            peaks.append(tape.all.suffix(9600).map(abs).max() ?? 0)
        }
        // 4 dB are a factor of 1.58.
        #expect((peaks[1] / peaks[0] < 1.58) == isLevelled, "\(peaks)")
    }

    enum End: CaseIterable { case leave, mute, stop }

    @Test("audio that ends abruptly fades without a click", arguments: End.allCases)
    func end(_ end: End) throws {
        var configuration = RoomMediaConfiguration.Audio()
        configuration.level = .off
        let room = AudioRoom(configuration: configuration, speakersChanged: { _, _ in })
        let tape = Tape()
        room.tap("file") { samples, _ in tape.append(samples) }
        let talker = try Talker(tone: 600)
        room.seats["a"] = talker.seat("a")
        for tick in 0..<80 {
            if tick < 50 || end != .stop { try talker.send(tick: tick, amplitude: 0.3) }
            if tick == 50, end == .leave { room.leave("a") }
            if tick == 50, end == .mute { room.seats["a"]?.isHeard = false }
            _ = room.run(tick: tick)
        }
        let heard = tape.all
        #expect(heard[960 * 40..<960 * 50].contains { abs($0) > 0.25 })
        // The steepest slope of a tone of that frequency and amplitude, per sample.
        let steepest = Float(0.3 * 2 * Double.pi * 600 / 48_000)
        let steps = zip(heard.dropFirst(960 * 20), heard.dropFirst(960 * 20 - 1)).map { abs($0 - $1) }
        #expect((steps.max() ?? 1) < steepest * 1.5)
        // Concealment takes 200 ms, after the rest of the buffer.
        #expect(heard.suffix(960 * 14).allSatisfy { abs($0) < 1e-3 })
    }
}

@Suite("The audio profile of a link")
struct AudioProfileTests {
    @Test("packets go out twice on a lossy link with spare capacity, if the peer takes copies")
    func repeated() {
        func profile(_ kilobits: Int, _ loss: Double, _ takesCopies: Bool = true, after previous: AudioProfile? = nil)
            -> AudioProfile
        {
            AudioProfile(estimate: .kilobits(kilobits), loss: loss, takesCopies: takesCopies, previous: previous)
        }
        #expect(profile(2000, 0.005) == .clear && profile(2000, 0.02) == .repeated && profile(2000, 0.1) == .repeated)
        // The profile ends at half the loss, and where the link gets thin.
        #expect(profile(2000, 0.006, after: .repeated) == .repeated && profile(2000, 0.004, after: .repeated) == .clear)
        #expect(profile(420, 0.03) == .lossy && profile(420, 0.03, after: .repeated) == .repeated)
        #expect(profile(390, 0.03, after: .repeated) == .lossy && profile(390, 0.1, after: .repeated) == .veryLossy)
        #expect(
            profile(150, 0.1) == .narrow && profile(60, 0.1) == .floor && profile(35, 0.1) == .least
                && profile(35, 0) == .floor)
        #expect(profile(36, 0, after: .least) == .least && profile(38, 0, after: .least) == .floor)
        // A peer that takes no copies keeps Opus' own FEC.
        #expect(profile(2000, 0.02, false) == .lossy && profile(2000, 0.1, false) == .veryLossy)
    }

    @Test("under heavy loss packets go out four times, and on a thin link nothing but speech does")
    func heavyLoss() {
        func profile(_ kilobits: Int, _ loss: Double, after previous: AudioProfile? = nil) -> AudioProfile {
            AudioProfile(estimate: .kilobits(kilobits), loss: loss, takesCopies: true, previous: previous)
        }
        #expect(profile(2000, 0.2) == .shielded && profile(300, 0.2) == .fortress && profile(60, 0.3) == .fortress)
        #expect(profile(2000, 0.1, after: .shielded) == .shielded && profile(2000, 0.09, after: .shielded) == .repeated)
        #expect(profile(430, 0.2, after: .fortress) == .fortress && profile(300, 0.07, after: .fortress) == .veryLossy)
        // Of what does not fit on the link, less is to be sent and not more.
        let queued = AudioProfile(estimate: .kilobits(32), loss: 0.4, ownLoss: 0.02, takesCopies: true)
        #expect(queued == .least)
        // 30 % of random loss: 0.8 % of the packets are not heard, and for who takes no copies 9 %.
        #expect(AudioProfile.shielded.repetition(takesCopies: true) == .copies([1, 2, 4]))
        #expect(AudioProfile.fortress.repetition(takesCopies: true) == .copies([1, 2, 3]))
        #expect(AudioProfile.fortress.repetition(takesCopies: false) == .doubled)
        #expect(AudioProfile.fortress.linkRate(.kilobits(32)) == BitRate(bitsPerSecond: 43_333))
        #expect(AudioProfile.fortress.linkRate(.kilobits(32), takesCopies: false) == BitRate(bitsPerSecond: 35_200))
        #expect(AudioProfile.least.linkRate(.kilobits(32)) == BitRate(bitsPerSecond: 19_600))
    }

    @Test("settings change where packets of both meet: nothing is sent twice, and nothing is left out")
    func changes() throws {
        let room = AudioRoom(configuration: RoomMediaConfiguration.Audio(), speakersChanged: { _, _ in })
        let talker = try Talker(tone: 600)
        room.seats["a"] = talker.seat("a")
        room.seats["b"] = AudioRoom.Seat("b")
        room.seats["b"]?.destination = PeerID(loop: 0, number: 2)
        var deliveries: [AudioDelivery] = []
        // Profiles of packets of 1, 2 and 3 ticks, changed at any tick.
        let profiles: [AudioProfile] = [.clear, .narrow, .least, .narrow, .clear, .least, .fortress, .clear]
        var tick = 0
        for (number, profile) in profiles.enumerated() {
            room.seats["b"]?.profile = profile
            for _ in 0..<20 + number {
                try talker.send(tick: tick, amplitude: 0.3)
                deliveries += room.run(tick: tick)
                tick += 1
            }
        }
        var next = try #require(deliveries.first).timestamp
        let end = next + Int64(tick - 3) * 960
        for delivery in deliveries {
            #expect(delivery.timestamp == next)
            let payload = delivery.payload
            next += Int64(OpusPacket(payload.span)?.samples ?? 0)
        }
        #expect(next >= end)
    }

    @Test("a repeated profile has the encode of a good link and twice its rate on the link")
    func cost() {
        #expect(
            AudioProfile.repeated.coding == .clear && !AudioProfile.repeated.carriesFEC
                && AudioProfile.repeated.expectedLoss == 0)
        #expect(AudioProfile.clear.linkRate(.kilobits(32)) == BitRate(bitsPerSecond: 60_800))
        #expect(AudioProfile.repeated.linkRate(.kilobits(32)) == BitRate(bitsPerSecond: 94_800))
        #expect(AudioProfile.allCases.filter { $0.repetition(takesCopies: true) == .copies([1]) } == [.repeated])
    }

    @Test("a peer that gets packets twice shares the encode of peers on good links")
    func shared() throws {
        let room = AudioRoom(configuration: RoomMediaConfiguration.Audio(), speakersChanged: { _, _ in })
        for (number, (id, profile)) in [("a", AudioProfile.clear), ("b", .repeated), ("c", .lossy)].enumerated() {
            room.seats[id] = AudioRoom.Seat(id)
            room.seats[id]?.destination = PeerID(loop: number, number: 1)
            room.seats[id]?.profile = profile
        }
        var deliveries: [AudioDelivery] = []
        for tick in 0..<5 as Range<Int64> {
            room.tick(Instant(nanoseconds: 1_000_000_000 + tick * 20_000_000), into: &deliveries)
        }
        func payloads(_ loop: Int) -> [[UInt8]] { deliveries.filter { $0.seat.loop == loop }.map(\.payload) }
        #expect(payloads(0).count == 5 && payloads(0) == payloads(1) && payloads(0) != payloads(2))
    }
}
