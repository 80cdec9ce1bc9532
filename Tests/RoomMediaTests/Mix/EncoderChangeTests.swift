import Basics
import Codecs
import Foundation
import Peer
import Testing

@testable import RoomMedia

/// A participant that begins to speak, stops, or moves to another profile gets packets of another encoder from one tick
/// to the next.
@Suite("A change of the audio encoder")
struct EncoderChangeTests {
    private static let ticks = 400
    private static let tone = 600.0

    enum Change: CaseIterable, CustomTestStringConvertible {
        case speaksAlone, speaksBesideASilentOne, profile
        var testDescription: String { "\(self)" }
    }

    /// The decoded audio that b gets: a constant tone of a's, while b itself speaks now and then or its link changes.
    private func heard(_ change: Change, profile: AudioProfile) throws -> [Float] {
        var configuration = RoomMediaConfiguration.Audio()
        configuration.level = .off
        configuration.bitRate = .kilobits(32)
        let room = AudioRoom(configuration: configuration, speakersChanged: { _, _ in })
        let talkers = [
            "a": try Talker(tone: Self.tone), "b": try Talker(tone: 2.7 * Self.tone, application: .voice),
        ]
        for id in ["a", "b", "c"] {
            room.seats[id] = talkers[id]?.seat(id) ?? AudioRoom.Seat(id)
            room.seats[id]?.profile = profile
        }
        room.seats["b"]?.destination = PeerID(loop: 0, number: 2)
        room.seats["c"]?.destination = change != .speaksAlone ? PeerID(loop: 0, number: 3) : nil
        let decoder = try OpusDecoder()
        var samples: [Float] = []
        for tick in 0..<Self.ticks {
            let speaks = change != .profile && tick / 60 % 2 == 1
            for (id, talker) in talkers where id == "a" || speaks { try talker.send(tick: tick, amplitude: 0.2) }
            if change == .profile, tick % 50 == 49 {
                let other = profile == .clear ? AudioProfile.veryLossy : .clear
                room.seats["b"]?.profile = tick % 100 == 49 ? other : profile
            }
            for delivery in room.run(tick: tick) where delivery.seat.number == 2 {
                try decoder.decode(delivery.payload, into: &samples)
            }
        }
        return samples
    }

    /// The amplitudes of the tone and of the rest in each 5 ms, which are three periods of the tone.
    private func judge(_ samples: [Float], from start: Int) -> [(tone: Double, rest: Double)] {
        let pitch = 2 * Double.pi * Self.tone / 48_000
        return stride(from: start, to: samples.count - 240, by: 240).map { first in
            var (re, im, energy) = (0.0, 0.0, 0.0)
            for index in first..<first + 240 {
                let value = Double(samples[index])
                re += value * cos(pitch * Double(index))
                im += value * sin(pitch * Double(index))
                energy += value * value
            }
            let tone = 2 / 240.0 * (re * re + im * im).squareRoot()
            return (tone, max(0, energy / 240 - tone * tone / 2).squareRoot())
        }
    }

    /// Without a restart of the encoder the tone falls to two fifths (0.08) for 5 ms, and the rest is at 0.06.
    @Test("is not audible", arguments: Change.allCases, [AudioProfile.clear, .lossy, .narrow])
    func change(_ change: Change, profile: AudioProfile) throws {
        let windows = judge(try heard(change, profile: profile), from: 960 * 30)
        #expect(windows.count > 1000)
        let tones = windows.map(\.tone)
        let rest = windows.map(\.rest).max() ?? 1
        let text = "tone \(tones.min() ?? 0)…\(tones.max() ?? 0), rest \(rest)"
        // Between two Opus modes the decoder fades by itself: 3 dB less for 5 ms. And 16 kbit/s do not keep a tone as
        // constant.
        let quietest = change == .profile ? 0.12 : profile == .narrow ? 0.13 : 0.16
        #expect((tones.min() ?? 0) > quietest && (tones.max() ?? 1) < (profile == .narrow ? 0.27 : 0.24), "\(text)")
        #expect(rest < (profile == .narrow ? 0.035 : 0.02), "\(text)")
    }
}
