import Basics
import Codecs
import Synchronization
import Testing

@testable import RoomMedia

/// Rooms whose participants announce their audio levels.
@Suite("A room that decodes only audible participants")
struct AudioRestRoomTests {
    /// A room of talkers "0", "1" … and a listener; `amplitude` and `level` are those of a talker's packet in a tick.
    private func run(
        _ count: Int, ticks: Int, levels: Bool = true, amplitude: (Int, Int) -> Float,
        level: ((Int, Int) -> UInt8)? = nil
    ) throws -> (heard: [Float], decoded: Int, rested: Int) {
        let counters = IntakeCounters()
        var configuration = RoomMediaConfiguration.Audio()
        configuration.level = .off
        let room = AudioRoom(configuration: configuration, speakersChanged: { _, _ in })
        let talkers = try (0..<count).map { _ in try Talker(tone: 500, counters: counters) }
        for (number, talker) in talkers.enumerated() { room.seats["\(number)"] = talker.seat("\(number)") }
        room.seats["ear"] = AudioRoom.Seat("ear")
        room.seats["ear"]?.destination = PeerID(loop: 0, number: 1)
        room.seats["ear"]?.profile = .clear
        let decoder = try OpusDecoder()
        var heard: [Float] = []
        for tick in 0..<ticks {
            for (number, talker) in talkers.enumerated() {
                try talker.send(tick: tick, amplitude: amplitude(number, tick)) { samples in
                    levels ? level?(number, tick) ?? LevelMeter.headerValue(of: samples) : nil
                }
            }
            for delivery in room.run(tick: tick) { try decoder.decode(delivery.payload, into: &heard) }
        }
        let rested = counters.restedAudioPackets.load(ordering: .relaxed)
        return (heard, count * ticks - rested, rested)
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
