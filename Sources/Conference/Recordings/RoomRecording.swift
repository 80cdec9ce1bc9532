import Basics
import Codecs
import FoundationEssentials
import Peer
import Recording
import RoomMedia
import Threads

/// One recording of one room: the frames of the top rendition and the full mix, with the times of the server's clock,
/// and where it is asked for what each participant sends.
final class RoomRecording: Sendable {
    let id: String
    /// The participant who started it; nil: an administrator or the configuration.
    let startedBy: String?
    /// The view whose picture it takes; nil: it is audio alone.
    let view: ViewID?
    /// The breakout group that it is of.
    let group: GroupID
    let content: RecordingContent
    let startedAt = MonotonicClock.now()
    let path: String
    private let recorder: MP4Recorder
    private let catalogue: RecordingCatalogue
    private let control: RecordingControl
    private let state: Guarded<State>

    private struct State {
        var info: RecordingInfo
        /// Nobody is in the room any more.
        var isResting = false
        var tap: RoomTap?
        /// Ends what the tracks take.
        var endTracks: (@Sendable () -> Void)?
        var names: [String: String] = [:]
        var overload = OverloadTime()
        /// One mark a second, and ten at once.
        var marks = TokenBucket(rate: 1, size: 10, at: MonotonicClock.now())
        /// Why the server ended the recording.
        var reason: RecordingError?
        /// The running finish, for which all callers wait.
        var finish: Task<RecordingInfo, Never>?

        /// Whether media is recorded now.
        var isRunning: Bool { info.state == .recording && !isResting }
    }

    init(
        _ entry: RecordingEntry, of view: ViewID?, framesPerSecond: Int, content: RecordingContent, startedBy: String?,
        recorder: MP4Recorder, catalogue: RecordingCatalogue,
        control: RecordingControl
    ) {
        id = entry.id
        self.view = view
        group = GroupID(entry.group?.number ?? 0)
        self.content = content
        self.startedBy = startedBy
        self.recorder = recorder
        self.catalogue = catalogue
        self.control = control
        path = recorder.file
        var info = RecordingInfo(
            id: entry.id, room: entry.room, file: entry.file, state: .recording, startedAt: entry.beganAt,
            view: view?.name, audioOnly: content.audioOnly, delivery: entry.delivery)
        info.group = entry.group
        info.continues = entry.continues
        if view != nil { info.frames = RecordingFrames(wanted: Double(framesPerSecond), overloaded: 0) }
        state = Guarded(State(info: info))
        control.add(self)
    }

    var info: RecordingInfo {
        var info = state.withLock { $0.info }
        info.dropped = losses
        return info
    }

    var losses: RecordingLosses { recorder.losses }

    /// Notes in the timeline what changed in the room, with `old` nil what is so at the recording's start.
    ///
    /// - Parameter old: nil: the recording starts.
    func follow(_ room: Room, since old: Room?) {
        let events = TimelineNotes.events(room, since: old, in: view ?? .main(of: group))
        if content.tracks { follow(names: Dictionary(room.members.map { ($0.id, $0.name) }) { $1 }) }
        // A start is at the beginning, even where the recording has media from before.
        let now = old == nil ? Instant.zero : MonotonicClock.now()
        for event in events { recorder.note(event, at: now) }
    }

    private func follow(names: [String: String]) {
        let isNew = state.withLock { state in
            defer { state.names = names }
            return state.names != names
        }
        if isNew { recorder.set(names: names) }
    }

    /// Sets a mark. Returns the time to wait where there are too many.
    func mark(_ text: String, by participant: String?, at now: Instant) -> Duration? {
        let wait = state.withLock { state in state.marks.take(at: now) ? nil : state.marks.wait(at: now) }
        if wait == nil { recorder.note(TimelineEvent(.mark, participant: participant, name: text), at: now) }
        return wait
    }

    /// Takes over the parts that are complete, and stores them.
    func note(_ parts: [RecordingPart]) {
        let isMore = state.withLock { state in
            // Parts are closed side by side, so an older list may come later.
            guard state.finish == nil, parts.count > state.info.files.count else { return false }
            state.info.files = parts
            return true
        }
        if isMore { save() }
    }

    /// Takes over the files of tracks, and stores them.
    func note(_ tracks: [RecordingTrack]) {
        let isRunning = state.withLock { state in
            state.info.tracks = tracks
            return state.finish == nil
        }
        if isRunning { save() }
    }

    /// Stores the parts and the losses if there are new losses.
    func noteLosses() {
        let losses = losses
        let isNew = state.withLock { state in
            defer { state.info.dropped = losses }
            return state.info.dropped != losses
        }
        if isNew { save() }
    }

    /// Counts the time in which the server is overloaded and media is recorded. Called once a second.
    func noteOverload(_ isOverloaded: Bool, at now: Instant) {
        let isNew = state.withLock { state in
            let isRecording = state.isRunning && state.finish == nil && state.info.frames != nil
            let isNew = state.overload.note(isOverloaded, isRecording: isRecording, at: now)
            state.info.frames?.overloaded = state.overload.total.inSeconds
            return isNew
        }
        // Stored where it begins and where it ends, so that it is known after a crash.
        if isNew { save() }
    }

    private func save() {
        control.lane.submit(replacing: "note \(id)") { [self] in
            let info = info
            try? catalogue.note(id) { entry in
                entry.parts = info.files
                entry.tracks = info.tracks.isEmpty ? nil : info.tracks
                entry.dropped = info.dropped.isEmpty ? nil : info.dropped
                entry.frames = info.frames
                entry.preRoll = info.preRoll > .zero ? info.preRoll.roundedSeconds : nil
            }
        }
    }

