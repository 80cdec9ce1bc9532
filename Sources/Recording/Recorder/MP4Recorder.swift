package import Basics
import Dispatch

/// Records one H.264 stream and one audio stream, or audio alone, to an MP4 that survives a crash at any moment.
///
/// Until `finish` the file is fragmented, and media is on the disk at most about a second after it was appended;
/// `finish` converts it to an ordinary MP4. The work runs on a queue of its own, so no call waits for the disk.
package final class MP4Recorder: Sendable {
    /// The path of the first (or only) part.
    package let file: String

    private let queue = DispatchQueue(label: "recorder", qos: .utility)
    private let backlog: RecordingBacklog
    private let work: RecorderWork
    /// Takes what each participant sends; nil where no tracks are written.
    package let tracks: RecordingTracks?

    /// Creates the file at once, so that an unwritable directory is an error here. The first keyframe of `width` ×
    /// `height` starts the recording. Callbacks are called on the recorder's queue, except `onParts`.
    ///
    /// - Parameters:
    ///   - limits: when a new file begins, and when the recording ends: `onFailure` is called then too.
    ///   - sizeMayChange: whether later keyframes of another size go into the same track, whose parameter sets are then
    ///     in-band (`avc3`); otherwise such frames are dropped.
    ///   - content: what is written. Of audio alone a file begins with any block, and frames are ignored.
    ///   - memory: the memory for media that waits for the disk, shared by all recordings.
    ///   - reserve: the space to be left free on the disk; without it the recording ends with `lowSpace`.
    ///   - labels: what the files say of themselves.
    ///   - onKeyframeNeeded: called when the recording can go on only with a keyframe.
    ///   - onParts: called with all parts that are complete, whenever there is one more; on any thread.
    ///   - onTracks: called with all files of tracks, whenever one begins or ends.
    ///   - onFailure: called at most once, after the file was closed as far as possible.
    package init(
        file: String, width: Int, height: Int, framesPerSecond: Double, audio: RecordingAudio = .aac,
        fragment: Duration = .seconds(1), limits: RecordingLimits = RecordingLimits(),
        sizeMayChange: Bool = false, content: RecordingContent = RecordingContent(), disk: RecordingDisk = .system,
        reserve: DiskReserve? = nil, memory: RecordingMemory = RecordingMemory(), labels: RecordingLabels? = nil,
        onKeyframeNeeded: @escaping @Sendable () -> Void = {},
        onParts: @escaping @Sendable ([RecordingPart]) -> Void = { _ in },
        onTracks: @escaping @Sendable ([RecordingTrack]) -> Void = { _ in },
        onFailure: @escaping @Sendable (RecordingError) -> Void
    ) throws(RecordingError) {
        self.file = file
        let shape = RecorderWork.Shape(
            file: file, width: width, height: height, framesPerSecond: framesPerSecond, audio: audio,
            fragment: fragment, limits: limits, sizeMayChange: sizeMayChange, content: content, disk: disk,
            reserve: reserve, labels: labels)
        backlog = RecordingBacklog(memory)
        let work = try RecorderWork(
            shape, onKeyframeNeeded: onKeyframeNeeded, onParts: onParts, onTracks: onTracks, onFailure: onFailure)
        self.work = work
        guard content.tracks else {
            tracks = nil
            return
        }
        // A limit of their own, so that many tracks cost none of the recording itself.
        let backlog = RecordingBacklog(memory)
        let tracks = RecordingTracks(backlog) { [queue] batch, bytes in
            queue.async {
                work.append(batch)
                backlog.done(bytes)
            }
        }
        self.tracks = tracks
        queue.async { [weak tracks] in work.beginTracks { tracks?.needsKeyframe($0) } }
    }

    /// The media that was dropped so far because the disk was too slow.
    package var losses: RecordingLosses { backlog.losses + (tracks?.losses ?? RecordingLosses()) }

    /// Appends an H.264 access unit with its room time.
    package func append(_ video: EncodedVideoFrame) {
        let size = video.data.count
        if backlog.takeFrame(size, isKeyframe: video.isKeyframe) { run(size) { $0.append(video) } }
    }

    /// Appends mono samples at 48 kHz; `timestamp` is the room time in samples.
    package func append(audio samples: [Float], timestamp: Int64) {
        let size = samples.count * MemoryLayout<Float>.stride
        if backlog.takeAudio(size) { run(size) { $0.append(audio: samples, timestamp: timestamp) } }
    }

    /// Appends media from before the start; its memory is that of the pre-roll.
    func append(_ kept: PreRollBuffer) {
        run(0) { kept.append(to: $0) }
    }

    /// Pauses the recording at `instant`.
    package func pause(at instant: Instant) {
        tracks?.pause()
        run(0) { $0.pause(at: instant) }
    }

    /// Resumes the recording with the first keyframe after `instant`. The file has no gap at the pause.
    package func resume(at instant: Instant) {
        run(0) { $0.resume(at: instant) }
        tracks?.resume()
    }

    /// Sets the names of participants, by their ids, for tracks that begin from now on, and for those that have none yet.
    package func set(names: [String: String]) {
        if tracks != nil { run(0) { $0.set(names: names) } }
    }

    /// Notes what happened at `instant`, for the chapters of the file and for the timeline beside it.
    package func note(_ event: TimelineEvent, at instant: Instant) {
        run(0) { $0.note(event, at: instant) }
    }

    /// The length of the recording so far, without pauses.
    package func duration() async -> Duration {
        await withCheckedContinuation { continuation in
            queue.async { [work] in continuation.resume(returning: work.duration) }
        }
    }

    /// Closes the file as an ordinary MP4. Later calls return the same result.
    ///
    /// After a failure the summary describes the saved part, and its `failure` holds the reason.
    package func finish() async throws(RecordingError) -> RecordingSummary {
        tracks?.end()
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
