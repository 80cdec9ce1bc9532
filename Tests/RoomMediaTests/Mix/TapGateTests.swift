import Basics
import Codecs
import Testing

@testable import RoomMedia

@Suite("The gate of a tap")
struct TapGateTests {
    private final class Tape: Sendable {
        let frames = Guarded<[Int64]>([])
        let keyframes = Guarded<[Int64]>([])
        let audio = Guarded<[[Float]]>([])
        let moves = Guarded<[Int]>([])
    }

    private let tape = Tape()
    private let gate: TapGate

    init() {
        gate = TapGate(
            video: { [tape] frame in
                tape.frames.withLock { $0.append(frame.timestamp) }
                if frame.isKeyframe { tape.keyframes.withLock { $0.append(frame.timestamp) } }
            },
            audio: { [tape] samples, _ in tape.audio.withLock { $0.append(samples) } },
            moved: { [tape] source in tape.moves.withLock { $0.append(source) } })
    }

    private func frame(_ time: Int64, key: Bool = false) -> EncodedVideoFrame {
        EncodedVideoFrame(codec: .h264, data: [0], isKeyframe: key, timestamp: time)
    }

    private var frames: [Int64] { tape.frames.withLock { $0 } }

    @Test("A source goes through from its keyframe on, and the one before until then")
    func move() {
        let first = gate.begin(after: .min)
        #expect(!gate.take(frame(1), from: first) && frames.isEmpty)
        #expect(!gate.take(frame(2, key: true), from: first) && !gate.take(frame(3), from: first))
        let second = gate.begin(after: .min)
        #expect(!gate.take(frame(4), from: second) && !gate.take(frame(4), from: first))
        #expect(!gate.take(frame(5), from: first) && frames == [2, 3], "they wait for a keyframe of their time")
        #expect(!gate.take(frame(5, key: true), from: second) && !gate.take(frame(6), from: second))
        #expect(!gate.take(frame(6, key: true), from: first))
        #expect(frames == [2, 3, 4, 5, 6] && tape.moves.withLock { $0 } == [first, second])
        #expect(tape.keyframes.withLock { $0 } == [2, 5])
    }

    @Test("Frames wait no longer than some encodes take, and a keyframe of an earlier time comes too late")
    func hold() {
        let first = gate.begin(after: .min)
        _ = gate.take(frame(0, key: true), from: first)
        let second = gate.begin(after: .min)
        for tick in 1...10 { _ = gate.take(frame(Int64(tick) * 3000), from: first) }
        #expect(frames == [0, 3000, 6000, 9000, 12000, 15000])
        #expect(gate.take(frame(15000, key: true), from: second), "it has to make another one")
        #expect(!gate.take(frame(18000, key: true), from: second))
        #expect(frames == [0, 3000, 6000, 9000, 12000, 15000, 18000])
        // A second a frame: each waits for the next one only.
        let third = gate.begin(after: .min)
        for second in 1...3 { _ = gate.take(frame(Int64(second) * 90_000), from: 2) }
        #expect(frames.suffix(2) == [90_000, 180_000])
        gate.cut()
        _ = gate.take(frame(360_000, key: true), from: third)
        #expect(frames.last == 180_000, "a cut drops what waits")
    }

    @Test("A cut ends what goes through and what is about to, keyframes too")
    func cut() {
        let first = gate.begin(after: .min)
        _ = gate.take(frame(1, key: true), from: first)
        let pending = gate.begin(after: .min)
        gate.cut()
        for source in [first, pending] {
            #expect(!gate.take(frame(2), from: source) && !gate.take(frame(3, key: true), from: source))
        }
        let next = gate.begin(after: .min)
        _ = gate.take(frame(4, key: true), from: pending)
        _ = gate.take(frame(5, key: true), from: next)
        #expect(frames == [1, 5])
    }

    @Test("Pictures from before the floor do not go through, and the source is asked for another keyframe")
    func floor() {
        let source = gate.begin(after: 10)
        #expect(gate.take(frame(10, key: true), from: source) && !gate.take(frame(11), from: source))
        #expect(!gate.take(frame(12, key: true), from: source) && frames == [12])
    }

    @Test("Audio is silent from a cut on until the audio thread has made it too")
    func audio() {
        gate.take([1, 1], at: 0)
        gate.cut()
        gate.take([2, 2], at: 2)
        gate.cut()
        gate.audioIsCut()
        gate.take([3, 3], at: 4)
        gate.audioIsCut()
        gate.take([4, 4], at: 6)
        #expect(tape.audio.withLock { $0 } == [[1, 1], [0, 0], [0, 0], [4, 4]])
    }
}