    /// The path of a track, counted from 1, while the recording runs.
    func path(ofTrack track: Int) -> String? {
        let tracks = info.tracks
        return tracks.indices.contains(track - 1) ? catalogue.directory + "/" + tracks[track - 1].file : nil
    }

    /// The path of a complete part, counted from 1, while the recording runs.
    func path(ofPart part: Int) -> String? {
        let files = info.files
        return files.indices.contains(part - 1) ? catalogue.directory + "/" + files[part - 1].file : nil
    }

    /// The scene of `engine` uses the view already.
    ///
    /// - Parameter preRoll: what was kept of the same view; the recording begins with it.
    ///
    /// - Returns: whether the pre-roll is used up.
    func attach(to engine: RoomEngine, taking preRoll: RoomPreRoll? = nil) -> Bool {
        defer { attachTracks(to: engine) }
        let (recorder, name) = (recorder, "recording-\(id)")
        guard let view else {
            let tap = engine.tapAudio(name, of: group) { recorder.append(audio: $0, timestamp: $1) }
            state.withLock { $0.tap = tap }
            return false
        }
        if let preRoll, preRoll.view == view, let taken = preRoll.hand(to: recorder, at: MonotonicClock.now()) {
            state.withLock { state in
                state.tap = taken.tap
                state.info.preRoll = taken.length
            }
            save()
            return true
        }
        let tap = engine.tap(
            name, view, video: { recorder.append($0) }, audio: { recorder.append(audio: $0, timestamp: $1) })
        state.withLock { $0.tap = tap }
        return false
    }

    private func attachTracks(to engine: RoomEngine) {
        guard let tracks = recorder.tracks else { return }
        let voices: @Sendable ([TrackVoice], Int64) -> Void = { voices, timestamp in
            tracks.append(voices.map { RecordingTracks.Voice($0) }, timestamp: timestamp)
        }
        let picture: @Sendable (TrackPicture) -> Bool = { tracks.append(RecordingTracks.Picture($0)) }
        let tap = TrackTap(voices: voices, picture: content.audioOnly ? nil : picture)
        let end = engine.tapTracks("tracks-\(id)", of: group, tap)
        state.withLock { $0.endTracks = end }
    }

    func requestKeyframe() { state.withLock { $0.tap }?.requestKeyframe(isUrgent: true) }

    func pause(at now: Instant) -> RecordingInfo {
        change(at: now) { state in
            if state.info.state == .recording { state.info.state = .paused }
        }
        return info
    }

    func resume(at now: Instant) -> RecordingInfo {
        change(at: now) { state in
            if state.info.state == .paused { state.info.state = .recording }
        }
        return info
    }

    /// Records nothing while nobody is in the room, and goes on when somebody comes again, unless it is paused. The
    /// state that clients see stays the same.
    func rest(_ isEmpty: Bool, at now: Instant) {
        change(at: now) { $0.isResting = isEmpty }
    }

    private func change(at now: Instant, _ body: (inout State) -> Void) {
        let (was, isRunning) = state.withLock { state in
            let was = state.isRunning
            body(&state)
            return (was, state.isRunning)
        }
        if was, !isRunning { recorder.pause(at: now) }
        if !was, isRunning {
            recorder.resume(at: now)
            requestKeyframe()
        }
    }

    /// Notes why the server ends the recording; `finish` follows.
    func end(because reason: RecordingError) { state.withLock { $0.reason = $0.reason ?? reason } }

    /// Ends the recording's tap and closes the file. Returns when the file is complete.
    func finish(by end: RecordingEnd = .stopped) async -> RecordingInfo {
        let task = state.withLock { state in
            if let running = state.finish { return running }
            state.info.endedBy = end
            state.info.endedAt = Date(timeIntervalSince1970: RecordingEntry.seconds(Date()))
            state.tap?.end()
            state.tap = nil
            state.endTracks?()
            state.endTracks = nil
            let task = Task { await self.close() }
            state.finish = task
            return task
        }
        return await task.value
    }

    private func close() async -> RecordingInfo {
        let result: Result<RecordingSummary, RecordingError>
        do throws(RecordingError) {
            let made = try await recorder.finish()
            var summary = made
            summary.frames = state.withLock { state in
                state.info.frames?.finish(count: made.frameCount, duration: made.duration.inSeconds)
                return state.info.frames
            }
            summary.failure = state.withLock { $0.reason } ?? summary.failure
            result = .success(summary)
        } catch {
            result = .failure(error)
        }
        state.withLock { state in
            switch result {
            case .success(let summary):
                state.info.duration = summary.duration
                state.info.bytes = summary.bytes
                state.info.files = summary.parts
                state.info.tracks = summary.participantTracks
                state.info.failure = summary.failure?.publicDescription
                state.info.state = summary.failure.map(\.isOrderlyEnd) ?? true ? .finished : .failed
            case .failure(let error):
                state.info.failure = (state.reason ?? error).publicDescription
                state.info.state = .failed
            }
        }
        // A full disk that refuses the sidecar does not make the recording a failed one.
        let info = info
        await control.lane.perform { [self] in
            _ = try? catalogue.finish(id, result, by: info.endedBy, at: info.endedAt)
        }
        control.remove(self)
        return info
    }
}

extension RecordingTracks.Voice {
    init(_ taken: TrackVoice) {
        self.init(participant: taken.participant, samples: taken.samples, delay: taken.delay)
    }
}

extension RecordingTracks.Picture {
    init(_ taken: TrackPicture) {
        self.init(
            participant: taken.participant, isScreen: taken.source == .screen,
            kind: taken.isScreen ? .screen : .camera, frame: taken.received.frame, rotation: taken.received.rotation,
            captureTime: taken.received.captureTime, arrival: taken.received.arrival)
    }
}
