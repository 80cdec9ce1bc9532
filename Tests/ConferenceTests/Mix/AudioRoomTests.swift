import Basics
import Codecs
import Foundation
import Peer
import Testing

@testable import Conference

@Suite("The sound of a room")
struct AudioRoomTests {
    private final class Tape: Sendable {
        private let samples = Guarded<[Float]>([])
        func append(_ more: [Float]) { samples.locked { $0 += more } }
        var all: [Float] { samples.locked { $0 } }
    }

    enum End: CaseIterable { case leave, mute, stop }

    @Test("whose sound ends in the middle of it is heard to fade, not to click", arguments: End.allCases)
    func end(_ end: End) throws {
        let room = AudioRoom(configuration: ConferenceConfiguration().audio, speakersChanged: { _ in })
        let tape = Tape()
        room.recorder = { samples, _ in tape.append(samples) }
        let inbox = AudioInbox()
        room.seats["a"] = AudioRoom.Seat(
            intake: AudioIntake(inbox: inbox, figures: AudioFigures(), soundDelay: SoundDelay()), hearsAs: "a")
        let encoder = try OpusEncoder(bitRate: .kilobits(64), application: .audio)
        let pitch = 2 * Double.pi * 600 / 48_000
        var deliveries: [AudioDelivery] = []
        for tick in 0..<80 {
            // 1 ms before the tick, so that arrivals and ticks have an order.
            let now = Instant(nanoseconds: 1_000_000_000 + Int64(tick) * 20_000_000)
            if tick < 50 || end != .stop {
                let sound = (0..<960).map { Float(0.3 * sin(pitch * Double(tick * 960 + $0))) }
                inbox.post(
                    ReceivedAudioPacket(
                        payload: try encoder.encode(sound), sequence: Int64(tick), timestamp: Int64(tick) * 960, marker: false, level: nil,
                        captureTime: now - .milliseconds(1), arrival: now - .milliseconds(1), ssrc: 1))
            }
            if tick == 50, end == .leave { room.leave("a") }
            if tick == 50, end == .mute { room.seats["a"]?.isHeard = false }
            room.tick(now, into: &deliveries)
        }
        let heard = tape.all
        #expect(heard[960 * 40..<960 * 50].contains { abs($0) > 0.25 })
        // A tone of that height and loudness climbs by so much a sample at most.
        let steepest = Float(0.3 * pitch)
        let steps = zip(heard.dropFirst(960 * 20), heard.dropFirst(960 * 20 - 1)).map { abs($0 - $1) }
        #expect((steps.max() ?? 1) < steepest * 1.5)
        // Concealment takes 200 ms, after what was in the buffer.
        #expect(heard.suffix(960 * 14).allSatisfy { abs($0) < 1e-3 })
    }
}
