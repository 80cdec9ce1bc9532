import Basics
import Dispatch
import Glibc

/// The work on a recorder's queue: it runs one session after the other, closes their files and handles failures.
///
/// `@unchecked Sendable`: only the recorder's serial queue accesses the variables; the state that closing threads
/// access is in a `Guarded`.
final class RecorderWork: @unchecked Sendable {
    struct Shape: Sendable {
        var file: String
        var width: Int
        var height: Int
        var framesPerSecond: Double
        var audio: RecordingAudio
        var fragment: Duration
        var limits: RecordingLimits
        var sizeMayChange = false
        var content = RecordingContent()
        var disk = RecordingDisk.system
        var reserve: DiskReserve?
        var labels: RecordingLabels?
    }

    private let shape: Shape
    private let onKeyframeNeeded: @Sendable () -> Void
    private let onParts: @Sendable ([RecordingPart]) -> Void
    private let onTracks: @Sendable ([RecordingTrack]) -> Void
    private let onFailure: @Sendable (RecordingError) -> Void
    private var sink: FileSink
    private var session: RecordingSession
    private var partNumber = 1
    private var failure: RecordingError?
    private var result: Result<RecordingSummary, RecordingError>?
    /// The length of the closed parts.
    private var earlierLength: RecordingSession.Time = 0
    private var earlierBytes = 0
    private var earlierFrames = 0
    /// Whether the keyframe is requested with which the next part begins.
    private var awaitsPart = false
    /// nil until the first event.
    private var timeline: TimelineLog?
    private var clock = TrackClock()
    private var tracks: TrackFiles?
    private let closing = DispatchGroup()
    private let closed = Guarded<[Int: Result<RecordingReport, RecordingError>]>([:])

    init(
        _ shape: Shape, onKeyframeNeeded: @escaping @Sendable () -> Void,
        onParts: @escaping @Sendable ([RecordingPart]) -> Void,
        onTracks: @escaping @Sendable ([RecordingTrack]) -> Void,
        onFailure: @escaping @Sendable (RecordingError) -> Void
    ) throws(RecordingError) {
        self.shape = shape
        self.onKeyframeNeeded = onKeyframeNeeded
        self.onParts = onParts
        self.onTracks = onTracks
        self.onFailure = onFailure
        sink = try FileSink(path: shape.file, disk: shape.disk, reserve: shape.reserve)
        session = try Self.makeSession(shape, sink, shape.labels)
    }

    private static func makeSession(
        _ shape: Shape, _ sink: FileSink, _ labels: RecordingLabels?
    ) throws(RecordingError) -> RecordingSession {
        try RecordingSession(
            sink: sink, width: shape.width, height: shape.height, framesPerSecond: shape.framesPerSecond,
            audio: shape.audio, fragment: shape.fragment, sizeMayChange: shape.sizeMayChange,
            hasVideo: !shape.content.audioOnly, labels: labels)
    }

    var duration: Duration { .seconds(earlierLength + session.length) / RecordingSession.ticksPerSecond }

    func append(_ video: EncodedVideoFrame) {
        attempt { () throws(RecordingError) in
            if !shape.content.audioOnly, isSegmentDue(at: video.timestamp &* 8) {
                if video.isKeyframe { try startNextPart(at: video.timestamp &* 8) } else { awaitPart() }
            }
            try session.append(video)
            if session.isWaiting { onKeyframeNeeded() }
            try followClock(at: video.timestamp &* 8)
            try checkLimits()
        }
    }

    func append(audio samples: [Float], timestamp: Int64) {
        attempt { () throws(RecordingError) in
            let time = timestamp &* 15
            guard shape.content.audioOnly else { return try session.append(audio: samples, time: time) }
            if isSegmentDue(at: time) { try startNextPart(at: time) }
            try session.append(audio: samples, time: time)
            try followClock(at: time)
            try checkLimits()
        }
    }

