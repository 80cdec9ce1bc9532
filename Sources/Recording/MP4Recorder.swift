public import Basics
import Dispatch

/// Records one H.264 stream and one sound into an MP4 that survives a crash at any moment.
///
/// Until `finish` the file is one of fragments, each on the disk at most about a second after it happened; `finish`
/// turns it into an ordinary MP4 with its index in front. Work runs on a queue of its own: no call waits for the disk.
public final class MP4Recorder: Sendable {
    /// Where the first (or only) part is written.
    public let file: String

    private let queue = DispatchQueue(label: "recorder", qos: .utility)
    private let backlog: RecordingBacklog
    private let work: RecorderWork

    /// Makes the file at once, so that a directory that cannot be written is an error here.
    ///
    /// The first keyframe of `width` × `height` starts the recording. `segment`: a new file (`name-2.mp4` …) at the
    /// first keyframe after that time, 0 for one file. `sizeMayChange`: later keyframes of another size go into the
    /// same track, which brings its parameter sets along (`avc3`); otherwise they are left out. `onKeyframeNeeded` is
    /// called when a keyframe would let it go on. Both callbacks come on the recorder's queue; `onFailure` at most
    /// once, when the file is closed as well as can be. `reserve`: what is to be left free on the disk; where that is
    /// touched the recording ends with `lowSpace`. `memory`: what waits for the disk, of all recordings together.
    public init(
        file: String, width: Int, height: Int, framesPerSecond: Double, audio: RecordingAudio = .aac,
        fragment: Duration = .seconds(1), segment: Duration = .zero, sizeMayChange: Bool = false,
        disk: RecordingDisk = .system,
        reserve: DiskReserve? = nil, memory: RecordingMemory = RecordingMemory(),
        onKeyframeNeeded: @escaping @Sendable () -> Void = {}, onFailure: @escaping @Sendable (RecordingError) -> Void
    ) throws(RecordingError) {
        self.file = file
        let shape = RecorderWork.Shape(
            file: file, width: width, height: height, framesPerSecond: framesPerSecond, audio: audio,
            fragment: fragment, segment: segment, sizeMayChange: sizeMayChange, disk: disk, reserve: reserve)
        backlog = RecordingBacklog(memory)
        work = try RecorderWork(shape, onKeyframeNeeded: onKeyframeNeeded, onFailure: onFailure)
    }

    /// What was left out so far because the disk was too slow.
    public var losses: RecordingLosses { backlog.losses }

    /// Takes an H.264 access unit with its room time.
    public func append(_ video: EncodedVideoFrame) {
        let size = video.data.count
        if backlog.takeFrame(size, isKeyframe: video.isKeyframe) { run(size) { $0.append(video) } }
    }

    /// Takes mono samples; `timestamp` is room time at 48 kHz.
    public func append(audio samples: [Float], timestamp: Int64) {
        let size = samples.count * MemoryLayout<Float>.stride
        if backlog.takeAudio(size) { run(size) { $0.append(audio: samples, timestamp: timestamp) } }
    }

    /// Leaves out what happens from `instant` on …
    public func pause(at instant: Instant) {
        run(0) { $0.pause(at: instant) }
    }

    /// … until the first keyframe after this one. The file has no hole there.
    public func resume(at instant: Instant) {
        run(0) { $0.resume(at: instant) }
    }

    /// How long the recording is so far, without pauses.
    public func duration() async -> Duration {
        await withCheckedContinuation { continuation in
            queue.async { [work] in continuation.resume(returning: work.duration) }
        }
    }

    /// Closes the file into an ordinary MP4 with its index in front. Later calls give the same again.
    ///
    /// After a failure the summary (its `failure` says why) is of what could be saved.
    public func finish() async throws(RecordingError) -> RecordingSummary {
        let result = await withCheckedContinuation { continuation in
            queue.async { [work] in continuation.resume(returning: work.finish()) }
        }
        var summary = try result.get()
        summary.dropped = losses
        return summary
    }

    private func run(_ size: Int, _ body: @escaping @Sendable (RecorderWork) -> Void) {
        queue.async { [self] in
            body(work)
            if size > 0 { backlog.done(size) }
        }
    }
}
