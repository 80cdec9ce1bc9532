import Basics
import Codecs
import Foundation
import Recording

/// One recording of one room: the top rendition's bits and the full mix, at the room's clock.
final class RoomRecording: Sendable {
    let id: String
    private let recorder: MP4Recorder
    private let catalogue: RecordingCatalogue
    private let state: Guarded<State>

    private struct State {
        var info: RecordingInfo
        var key: RenditionKey?
        /// One finish for all who ask.
        var finish: Task<RecordingInfo, Never>?
    }

    init(id: String, room: String, recorder: MP4Recorder, catalogue: RecordingCatalogue, startedAt: Date) {
        self.id = id
        self.recorder = recorder
        self.catalogue = catalogue
        state = Guarded(
            State(info: RecordingInfo(id: id, room: room, file: recorder.file, state: .recording, startedAt: startedAt)))
    }

    var info: RecordingInfo { state.locked { $0.info } }

    /// The rendition's name as a member.
    private var member: String { "recording-\(id)" }

    func attach(to engine: RoomEngine) {
        let recorder = recorder
        let found = engine.record(
            member, video: { recorder.append($0) }, audio: { recorder.append(audio: $0, timestamp: $1) })
        state.locked { $0.key = found?.key }
    }

    func requestKeyframe(_ engine: RoomEngine) {
        if let key = state.locked({ $0.key }) { engine.rendition(key)?.requestKeyframe() }
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
        state.locked { state in
            if state.info.state == from { state.info.state = new }
            return state.info
        }
    }

    func fail(_ reason: String) {
        state.locked { state in
            state.info.state = .failed
            state.info.failure = reason
        }
    }

    /// Takes nothing more and closes the file. Returns when that is complete.
    func finish(_ engine: RoomEngine) async -> RecordingInfo {
        let task = state.locked { state in
            if let running = state.finish { return running }
            if let key = state.key { engine.endRecording(member, key) }
            state.key = nil
            let task = Task { await self.close() }
            state.finish = task
            return task
        }
        return await task.value
    }

    private func close() async -> RecordingInfo {
        do throws(RecordingError) {
            let summary = try await recorder.finish()
            state.locked { state in
                state.info.duration = summary.duration
                state.info.bytes = summary.bytes
                state.info.file = summary.file
                state.info.failure = state.info.failure ?? summary.failure?.description
                state.info.state = .finished
            }
            // A sidecar that a full disk does not take is no fault of the recording.
            _ = try? catalogue.finish(id, .success(summary))
        } catch {
            fail("\(error)")
            _ = try? catalogue.finish(id, .failure(error))
        }
        return info
    }
}
