import Basics
import Codecs
import Foundation
import Peer
import Synchronization
import Testing

@testable import RoomMedia

/// Rooms whose participants announce their audio levels.
@Suite("A room that decodes only audible participants")
struct AudioRestRoomTests {
    private static let pitch = 2 * Double.pi * 500 / 48_000

    /// A room of talkers "0", "1" … and a listener; `amplitude` and `level` are those of a talker's packet in a tick.
    private func run(
        _ talkers: Int, ticks: Int, levels: Bool = true, amplitude: (Int, Int) -> Float,
        level: ((Int, Int) -> UInt8)? = nil
    ) throws -> (heard: [Float], decoded: Int, rested: Int) {
        let counters = IntakeCounters()
        let room = AudioRoom(configuration: RoomMediaConfiguration.Audio(), speakersChanged: { _ in })
        let inboxes = (0..<talkers).map { _ in AudioInbox(counters: counters) }
        func seat(_ id: String, _ inbox: AudioInbox) -> AudioRoom.Seat {
            AudioRoom.Seat(
                intake: AudioIntake(
                    inbox: inbox, statistics: AudioIntakeStatistics(counters: counters), audioDelay: AudioDelay()),
                hearsAs: id)
        }
        for (number, inbox) in inboxes.enumerated() { room.seats["\(number)"] = seat("\(number)", inbox) }
        room.seats["ear"] = seat("ear", AudioInbox())
        room.seats["ear"]?.destination = SeatID(loop: 0, number: 1)
        room.seats["ear"]?.profile = .clear
        let encoders = try (0..<talkers).map { _ in try OpusEncoder(bitRate: .kilobits(64), application: .audio) }
        let decoder = try OpusDecoder()
        var heard: [Float] = []
        for tick in 0..<ticks {
            let now = Instant(nanoseconds: 1_000_000_000 + Int64(tick) * 20_000_000)
            for number in 0..<talkers {
                let strength = amplitude(number, tick)
                let sound = (0..<960).map { strength * Float(sin(Self.pitch * Double(tick * 960 + $0))) }
                let said = level?(number, tick) ?? LevelMeter.headerValue(of: sound)
                inboxes[number].post(
                    ReceivedAudioPacket(
                        payload: try encoders[number].encode(sound), sequence: Int64(tick),
                        timestamp: Int64(tick) * 960, marker: false,
                        level: levels ? said : nil, captureTime: now - .milliseconds(1),
                        arrival: now - .milliseconds(1), ssrc: 1))
            }
            var deliveries: [AudioDelivery] = []
            room.tick(now, into: &deliveries)
            for delivery in deliveries { try decoder.decode(delivery.payload, into: &heard) }
        }
        let rested = counters.restedAudioPackets.load(ordering: .relaxed)
        return (heard, talkers * ticks - rested, rested)
    }

    @Test("silence is not decoded, and the first word after it is whole")
    func onset() throws {
        // Three seconds of silence, half a second of a tone.
        let amplitude = { (_: Int, tick: Int) -> Float in tick < 150 ? 0 : 0.3 }
        let rests = try run(1, ticks: 175, amplitude: amplitude)
        #expect((130...148).contains(rests.rested), "\(rests.rested) of 150, the looks at it left out")
        let all = try run(1, ticks: 175, levels: false, amplitude: amplitude)
        #expect(all.rested == 0 && all.heard.count == rests.heard.count)
        let start = { (samples: [Float]) in samples.firstIndex { abs($0) > 0.1 } ?? 0 }
        #expect(abs(start(rests.heard) - start(all.heard)) < 240, "\(start(rests.heard)) and \(start(all.heard))")
        // From there on the two are the same, except the first milliseconds, which depend on the decoder's past.
        let from = start(all.heard) + 960
        let difference = zip(rests.heard[from...], all.heard[from...]).map { abs($0 - $1) }.max() ?? 1
        #expect(difference < 0.03, "\(difference)")
        #expect((rests.heard.map(abs).max() ?? 1) < 0.4, "no click")
    }

    @Test("a participant whose levels wrongly announce silence becomes audible")
    func liar() throws {
        let result = try run(1, ticks: 400, amplitude: { _, _ in 0.3 }, level: { _, _ in 127 })
        // Silent for one to three seconds, then audible for good.
        #expect(result.rested > 40 && result.rested < 200, "\(result.rested)")
        let end = result.heard.suffix(48_000)
        #expect(end.map(abs).max() ?? 0 > 0.2)
    }

    @Test("of twenty participants who talk at once the eight loudest are decoded and six are mixed")
    func crowd() throws {
        let result = try run(20, ticks: 200, amplitude: { number, _ in 0.01 + 0.004 * Float(number) })
        // The first packets of all twenty, before any level is known, and those of eight from then on.
        let share = Double(result.decoded) / Double(20 * 200)
        #expect((0.38...0.5).contains(share), "\(share)")
        // 0.066 to 0.086, in phase: six of them.
        let loudest = result.heard.suffix(24_000).map(abs).max() ?? 0
        #expect((0.35...0.5).contains(loudest), "\(loudest)")
    }
}
