import Basics
import TestSupport
import Testing

@testable import Recording

/// Where pictures are placed on a recording's clock, against the audio that was captured with them.
@Suite struct PictureTimesTests {
    /// A participant whose audio is played with `delay` after its capture, and whose pictures need `way`, in ms.
    private struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var delay: @Sendable (Int) -> Int
        var way: @Sendable (Int) -> Int
    }

    private static let cases = [
        Case(testDescription: "a quiet line") { _ in
            90
        } way: { _ in
            40
        },
        // After a stall the jitter buffer is cut from 250 to 100 ms; lost pictures are repaired 300 ms later.
        Case(testDescription: "audio that is cut while pictures are repaired") {
            $0 < 3000 ? 250 : 100
        } way: {
            (2500..<2900).contains($0) ? 340 + (2900 - $0) / 4 : 40
        },
        Case(testDescription: "audio that is slowed down while pictures are repaired") {
            $0 < 3000 ? 100 : min(100 + ($0 - 3000) / 10, 250)
        } way: {
            $0 % 500 < 120 ? 260 : 40
        },
        // A busy sender's microphone comes long after its camera.
        Case(testDescription: "audio that comes 900 ms after its pictures") { _ in
            950
        } way: { _ in
            40
        },
        Case(testDescription: "pictures that come 700 ms after their audio") { _ in
            90
        } way: { _ in
            790
        },
    ]

    @Test("A picture is placed where the audio of its capture was played", arguments: cases)
    private func places(_ example: Case) throws {
        let batches = Guarded<[TrackBatch]>([])
        let tracks = RecordingTracks(RecordingBacklog(RecordingMemory())) { batch, _ in
            batches.withLock { $0.append(batch) }
        }
        // The name of a picture is the time of its capture.
        var sent = Array(stride(from: 1000, to: 6000, by: 40))
        var played: [Int: Int] = [:]
        for tick in stride(from: 1000, to: 8000, by: 20) {
            while let capture = sent.first, capture + example.way(capture) <= tick {
                sent.removeFirst()
                let arrival = Self.instant(capture + example.way(capture))
                let frame = EncodedVideoFrame(
                    codec: .vp8, data: [UInt8](repeating: 1, count: 8), isKeyframe: true, timestamp: Int64(capture))
                #expect(
                    !tracks.append(
                        RecordingTracks.Picture(
                            participant: "ann", isScreen: false, kind: .camera, frame: frame, rotation: .none,
                            captureTime: Self.instant(capture), arrival: arrival)))
            }
            let delay = example.delay(tick)
            for capture in tick - delay..<tick - delay + 20 where played[capture] == nil {
                played[capture] = capture + delay
            }
            let voice = RecordingTracks.Voice(
                participant: "ann", samples: [Float](repeating: 0, count: 960), delay: .milliseconds(delay))
            tracks.append([voice], timestamp: Self.instant(tick).ticks(at: 48_000))
        }
        let frames = batches.withLock { $0.flatMap(\.frames) }
        #expect(frames.count == 125)
        for frame in frames {
            // What was cut was never heard, and a picture of it has no place of its own.
            guard let wanted = played[Int(frame.frame.timestamp)] else { continue }
            let time = Double(frame.time) / Double(RecordingSession.ticksPerSecond) * 1000
            #expect(
                abs(time - Double(wanted)) <= 20, "the picture of \(frame.frame.timestamp) at \(time), not \(wanted)")
        }
    }

    private static func instant(_ milliseconds: Int) -> Instant { .zero + .milliseconds(milliseconds) }
}
