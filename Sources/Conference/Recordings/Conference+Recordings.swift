import Basics
import Foundation
import Sockets
import Recording

extension Conference {
    /// Starts a recording of a room. The file is made at once, so that a directory that cannot be written is told here.
    @discardableResult
    public func startRecording(_ room: String) throws(ConferenceError) -> RecordingInfo {
        let known: (settings: RoomSettings, isRunning: Bool)? = state.locked { state in
            state.rooms[room].map { ($0.room.settings, $0.recording != nil) }
        }
        guard let known else { throw .roomNotFound(room) }
        if known.isRunning { throw .recordingRunning(room) }
        if isDraining { throw .draining }

        // The disk is asked without the lock.
        let recording = try makeRecording(room, known.settings)
        do {
            return try change(room) { slot throws(ConferenceError) in
                if slot.recording != nil { throw .recordingRunning(room) }
                // The size may have changed while the file was made.
                guard slot.room.settings.width == known.settings.width, slot.room.settings.height == known.settings.height else {
                    throw .recordingFailed("The size of the room changed just now: try again.")
                }
                recording.attach(to: slot.engine)
                slot.recording = recording
                slot.room.recording = recording.info
                return recording.info
            }
        } catch {
            let engine = state.locked { $0.rooms[room]?.engine }
            if let engine { Task { _ = await recording.finish(engine) } }
            throw error
        }
    }

    private func makeRecording(_ room: String, _ settings: RoomSettings) throws(ConferenceError) -> RoomRecording {
        let ladder = Ladder(
            configuration.video.renditions, width: settings.width, height: settings.height,
            framesPerSecond: settings.framesPerSecond)
        let top = ladder.rungs[0]
        do {
            let catalogue = try readyCatalogue()
            let entry = try catalogue.begin(room: room)
            let id = entry.id
            do {
                let recorder = try MP4Recorder(
                    file: catalogue.path(of: entry), width: top.width, height: top.height,
                    framesPerSecond: Double(top.framesPerSecond), audio: configuration.recording.audio == .aac ? .aac : .opus,
                    segment: configuration.recording.segment,
                    onKeyframeNeeded: { [weak self] in self?.keyframeForRecording(of: room) },
                    onFailure: { [weak self] error in
                        self?.control.post { [weak self] in self?.recordingFailed(id, "\(error)") }
                    })
                return RoomRecording(id: id, room: room, recorder: recorder, catalogue: catalogue, startedAt: entry.startedAt)
            } catch {
                catalogue.remove(id)
                throw error
            }
        } catch {
            throw .recordingFailed("\(error)")
        }
    }

    /// The directory's catalogue; where it could not be opened at the start it is tried again.
    private func readyCatalogue() throws(RecordingError) -> RecordingCatalogue {
        if let catalogue = catalogue.locked({ $0 }) { return catalogue }
        let made = try RecordingCatalogue(directory: configuration.recording.directory)
        catalogue.locked { $0 = made }
        return made
    }

    private func keyframeForRecording(of room: String) {
        let found = state.locked { state in state.rooms[room].flatMap { slot in slot.recording.map { ($0, slot.engine) } } }
        if let found { found.0.requestKeyframe(found.1) }
    }

    @discardableResult
    public func pauseRecording(_ id: String) throws(ConferenceError) -> RecordingInfo {
        try changeRecording(id) { recording, _ in recording.pause(at: MonotonicClock.now()) }
    }

    @discardableResult
    public func resumeRecording(_ id: String) throws(ConferenceError) -> RecordingInfo {
        try changeRecording(id) { recording, engine in recording.resume(at: MonotonicClock.now(), engine) }
    }

    private func roomOfRecording(_ id: String) throws(ConferenceError) -> String {
        let room = state.locked { state in state.rooms.first { $0.value.recording?.id == id }?.key }
        if let room { return room }
        throw recording(id) == nil ? .recordingNotFound(id) : .recordingNotRunning(id)
    }

    private func changeRecording(
        _ id: String, _ body: (RoomRecording, RoomEngine) -> RecordingInfo
    ) throws(ConferenceError) -> RecordingInfo {
        try change(try roomOfRecording(id)) { slot throws(ConferenceError) in
            guard let recording = slot.recording, recording.id == id else { throw .recordingNotFound(id) }
            let info = body(recording, slot.engine)
            slot.room.recording = info
            return info
        }
    }

    /// Returns when the file is complete.
    @discardableResult
    public func stopRecording(_ id: String) async throws(ConferenceError) -> RecordingInfo {
        if let known = recording(id), known.state == .finished || known.state == .failed { return known }
        let found = try change(try roomOfRecording(id)) { slot throws(ConferenceError) in
            guard let recording = slot.recording, recording.id == id else { throw .recordingNotFound(id) }
            slot.recording = nil
            slot.room.recording = nil
            return (recording, slot.engine)
        }
        return await close(found.0, found.1)
    }

    private func close(_ recording: RoomRecording, _ engine: RoomEngine) async -> RecordingInfo {
        let info = await recording.finish(engine)
        if let failure = info.failure { logger.error("recording \(info.id) of \(info.room): \(failure)") }
        return info
    }

    /// For rooms that end: nobody waits.
    func finish(_ recording: RoomRecording, _ engine: RoomEngine) {
        Task { _ = await close(recording, engine) }
    }

    /// The disk is full, or the like: everyone is told, the file is closed as well as can be, and the call goes on.
    private func recordingFailed(_ id: String, _ reason: String) {
        guard let room = try? roomOfRecording(id) else { return }
        let found = try? change(room) { slot throws(ConferenceError) -> (RoomRecording, RoomEngine)? in
            guard let recording = slot.recording, recording.id == id else { return nil }
            recording.fail(reason)
            slot.recording = nil
            slot.room.recording = nil
            tellAll(slot, .error(.recordingFailed(reason)))
            return (recording, slot.engine)
        }
        if let found = found ?? nil { finish(found.0, found.1) }
    }

    /// Running ones first, then those of the directory, newest first.
    public func recordings() -> [RecordingInfo] {
        let running = state.locked { $0.rooms.values.compactMap { $0.recording?.info } }.sorted { $0.startedAt > $1.startedAt }
        let known = Set(running.map(\.id))
        let catalogue = catalogue.locked { $0 }
        let listed = catalogue.map { catalogue in catalogue.list().map { Self.info($0, catalogue.path(of: $0)) } } ?? []
        return running + listed.filter { !known.contains($0.id) }
    }

    public func recording(_ id: String) -> RecordingInfo? { recordings().first { $0.id == id } }

    private static func info(_ entry: RecordingEntry, _ path: String) -> RecordingInfo {
        let state: RecordingInfo.State =
            switch entry.state {
            case .recording: .recording
            case .paused: .paused
            case .finished: .finished
            case .failed: .failed
            }
        return RecordingInfo(
            id: entry.id, room: entry.room, file: path, state: state, startedAt: entry.startedAt,
            duration: entry.duration.map { .seconds($0) }, bytes: entry.bytes, failure: entry.message)
    }
}
