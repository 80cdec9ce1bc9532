import Basics
import Codecs

/// The way of a room's output to a tap: the frames of one rendition and the mix, and nothing of them from before a cut.
///
/// A cut is the moment from which somebody may not be in the output any more. Frames of the earlier picture may be in an
/// encoder then, and the audio thread may be in a tick: neither goes through, and the tap gets the next picture from a
/// keyframe on.
final class TapGate: Sendable {
    private struct State {
        /// The number of the latest source of frames.
        var latest = 0
        /// The source whose frames go through.
        var active: Int?
        /// Frames of that source that wait while a later one is about to replace it: both have pictures of the same
        /// times, and come in any order.
        var held: [EncodedVideoFrame] = []
        /// The latest source's frames up to this time do not go through.
        var floor = Int64.min
        /// The time of the last frame that went through.
        var lastFrame = Int64.min
        /// The cuts that were made, and those that the audio thread has made too.
        var cuts = 0
        var audioCuts = 0

        /// The frames that go through now that this one has come.
        mutating func pass(_ frame: EncodedVideoFrame, from source: Int) -> Passage {
            if source == active {
                held.append(frame)
                let end =
                    active == latest
                    ? held.count : held.firstIndex { $0.timestamp >= frame.timestamp - TapGate.longestHold } ?? 0
                return through(end)
            }
            guard source == latest, frame.isKeyframe else { return Passage() }
            if frame.timestamp <= max(lastFrame, floor) { return Passage(needsKeyframe: true) }
            held.removeAll { $0.timestamp >= frame.timestamp }
            held.append(frame)
            active = source
            var passage = through(held.count)
            passage.isNew = true
            return passage
        }

        private mutating func through(_ end: Int) -> Passage {
            let frames = Array(held[..<end])
            held.removeFirst(end)
            lastFrame = frames.last?.timestamp ?? lastFrame
            return Passage(frames: frames)
        }
    }

    private struct Passage {
        var frames: [EncodedVideoFrame] = []
        /// Whether they are the first ones of a source.
        var isNew = false
        var needsKeyframe = false
    }

    /// How long the frames before a move wait for the keyframe of their time, at 90 kHz: 150 ms, some times of an encode.
    private static let longestHold: Int64 = 13_500

    private let state = Guarded(State())
    /// Held while a frame is handed on, so that frames of two encoders' lanes keep their order. Only lanes wait for it:
    /// what takes the frame may take the room's locks, whose holders take `state` at most.
    private let turn = Guarded(())
    private let video: @Sendable (EncodedVideoFrame) -> Void
    private let audio: @Sendable ([Float], Int64) -> Void
    private let moved: @Sendable (Int) -> Void

    /// - Parameter moved: called on a lane with the number of a source, when its frames begin to go through.
    init(
        video: @escaping @Sendable (EncodedVideoFrame) -> Void, audio: @escaping @Sendable ([Float], Int64) -> Void,
        moved: @escaping @Sendable (Int) -> Void
    ) {
        self.video = video
        self.audio = audio
        self.moved = moved
    }

    /// For a tap without pictures.
    convenience init(audio: @escaping @Sendable ([Float], Int64) -> Void) {
        self.init(video: { _ in }, audio: audio, moved: { _ in })
    }

    /// Begins a source of frames, which go through from its next keyframe on; those of the one before do until then.
    /// Returns the source's number.
    ///
    /// - Parameter floor: the latest time, at 90 kHz, of pictures with somebody who may not be in the output.
    func begin(after floor: Int64) -> Int {
        state.withLock { state in
            state.latest += 1
            state.floor = floor
            return state.latest
        }
    }

    /// Ends all sources at once, and replaces the audio by silence until `audioIsCut` is called as often.
    func cut() {
        state.withLock { state in
            state.latest += 1
            state.active = nil
            state.held = []
            state.cuts += 1
        }
    }

    /// Called on the audio thread, whose mix obeys one more cut from now on.
    func audioIsCut() { state.withLock { $0.audioCuts += 1 } }

    /// Takes a frame of a source. Returns whether the source has to make another keyframe.
    func take(_ frame: EncodedVideoFrame, from source: Int) -> Bool {
        var passage = Passage()
        turn.withLock { _ in
            passage = state.withLock { $0.pass(frame, from: source) }
            for frame in passage.frames { video(frame) }
        }
        if passage.isNew { moved(source) }
        return passage.needsKeyframe
    }

    /// Whether the audio thread has made all cuts.
    var isAudioCut: Bool { state.withLock { $0.audioCuts == $0.cuts } }

    /// Takes a tick of the mix with its room time.
    func take(_ samples: [Float], at time: Int64) {
        audio(isAudioCut ? samples : [Float](repeating: 0, count: samples.count), time)
    }
}