    private func checkLimits() throws(RecordingError) {
        let size = earlierBytes + sink.byteCount + (tracks?.bytes ?? 0)
        if let reached = shape.limits.reached(length: duration, size: size) { throw reached }
    }

    // MARK: - Tracks

    /// Tells the tracks' clock that the recording has the media of `time`.
    private func followClock(at time: RecordingSession.Time) throws(RecordingError) {
        guard let tracks, session.isRunning, let zero = session.zero else { return }
        clock.runs(at: time, origin: zero - earlierLength)
        try tracks.settle(clock)
    }

    /// Begins to write tracks. The callback is called on the recorder's queue.
    func beginTracks(onKeyframeNeeded: @escaping (TrackSource) -> Void) {
        tracks = TrackFiles(
            base: base, disk: shape.disk, reserve: shape.reserve, onKeyframeNeeded: onKeyframeNeeded,
            labels: shape.labels, onChange: onTracks)
    }

    func append(_ batch: TrackBatch) {
        attempt { () throws(RecordingError) in try tracks?.take(batch, clock) }
    }

    func set(names: [String: String]) { tracks?.set(names: names) }

    func pause(at instant: Instant) {
        attempt { () throws(RecordingError) in
            let time = instant.ticks(at: RecordingSession.ticksPerSecond)
            clock.pause(at: time)
            try session.pause(at: time)
        }
    }

    func resume(at instant: Instant) {
        let time = instant.ticks(at: RecordingSession.ticksPerSecond)
        clock.resume(at: time)
        session.resume(at: time)
        onKeyframeNeeded()
    }

    /// Notes what happened at `instant`. The time of the event itself is not used.
    func note(_ event: TimelineEvent, at instant: Instant) {
        guard failure == nil, result == nil else { return }
        let log = timeline ?? TimelineLog(path: base + TimelineLog.suffix, disk: shape.disk)
        timeline = log
        var event = event
        let time = earlierLength + session.contentTime(instant.ticks(at: RecordingSession.ticksPerSecond))
        event.at = (Double(time) / Double(RecordingSession.ticksPerSecond)).toMilliseconds
        log.append(event)
    }

    /// The chapters of the part that begins at `start` seconds.
    private func chapters(from start: Double) -> [RecordingChapter] {
        guard let events = timeline?.events else { return [] }
        return RecordingChapter.part(of: RecordingChapter.chapters(of: events, duration: .infinity), from: start)
    }

    func finish() -> Result<RecordingSummary, RecordingError> {
        if let result { return result }
        attempt { () throws(RecordingError) in
            try session.finish()
            try tracks?.finish()
        }
        if failure == nil { closePart(inBackground: false) }
        closing.wait()
        let made = summary()
        if let timeline, case .success(let summary) = made {
            TimelineFiles.write(
                RecordingTimeline(timeline.events, duration: summary.duration.roundedSeconds), base: base, shape.disk)
        }
        timeline?.remove()
        result = made
        return made
    }

    private func attempt(_ body: () throws(RecordingError) -> Void) {
        guard failure == nil, result == nil else { return }
        do throws(RecordingError) {
            try body()
        } catch {
            failure = error
            if !error.isLimit || !finishSession() { session.abandon() }
            tracks?.abandon()
            closePart(inBackground: false)
            onFailure(error)
        }
    }

    /// Writes what waits for its successor. Returns false where the disk does not take it.
    private func finishSession() -> Bool {
        do throws(RecordingError) {
            try session.finish()
            return true
        } catch {
            return false
        }
    }

    private func isSegmentDue(at time: RecordingSession.Time) -> Bool {
        shape.limits.segment > .zero && session.isRunning
            && session.position(of: time) >= shape.limits.segment.nanoseconds * 9 / 12_500
    }

    /// Requests the keyframe with which the next part begins, once.
    private func awaitPart() {
        if !awaitsPart { onKeyframeNeeded() }
        awaitsPart = true
    }

