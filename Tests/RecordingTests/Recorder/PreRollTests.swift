import Basics
import Codecs
import Foundation
import TestSupport
import Testing

@testable import Recording

@Suite("Pre-roll", .serialized)
struct PreRollTests {
    private func recorder(_ file: String) throws -> MP4Recorder {
        try MP4Recorder(
            file: file, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25,
            onFailure: { Issue.record("\($0)") })
    }

    /// The brightness of each picture of a file tells the second in which it was taken.
    private func clock(_ file: String) throws -> [(position: Double, taken: Double)] {
        let reader = try MediaFileReader(path: file, decode: true)
        var times: [(Double, Double)] = []
        while let sample = try reader.next() {
            guard case .picture(let picture, let timestamp) = sample else { continue }
            let light = Double(picture.y[picture.height / 2 * picture.yStride + picture.width / 2])
            times.append((Double(timestamp) / 90_000, ((light - 16) / 4).rounded() / 2))
        }
        return times
    }

    /// Encodes a picture whose brightness grows every half second.
    private func frame(_ encoder: any VideoEncoder, _ millisecond: Int, keyframe: Bool) throws -> EncodedVideoFrame? {
        let picture = Picture(width: FlashAndBeep.width, height: FlashAndBeep.height)
        picture.fill(y: UInt8(16 + millisecond / 500 * 4), u: 128, v: 128)
        return try encoder.encode(
            picture, timestamp: FlashAndBeep.instant(millisecond).ticks(at: 90_000), forceKeyframe: keyframe)
    }

    @Test("A recording shows and sounds like the seconds before its start, and goes on without a gap")
    func before() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("a.mp4")
        let memory = RecordingMemory()
        let preRoll = PreRoll(length: .seconds(6), memory: memory, onKeyframeNeeded: {})
        let recorder = try recorder(file)
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: .h264, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25,
                bitRate: .kilobits(200)))
        // Keyframes at 0, 2, 4 … s, and just before 20 s the recording starts: it begins at 14 s.
        for time in stride(from: 0, to: 24_000, by: 20) {
            if time == 19_980 {
                let kept = preRoll.hand(to: recorder, at: FlashAndBeep.instant(time))
                #expect(abs(kept.inSeconds - 5.98) < 0.01, "\(kept)")
            }
            let audio = FlashAndBeep.audio(time)
            preRoll.append(audio: audio.samples, timestamp: audio.timestamp)
            if time % 40 == 0, let frame = try frame(encoder, time, keyframe: time % 2000 == 0) {
                preRoll.append(frame)
            }
        }
        let summary = try await recorder.finish()
        #expect(abs(summary.duration.inSeconds - 10) < 0.1, "\(summary.duration)")
        #expect(memory.waiting == 0, "the memory is free again")
        let clock = try clock(file)
        #expect(clock.count == 250)
        for (position, taken) in clock {
            #expect(taken <= position + 14.05 && taken > position + 14.05 - 0.6, "\(taken) at \(position)")
        }
        // Beeps are at whole seconds, like the file's beginning.
        let beeps = try Onsets(file).beeps
        #expect(beeps.count == 10 && beeps.allSatisfy { abs($0 - $0.rounded()) < 0.025 }, "\(beeps)")
    }

    @Test("What is kept has bounds in time and memory, and begins with a keyframe")
    func bounds() throws {
        let memory = RecordingMemory(perRecording: 100_000, inAll: 150_000)
        let wanted = Guarded(0)
        let rolls = (0..<3).map { _ in
            PreRoll(length: .seconds(4), memory: memory) { wanted.withLock { $0 += 1 } }
        }
        func frame(_ time: Int, _ size: Int, isKeyframe: Bool) -> EncodedVideoFrame {
            EncodedVideoFrame(
                codec: .h264, data: [UInt8](repeating: 0, count: size), isKeyframe: isKeyframe,
                timestamp: FlashAndBeep.instant(time).ticks(at: 90_000))
        }
        // Small frames: time is the bound. 4 s of audio are 384 000 bytes, so only a part of it fits.
        for time in stride(from: 0, to: 60_000, by: 40) {
            for roll in rolls {
                roll.append(frame(time, 300, isKeyframe: time % 1000 == 0))
                roll.append(
                    audio: [Float](repeating: 0, count: 160), timestamp: FlashAndBeep.instant(time).ticks(at: 48_000))
            }
            #expect(rolls.allSatisfy { $0.bytes <= 100_000 } && memory.waiting <= 150_000)
        }
        #expect(rolls[0].bytes > 30_000 && rolls[0].bytes < 75_000, "\(rolls[0].bytes)")
        #expect(wanted.withLock { $0 } == 0)
        // A frame larger than everything empties the buffer, and a keyframe is requested once in a while.
        rolls[0].append(frame(60_040, 200_000, isKeyframe: true))
        for time in stride(from: 60_080, to: 62_000, by: 40) { rolls[0].append(frame(time, 300, isKeyframe: false)) }
        #expect((1...3).contains(wanted.withLock { $0 }), "\(wanted.withLock { $0 })")
        #expect(rolls[0].bytes == 0)
        for roll in rolls { roll.end() }
        #expect(memory.waiting == 0)
        rolls[0].append(frame(63_000, 300, isKeyframe: true))
        #expect(rolls[0].bytes == 0 && memory.waiting == 0, "it is over")
    }

    @Test("Without keyframes of its own the encoder is asked for one each third of the length")
    func keyframes() throws {
        let wanted = Guarded(0)
        let preRoll = PreRoll(length: .seconds(9), memory: RecordingMemory()) { wanted.withLock { $0 += 1 } }
        for time in stride(from: 0, to: 30_000, by: 40) {
            let isAnswer = wanted.withLock { $0 > time / 3_040 }
            preRoll.append(
                EncodedVideoFrame(
                    codec: .h264, data: [0], isKeyframe: time == 0 || isAnswer,
                    timestamp: FlashAndBeep.instant(time).ticks(at: 90_000)))
        }
        #expect((9...11).contains(wanted.withLock { $0 }), "\(wanted.withLock { $0 })")
    }
}
