package import Basics

/// Keeps the last media of a room in memory, so that a recording begins before it was started.
///
/// It holds encoded frames from a keyframe on, and the audio as 16-bit samples: encoded twice, the audio would lose
/// quality. Both are bounded by time and by memory; at either bound the oldest frames are dropped up to a keyframe.
package final class PreRoll: Sendable {
    private let length: Duration
    private let keyframeDistance: Duration
    private let memory: RecordingMemory
    private let onKeyframeNeeded: @Sendable () -> Void
    private let state = Guarded(State())

    private struct State {
        var frames: [EncodedVideoFrame] = []
        var audio: [PreRollBuffer.Block] = []
        var bytes = 0
        /// The recorder that has taken over; it gets all media from then on.
        var recorder: MP4Recorder?
        /// When a keyframe was requested last.
        var requested: Instant?
        var isOver = false
    }

    /// The longest `length`: with it a room of 1.5 Mbit/s stays within `RecordingMemory.defaultPerRecording`.
    package static let maxLength = Duration.seconds(90)
    /// Keyframes that come by themselves cost the participants 1 to 2 % of the rate at this distance.
    private static let longestKeyframeDistance = Duration.seconds(10)
    /// A recording begins with a keyframe, so that it has at least two thirds of the length.
    private static let keyframesInLength = 3
    /// Audio that is kept while there is no keyframe, or from before the first one: a picture takes longer to encode.
    private static let audioLead = Duration.seconds(1)

    /// - Parameters:
    ///   - length: the most media that is kept.
    ///   - memory: the memory for all rooms' media.
    ///   - onKeyframeNeeded: called, on the thread that appends, when the latest keyframe is too old.
    package init(length: Duration, memory: RecordingMemory, onKeyframeNeeded: @escaping @Sendable () -> Void) {
        self.length = length
        self.memory = memory
        self.onKeyframeNeeded = onKeyframeNeeded
        keyframeDistance = min(length / Self.keyframesInLength, Self.longestKeyframeDistance)
    }

    deinit { end() }

    /// Appends an H.264 access unit with its room time.
    package func append(_ frame: EncodedVideoFrame) {
        let needsKeyframe = state.withLock { state in
            if let recorder = state.recorder {
                recorder.append(frame)
                return false
            }
            if state.isOver { return false }
            drop(before: frame.time - length, &state)
            if keep(frame, &state) {
                let last = state.frames.last(where: \.isKeyframe) ?? frame
                if frame.time - last.time < keyframeDistance { return false }
            }
            // One request is enough, also where memory is short and no keyframe can be kept.
            if let requested = state.requested, frame.time - requested < keyframeDistance { return false }
            state.requested = frame.time
            return true
        }
        if needsKeyframe { onKeyframeNeeded() }
    }

    /// Appends mono samples at 48 kHz; `timestamp` is the room time in samples.
    package func append(audio samples: [Float], timestamp: Int64) {
        state.withLock { state in
            if let recorder = state.recorder { return recorder.append(audio: samples, timestamp: timestamp) }
            let block = PreRollBuffer.Block(samples, timestamp)
            if state.isOver || !take(block.bytes, &state) { return }
            state.audio.append(block)
            dropAudio(before: (state.frames.first?.time ?? block.time) - Self.audioLead, &state)
        }
    }

    /// Passes what is kept to `recorder`, and all later media as it comes.
    ///
    /// - Returns: the time from the first frame to `now`; zero where no frame is kept.
    @discardableResult
    package func hand(to recorder: MP4Recorder, at now: Instant) -> Duration {
        state.withLock { state in
            if state.isOver || state.recorder != nil { return .zero }
            drop(before: now - length, &state)
            let start = state.frames.first?.time
            recorder.append(PreRollBuffer(frames: state.frames, audio: state.audio, bytes: state.bytes, memory: memory))
            state = State(recorder: recorder)
            return start.map { max(now - $0, .zero) } ?? .zero
        }
    }

    /// Forgets everything and takes nothing any more.
    package func end() {
        state.withLock { state in
            memory.give(state.bytes)
            state = State(isOver: true)
        }
    }

    /// Bytes that are kept now.
    package var bytes: Int { state.withLock { $0.bytes } }

    /// Returns false where the frame is of no use: it needs one that is not kept, or there is no memory.
    private func keep(_ frame: EncodedVideoFrame, _ state: inout State) -> Bool {
        guard frame.isKeyframe || !state.frames.isEmpty, take(frame.data.count, &state) else { return false }
        if !frame.isKeyframe, state.frames.isEmpty {
            give(frame.data.count, &state)
            return false
        }
        state.frames.append(frame)
        return true
    }

    /// Counts `bytes` more; drops the oldest frames where there is no memory, and with the last ones also the audio.
    private func take(_ bytes: Int, _ state: inout State) -> Bool {
        while state.bytes + bytes > memory.perRecording || !memory.take(bytes) {
            guard let first = state.frames.first else {
                dropAudio(before: nil, &state)
                return false
            }
            drop(before: first.time + .nanoseconds(1), &state)
        }
        state.bytes += bytes
        return true
    }

    /// Drops the frames up to the first keyframe at or after `time`, and the audio before it.
    private func drop(before time: Instant, _ state: inout State) {
        guard let first = state.frames.first, first.time < time else { return }
        let end = state.frames.firstIndex { $0.isKeyframe && $0.time >= time } ?? state.frames.count
        let lastTime = state.frames.last?.time ?? time
        give(state.frames[..<end].reduce(0) { $0 + $1.data.count }, &state)
        state.frames.removeFirst(end)
        dropAudio(before: (state.frames.first?.time ?? lastTime) - Self.audioLead, &state)
    }

    /// - Parameter time: nil: all.
    private func dropAudio(before time: Instant?, _ state: inout State) {
        let end = time.map { time in state.audio.firstIndex { $0.time >= time } ?? state.audio.count }
        let count = end ?? state.audio.count
        if count == 0 { return }
        give(state.audio[..<count].reduce(0) { $0 + $1.bytes }, &state)
        state.audio.removeFirst(count)
    }

    private func give(_ bytes: Int, _ state: inout State) {
        state.bytes -= bytes
        memory.give(bytes)
    }
}

extension EncodedVideoFrame {
    /// The room time, to the microsecond.
    fileprivate var time: Instant { .zero + .microseconds(timestamp * 100 / 9) }
}