    private func startNextPart(at cut: RecordingSession.Time) throws(RecordingError) {
        let audioAhead = try session.finish(at: cut)
        closePart(inBackground: true)
        earlierLength += session.length
        earlierBytes += sink.byteCount
        earlierFrames += session.frameCount
        awaitsPart = false
        partNumber += 1
        sink = try FileSink(path: path(partNumber), disk: shape.disk, reserve: shape.reserve)
        session = try Self.makeSession(shape, sink, shape.labels?.now())
        session.adopt(audioAhead)
    }

    /// `name.mp4`, `name-2.mp4`, `name-3.mp4` …
    private func path(_ part: Int) -> String {
        RecordingFile.part(part, of: shape.file)
    }

    /// The path without its suffix.
    private var base: String { RecordingFile.base(shape.file) ?? shape.file }

    /// Ends the part's file and converts it to an ordinary MP4.
    private func closePart(inBackground: Bool) {
        sink.finish()
        let path = sink.path
        let number = partNumber
        if sink.safeByteCount == 0 {
            unlink(path)
            closed.withLock { $0[number] = .failure(.nothingRecorded(path: path)) }
            return
        }
        if sink.failure == .gone(path: path) {
            // A file that is at the path now is not the recorder's.
            closed.withLock { $0[number] = .failure(.gone(path: path)) }
            return
        }
        let reserve = shape.reserve
        let claim = sink.indexClaim
        let chapters = chapters(from: Double(earlierLength) / Double(RecordingSession.ticksPerSecond))
        let close: @Sendable () -> Void = { [self] in
            let outcome = Result { () throws(RecordingError) in try Self.close(path, reserve, chapters) }
            let parts = closed.withLock { closed in
                closed[number] = outcome
                return Self.completeParts(closed)
            }
            withExtendedLifetime(claim) {}
            onParts(parts)
        }
        if inBackground {
            DispatchQueue.global(qos: .utility).async(group: closing, execute: DispatchWorkItem(block: close))
        } else {
            close()
        }
    }

    /// Closes a file. Where not even the index can be written, the fragments stay playable, and a later start closes
    /// them.
    private static func close(
        _ path: String, _ reserve: DiskReserve?, _ chapters: [RecordingChapter]
    ) throws(RecordingError) -> RecordingReport {
        do throws(RecordingError) {
            return try MP4Closing.close(path, reserve: reserve, chapters: chapters)
        } catch {
            switch error {
            case .diskFull, .writeFailed, .notWritable: return try RecordingRepair.check(file: path)
            default: throw error
            }
        }
    }

    /// The parts that are complete, up to the first one that is still being closed.
    private static func completeParts(_ closed: [Int: Result<RecordingReport, RecordingError>]) -> [RecordingPart] {
        (1...).lazy.map { closed[$0] }.prefix { $0 != nil }.compactMap { try? $0?.get().part }
    }

    private func summary() -> Result<RecordingSummary, RecordingError> {
        var summary = RecordingSummary(
            file: shape.file, files: [], duration: .zero, bytes: 0, tracks: [], failure: failure)
        var firstError: RecordingError?
        for (_, outcome) in closed.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            switch outcome {
            case .success(let report):
                summary.files.append(report.file)
                summary.parts.append(report.part)
                summary.duration += report.duration
                summary.bytes += report.bytes
                summary.tracks = report.tracks.map(\.codec)
            case .failure(let error): firstError = firstError ?? error
            }
        }
        guard !summary.files.isEmpty else {
            return .failure(failure ?? firstError ?? .nothingRecorded(path: shape.file))
        }
        if summary.failure == nil, case .nothingRecorded? = firstError {
        } else {
            summary.failure = failure ?? firstError
        }
        summary.frameCount = earlierFrames + session.frameCount
        tracks?.removeEmpty()
        summary.participantTracks = tracks?.list ?? []
        return .success(summary)
    }
}
