package import Basics
import Dispatch

/// Takes what each participant sends, for files beside a recording, and puts the pictures on the clock of the audio.
///
/// The audio of a moment is played later than it was captured, by a jitter buffer's delay. A picture of the same moment
/// waits here until that audio is played, and gets its time; one that comes later, as repaired ones do, gets the time at
/// which that audio was played. No call waits for the disk.
package final class RecordingTracks: Sendable {
    /// A participant's part of a tick of audio.
    package struct Voice: Sendable {
        package var participant: String
        /// 20 ms from the tick on, before the mix; nil: silence.
        package var samples: [Float]?
        /// From the capture of the first sample to the tick; nil: nothing is played.
        package var delay: Duration?

        package init(participant: String, samples: [Float]?, delay: Duration?) {
            self.participant = participant
            self.samples = samples
            self.delay = delay
        }
    }

    /// A frame that a participant sent.
    package struct Picture: Sendable {
        package var participant: String
        /// Whether it is of the second video section, which sends screens.
        package var isScreen: Bool
        /// What it shows: a camera's section may send a screen too.
        package var kind: RecordingTrack.Kind
        package var frame: EncodedVideoFrame
        package var rotation: Rotation
        /// The room time of its capture.
        package var captureTime: Instant
        package var arrival: Instant

        package init(
            participant: String, isScreen: Bool, kind: RecordingTrack.Kind, frame: EncodedVideoFrame,
            rotation: Rotation, captureTime: Instant, arrival: Instant
        ) {
            self.participant = participant
            self.isScreen = isScreen
            self.kind = kind
            self.frame = frame
            self.rotation = rotation
            self.captureTime = captureTime
            self.arrival = arrival
        }
    }

    private struct Source {
        /// Frames whose audio is not played yet.
        var waiting: [Picture] = []
        var awaitsKeyframe = true
    }

    private struct State {
        var sources: [TrackSource: Source] = [:]
        var delays: [String: PlayedAudio] = [:]
        var isPaused = false
        var isOver = false
        var losses = RecordingLosses()
    }

    /// The longest wait for the audio, and the most by which a picture's time may differ from the present: a jitter buffer
    /// delays by at most 250 ms, but a busy sender's audio may leave it later than its pictures.
    private static let longestWait = Duration.seconds(1)
    /// The most frames of one source that wait: more than any camera sends in that time.
    private static let mostWaiting = 128
    private static let tick = Duration.milliseconds(20)

    private let backlog: RecordingBacklog
    private let state = Guarded(State())
    /// Runs a batch of `bytes` on the recorder's queue, and releases them then.
    private let post: @Sendable (TrackBatch, _ bytes: Int) -> Void

    init(_ backlog: RecordingBacklog, post: @escaping @Sendable (TrackBatch, Int) -> Void) {
        self.backlog = backlog
        self.post = post
    }

    /// The media that was dropped so far because the disk was too slow.
    var losses: RecordingLosses { state.withLock { $0.losses } }

    /// Takes a tick of all who are recorded; `timestamp` is its room time at 48 kHz. The tracks of all others end.
    package func append(_ voices: [Voice], timestamp: Int64) {
        let now = Instant(ticks: timestamp, at: 48_000)
        let batch: (TrackBatch, Int)? = state.withLock { state in
            if state.isOver || state.isPaused { return nil }
            var bytes = 0
            var batch = TrackBatch(time: timestamp &* 15, voices: [], frames: [])
            for voice in voices {
                if let delay = voice.delay {
                    state.delays[voice.participant, default: PlayedAudio(first: delay)].played(delay, at: now)
                }
                var samples = voice.samples
                if let count = samples.map({ $0.count * MemoryLayout<Float>.stride }) {
                    if backlog.take(count) {
                        bytes += count
                    } else {
                        state.losses.audio += 1
                        samples = nil
                    }
                }
                batch.voices.append(TrackBatch.Voice(participant: voice.participant, samples: samples))
            }
            let present = Set(voices.map(\.participant))
            for source in state.sources.keys {
                bytes += release(source, isPresent: present.contains(source.participant), at: now, &state, &batch)
            }
            return (batch, bytes)
        }
        if let (batch, bytes) = batch { post(batch, bytes) }
    }

    /// Takes a frame. Returns whether it is of no use and a keyframe is needed.
    package func append(_ picture: Picture) -> Bool {
        let source = TrackSource(participant: picture.participant, isScreen: picture.isScreen)
        return state.withLock { state in
            if state.isOver { return false }
            var known = state.sources.removeValue(forKey: source) ?? Source()
            defer { state.sources[source] = known }
            if state.isPaused {
                known.awaitsKeyframe = true
                return false
            }
            if known.awaitsKeyframe, !picture.frame.isKeyframe { return true }
            guard known.waiting.count < Self.mostWaiting, backlog.take(picture.frame.data.count) else {
                state.losses.video += 1
                known.awaitsKeyframe = true
                return false
            }
            known.awaitsKeyframe = false
            known.waiting.append(picture)
            return false
        }
    }

    /// Nothing is taken until `resume`.
    func pause() {
        state.withLock { state in
            state.isPaused = true
            forget(&state)
        }
    }

    func resume() { state.withLock { $0.isPaused = false } }

    func end() {
        state.withLock { state in
            state.isOver = true
            forget(&state)
        }
    }

    /// The recorder could not use a frame of this source.
    func needsKeyframe(_ source: TrackSource) { state.withLock { $0.sources[source]?.awaitsKeyframe = true } }

    private func forget(_ state: inout State) {
        for source in state.sources.values {
            for picture in source.waiting { backlog.done(picture.frame.data.count) }
        }
        state.sources = [:]
    }

    /// Moves the frames into the batch whose audio is played by now. Returns their bytes.
    private func release(
        _ source: TrackSource, isPresent: Bool, at now: Instant, _ state: inout State, _ batch: inout TrackBatch
    ) -> Int {
        guard var known = state.sources.removeValue(forKey: source) else { return 0 }
        if !isPresent {
            // A later picture of this participant needs a keyframe of its own.
            for picture in known.waiting { backlog.done(picture.frame.data.count) }
            state.delays[source.participant] = nil
            return 0
        }
        var bytes = 0
        var count = 0
        for picture in known.waiting {
            let audio = state.delays[source.participant] ?? PlayedAudio(first: picture.arrival - picture.captureTime)
            state.delays[source.participant] = audio
            let time = audio.time(of: picture.captureTime)
            guard time < now + Self.tick || now - picture.arrival > Self.longestWait else { break }
            count += 1
            bytes += picture.frame.data.count
            // A sender with contradictory clocks: its pictures come when they arrive.
            let isPlausible = time > now - Self.longestWait && time < now + Self.longestWait
            batch.frames.append(
                TrackBatch.Frame(
                    source: source, kind: picture.kind, frame: picture.frame, rotation: picture.rotation,
                    time: (isPlausible ? time : now).ticks(at: RecordingSession.ticksPerSecond)))
        }
        known.waiting.removeFirst(count)
        state.sources[source] = known
        return bytes
    }
}
