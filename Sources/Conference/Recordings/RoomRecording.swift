import Basics
import Codecs
import Foundation
import Recording
import RoomMedia

/// One recording of one room: the frames of the top rendition and the full mix, with the times of the server's clock.
final class RoomRecording: Sendable {
    let id: String
    /// The participant who started it; nil: an administrator or the configuration.
    let startedBy: String?
    /// The view whose picture it takes.
    let view: ViewID
    let path: String
    private let recorder: MP4Recorder
    private let catalogue: RecordingCatalogue
    private let control: RecordingControl
    private let state: Guarded<State>

    private struct State {
        var info: RecordingInfo
        var key: RenditionKey?
        /// Why the server ended the recording.
        var reason: RecordingError?
        /// The running finish, for which all callers wait.
        var finish: Task<RecordingInfo, Never>?
    }

    init(
        _ entry: RecordingEntry, of view: ViewID, startedBy: String?, recorder: MP4Recorder,
        catalogue: RecordingCatalogue,
        control: RecordingControl
    ) {
        id = entry.id
        self.view = view
        self.startedBy = startedBy
        self.recorder = recorder
        self.catalogue = catalogue
        self.control = control
        path = recorder.file
        state = Guarded(
            State(
                info: RecordingInfo(
                    id: entry.id, room: entry.room, file: entry.file, state: .recording, startedAt: entry.startedAt)))
        control.add(self)
    }

    var info: RecordingInfo {
        var info = state.withLock { $0.info }
        info.dropped = losses
        return info
    }

    var losses: RecordingLosses { recorder.losses }

    /// The recording's name as a member of the rendition.
    private var member: String { "recording-\(id)" }

    /// The scene of `engine` uses the view already.
    func attach(to engine: RoomEngine) {
        let recorder = recorder
        let found = engine.record(
            member, view, video: { recorder.append($0) }, audio: { recorder.append(audio: $0, timestamp: $1) })
        state.withLock { $0.key = found?.key }
    }

    func requestKeyframe(_ engine: RoomEngine) {
        if let key = state.withLock({ $0.key }) { engine.rendition(key)?.requestKeyframe() }
    }

    func pause(at now: Instant) -> RecordingInfo {
        recorder.pause(at: now)
        return set(.recording, to: .paused)
    }

    func resume(at now: Instant, _ engine: RoomEngine) -> RecordingInfo {
        recorder.resume(at: now)
        requestKeyframe(engine)
        return set(.paused, to: .recording)
    }

    private func set(_ from: RecordingInfo.State, to new: RecordingInfo.State) -> RecordingInfo {
        state.withLock { state in
            if state.info.state == from { state.info.state = new }
        }
        return info
    }

    /// Notes why the server ends the recording; `finish` follows.
    func end(because reason: RecordingError) { state.withLock { $0.reason = $0.reason ?? reason } }

    /// Detaches the recording from `engine` and closes the file. Returns when the file is complete.
    func finish(_ engine: RoomEngine?) async -> RecordingInfo {
        let task = state.withLock { state in
            if let running = state.finish { return running }
            if let key = state.key { engine?.endRecording(member, key) }
            state.key = nil
            let task = Task { await self.close() }
            state.finish = task
            return task
        }
        return await task.value
    }

    private func close() async -> RecordingInfo {
        let result: Result<RecordingSummary, RecordingError>
        do throws(RecordingError) {
            var summary = try await recorder.finish()
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
                state.info.failure = summary.failure?.publicDescription
                state.info.state = summary.failure.map(\.isOrderlyEnd) ?? true ? .finished : .failed
            case .failure(let error):
                state.info.failure = (state.reason ?? error).publicDescription
                state.info.state = .failed
            }
        }
        // A full disk that refuses the sidecar does not make the recording a failed one.
        await control.onDisk { [self] in _ = try? catalogue.finish(id, result) }
        control.remove(self)
        return info
    }
}
