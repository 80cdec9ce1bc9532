import Basics
import Codecs
import Testing

@testable import RoomMedia

@Suite("Silence costs no encode")
struct SilencePacketsTests {
    private static let listener = PeerID(loop: 0, number: 2)
    /// A tone's peak after coding, and what nobody hears.
    private static let (loud, inaudible): (Float, Float) = (0.2, 1e-3)

    /// A room with a talker who says nothing yet, and one listener.
    private func room(_ talker: Talker, _ profile: AudioProfile, _ silence: SilencePackets) -> AudioRoom {
        var configuration = RoomMediaConfiguration.Audio()
        configuration.level = .off
        let room = AudioRoom(configuration: configuration, speakersChanged: { _, _ in })
        room.silence = silence
        room.seats["a"] = talker.seat("a")
        room.seats["b"] = AudioRoom.Seat("b")
        room.seats["b"]?.destination = Self.listener
        room.seats["b"]?.profile = profile
        room.seats["b"]?.receiverLimits.takesLongPackets = true
        return room
    }

    /// The loops of what the rooms of other tests would have asked for.
    private func grown(_ profile: AudioProfile) throws -> SilencePackets {
        let silence = SilencePackets()
        let other = room(try Talker(tone: 600), profile, silence)
        for tick in 0..<300 {
            _ = other.run(tick: tick)
            silence.grow()
        }
        return silence
    }

    /// The peak of each packet as a decoder has it; 0 where there is none.
    private func peaks(_ packets: [[UInt8]?], _ decoder: OpusDecoder) throws -> [Float] {
        try packets.map { packet in
            var samples: [Float] = []
            if let packet { try decoder.decode(packet, into: &samples) }
            return samples.map(abs).max() ?? 0
        }
    }

    @Test("a room in which nobody speaks has no encoder, and its listener a packet in each tick")
    func lone() throws {
        let silence = try grown(.clear)
        let room = room(try Talker(tone: 600), .clear, silence)
        let packets = (0..<100).map { room.run(tick: $0).first?.payload }
        #expect(room.encoderCount == 0 && packets.allSatisfy { $0?.isEmpty == false })
        #expect(try peaks(packets, OpusDecoder()).allSatisfy { $0 < Self.inaudible })
        #expect(Set(packets).count > 1, "the loop goes round")
    }

    @Test(
        "who begins to speak is heard from the first word on, and silence is silence afterwards",
        arguments: [AudioProfile.clear, .lossy, .narrow])
    func spoken(_ profile: AudioProfile) throws {
        let silence = try grown(profile)
        let talker = try Talker(tone: 600)
        let room = room(talker, profile, silence)
        var packets: [[UInt8]?] = []
        var counts: [Int] = []
        for tick in 0..<700 {
            if (100..<150).contains(tick) { try talker.send(tick: tick, amplitude: 0.3) }
            let delivery = room.run(tick: tick).first
            packets.append(delivery?.payload)
            counts.append(room.encoderCount)
        }
        let peaks = try peaks(packets, OpusDecoder())
        #expect(peaks[..<100].allSatisfy { $0 < Self.inaudible })
        // The jitter buffer and the encoder's look-ahead take a few ticks.
        #expect(peaks[106..<148].enumerated().allSatisfy { $1 > Self.loud || packets[106 + $0] == nil })
        #expect(peaks[100..<190].allSatisfy { $0 < 0.45 }, "no click")
        // Concealment of the talker's end takes 200 ms; comfort noise is the decoder's own.
        let quiet = profile == .narrow ? 0.02 : Self.inaudible
        #expect(peaks[190...].allSatisfy { $0 < quiet })
        #expect(
            counts[50] == 0 && counts[120] == 1 && counts[699] == 0, "\(counts[50]), \(counts[120]), \(counts[699])")
    }

    @Test("until there is a loop, silence is encoded; a tick makes one packet of one loop")
    func growing() throws {
        let silence = SilencePackets()
        let room = room(try Talker(tone: 600), .clear, silence)
        #expect(room.run(tick: 0).count == 1 && room.encoderCount == 1)
        var ready: Int?
        for tick in 1..<400 {
            silence.grow()
            _ = room.run(tick: tick)
            let coding = try #require(room.mix()?.codings.keys.first)
            if ready == nil, silence.packet(coding, 0) != nil { ready = tick }
        }
        #expect(ready == 134)
    }

    private func coding(_ rate: Int) -> AudioCoding {
        AudioCoding(bitRate: .kilobits(rate), carriesFEC: false, expectedLoss: 0, usesDTX: false, ticksPerPacket: 1)
    }

    @Test("however many rates are asked for, few loops are kept: the one that was played longest ago makes way")
    func bounded() {
        let silence = SilencePackets()
        let rates = 6..<86
        for rate in rates {
            // A loop takes 134 ticks. The room of the first rate goes on with its own.
            for _ in 0..<140 {
                _ = silence.packet(coding(6), 0)
                _ = silence.packet(coding(rate), 0)
                silence.grow()
            }
        }
        let kept = rates.filter { silence.packet(coding($0), 0) != nil }
        #expect(kept == [6] + Array(23..<86))

        for _ in 0..<200 {
            for rate in kept { _ = silence.packet(coding(rate), 0) }
            #expect(silence.packet(coding(300), 0) == nil, "while all are played, none is forgotten")
            silence.grow()
        }
        #expect(kept.allSatisfy { silence.packet(coding($0), 0) != nil })

        for _ in 0..<200 {
            _ = silence.packet(coding(300), 0)
            silence.grow()
        }
        #expect(silence.packet(coding(300), 0) != nil && kept.count { silence.packet(coding($0), 0) != nil } == 63)
    }

    @Test("what was asked for once, and by nobody since, keeps no room waiting for its loop")
    func abandoned() {
        let silence = SilencePackets()
        for rate in 6..<206 { #expect(silence.packet(coding(rate), 0) == nil) }
        // The one that was begun, a second in which the others are forgotten, and one of its own.
        for _ in 0..<(134 + 134) {
            #expect(silence.packet(coding(300), 0) == nil)
            silence.grow()
        }
        #expect(silence.packet(coding(300), 0) != nil && silence.packet(coding(7), 0) == nil)
    }
}
